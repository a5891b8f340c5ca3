//! Tests of finding values in JSON, compared with a reader that is known to be right.

use proptest::prelude::*;
use serde_json::Value;

use super::{At, Document, JsonShape, decode, quote};
use crate::request::RequestError;

/// The value that is read at a node of a document.
fn value(document: &Document<'_>, at: At) -> Value {
    match document.shape(at) {
        JsonShape::Plain => serde_json::from_str(document.raw(at)).unwrap(),
        JsonShape::Text | JsonShape::EscapedText => Value::String(document.text(at).unwrap().into_owned()),
        JsonShape::List => document.elements(at).map(|element| value(document, element)).collect(),
        JsonShape::Object => document
            .members(at)
            .map(|(key, member)| (document.text(key).unwrap().into_owned(), value(document, member)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
    }
}

fn fault(body: &str) -> RequestError {
    Document::read(body.as_bytes()).map(|_| ()).unwrap_err()
}

#[test]
fn every_form_of_value_is_found() {
    let body = "\r\n{ \"a\" : [1, -0.5e+10 ,2E3,0, true,false , null],\t\"\":{},\"é\\n\\u00e9\":\"\\\"x\\\\\",\"b\":[[],[{}]]} ";
    let document = Document::read(body.as_bytes()).unwrap();
    assert_eq!(value(&document, 0), serde_json::from_str::<Value>(body).unwrap());
    assert_eq!(document.text_field(0, "b"), None);
    assert_eq!(document.raw(document.field(0, "a").unwrap()), "[1, -0.5e+10 ,2E3,0, true,false , null]");
    assert_eq!(document.text_field(0, "é\né").as_deref(), Some("\"x\\"));
}

#[test]
fn what_is_not_json_is_refused() {
    for body in [
        "",
        " ",
        "{",
        "[",
        "[1",
        "[1,",
        "[1,]",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":1",
        "{\"a\":1,",
        "{\"a\":1,}",
        "{a:1}",
        "[1}",
        "{\"a\":1]",
        "nul",
        "tru",
        "01",
        "-",
        "1.",
        ".5",
        "1e",
        "1e+",
        "+1",
        "\"",
        "\"\\",
        "\"\\u12\"",
        "\"\\u12g4\"",
        "\"\\x\"",
        "\"\n\"",
        "\"\u{0}\"",
        "1 2",
        "{} {}",
        "[1 2]",
        "{\"a\" 1}",
        "{1:2}",
        "'a'",
        "nan",
        "-Inf",
        "\u{feff}",
    ] {
        assert!(serde_json::from_str::<Value>(body).is_err(), "{body:?}");
        assert!(matches!(fault(body), RequestError::NotJson { .. }), "{body:?}");
    }
    assert_eq!(fault("[1,]"), RequestError::NotJson { at: 3, what: "a value is missing" });
}

#[test]
fn deep_nesting_is_refused_without_overflowing() {
    assert!(Document::read(format!("{}{}", "[".repeat(10_000), "]".repeat(10_000)).as_bytes()).is_ok());
    assert_eq!(fault(&"[".repeat(1_000_000)), RequestError::TooDeep { depth_max: 10_000 });
    assert_eq!(fault(&"{\"a\":".repeat(1_000_000)), RequestError::TooDeep { depth_max: 10_000 });
}

#[test]
fn what_providers_take_beside_the_letter_is_read() {
    let body = "\u{feff} {\"a\":[NaN, Infinity,-Infinity,-1]}";
    let document = Document::read(body.as_bytes()).unwrap();
    assert_eq!(document.body(), body);
    let list = document.field(0, "a").unwrap();
    let found: Vec<&str> = document.elements(list).map(|at| document.raw(at)).collect();
    assert_eq!(found, ["NaN", "Infinity", "-Infinity", "-1"]);
}

#[test]
fn halves_of_characters_are_read_as_what_cannot_be_shown() {
    assert_eq!(decode(r"\ud83d\ude00 \ud83d x \ude00 \ud83d\u0041"), "😀 \u{fffd} x \u{fffd} \u{fffd}A");
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_filter("JSON has only numbers", |number| number.is_finite()).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "[ -~]{0,40}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 60, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..6)
                .prop_map(|members| members.into_iter().collect::<serde_json::Map<_, _>>().into()),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_json_is_found_whole(wanted in any_value()) {
        for body in [serde_json::to_string(&wanted).unwrap(), serde_json::to_string_pretty(&wanted).unwrap()] {
            let document = Document::read(body.as_bytes()).unwrap();
            prop_assert_eq!(value(&document, 0), serde_json::from_str::<Value>(&body).unwrap());
            prop_assert_eq!(document.raw(0), body.trim());
        }
    }

    #[test]
    fn any_text_is_accepted_just_where_another_reader_accepts_it(body in r#"[\[\]{}:,"\\ a1eE.+\-ntu0-9\x00-\x1f]{0,24}"#) {
        let expected = serde_json::from_str::<&serde_json::value::RawValue>(&body).is_ok();
        prop_assert_eq!(Document::read(body.as_bytes()).is_ok(), expected, "{:?}", body);
    }

    #[test]
    fn text_is_written_as_it_is_read(text in any::<String>()) {
        let mut json = Vec::new();
        quote(&text, &mut json);
        prop_assert_eq!(&serde_json::from_slice::<String>(&json).unwrap(), &text);
        let json = String::from_utf8(json).unwrap();
        prop_assert_eq!(decode(&json[1..json.len() - 1]), text);
    }
}
