//! Bad values for an argument, made from its schema.

use serde_json::{Value, json};

/// Far more than any text may have.
const HUGE_CHARS: usize = 1_000_000;
/// One more character than any id of ours may have.
const TOO_LONG_FOR_AN_ID: usize = 129;

/// A bad value, and what is bad about it.
pub struct Bad {
    pub what: String,
    pub value: Value,
}

fn bad(what: impl Into<String>, value: impl Into<Value>) -> Bad {
    Bad { what: what.into(), value: value.into() }
}

fn types(schema: &Value) -> Vec<&str> {
    match &schema["type"] {
        Value::String(one) => vec![one.as_str()],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// Values of every type but those that a schema takes. Null means that an argument was left out, so it is bad only
/// where the argument is required.
pub fn wrong_types(schema: &Value) -> Vec<Bad> {
    let taken = types(schema);
    if taken.is_empty() {
        return Vec::new();
    }
    let all = [
        ("string", json!("a string")),
        ("number", json!(1.5)),
        ("integer", json!(7)),
        ("boolean", json!(true)),
        ("array", json!(["a", "b"])),
        ("object", json!({"a": "b"})),
    ];
    let fits = |kind: &str| taken.contains(&kind) || (kind == "integer" && taken.contains(&"number"));
    let mut wrong: Vec<Bad> = all
        .into_iter()
        .filter(|(kind, _)| !fits(kind))
        .map(|(kind, value)| bad(format!("of type {kind}"), value))
        .collect();
    if taken.contains(&"integer") {
        wrong.push(bad("a number in a string", "7"));
        wrong.push(bad("negative", -1));
        let least = schema["minimum"].as_i64().unwrap_or(0);
        wrong.push(bad("below its minimum", least - 1));
    }
    wrong
}

/// Texts that a schema does not take: of nothing but characters that are stripped, empty, and too long.
pub fn wrong_texts(schema: &Value) -> Vec<Bad> {
    let mut wrong = too_long_texts(schema);
    if !wrong.is_empty() {
        wrong.push(bad("of nothing but blanks", "  \n\t "));
        wrong.push(bad("of nothing but control characters", "\u{0}\u{1b}\u{202e}"));
    }
    wrong
}

/// Texts that are too long for a schema, and the empty one, which is too short.
pub fn too_long_texts(schema: &Value) -> Vec<Bad> {
    if !types(schema).contains(&"string") {
        return Vec::new();
    }
    let chars_max = schema["maxLength"].as_u64().and_then(|chars| usize::try_from(chars).ok());
    let too_long = chars_max.map_or(TOO_LONG_FOR_AN_ID, |chars_max| chars_max + 1);
    vec![
        bad("empty", ""),
        bad("one too long", "x".repeat(too_long)),
        bad("one too long, of wide characters", "ü".repeat(too_long)),
        bad("of a million characters", "x".repeat(HUGE_CHARS)),
    ]
}
