//! What is read from schemas, good and bad ones.

use serde_json::json;

use super::*;

fn check(schema: &Value) -> (String, String) {
    let ParameterTexts { names, texts } = ParameterTexts::of(schema);
    (names.trim().to_owned(), texts.trim().to_owned())
}

#[test]
fn names_descriptions_and_values_are_read_wherever_they_are() {
    let schema = json!({
        "type": "object",
        "description": "belongs to the tool, whose own text says it",
        "properties": {
            "repo": {"type": "string", "description": "Name of it"},
            "state": {"enum": ["open", "closed", 3, null]},
            "labels": {"type": "array", "items": {"type": "object", "properties": {"colour": {"description": "hex"}}}},
            "when": {"anyOf": [{"description": "a date"}, {"type": "null"}]},
            "who": {"$ref": "#/$defs/person"}
        },
        "$defs": {"person": {"properties": {"mail": {"type": "string"}}}}
    });
    let (names, texts) = check(&schema);
    assert_eq!(names, "repo state labels colour when who mail");
    assert_eq!(texts, "Name of it open closed hex a date");
}

#[test]
fn what_is_no_schema_says_nothing() {
    let nothing = (String::new(), String::new());
    for schema in [json!(null), json!([1, 2]), json!("text"), json!({"properties": []}), json!({"anyOf": {"a": 1}})] {
        assert_eq!(check(&schema), nothing, "{schema}");
    }
    assert_eq!(check(&json!({"properties": {"a": true, "b": {"description": 7, "enum": "x"}}})).0, "a b");
}

#[test]
fn long_lists_long_texts_and_deep_schemas_are_cut() {
    let values: Vec<String> = (0..1_000).map(|at| format!("v{at}")).collect();
    let (_, texts) = check(&json!({"properties": {"a": {"enum": values}}}));
    assert_eq!(texts.split(' ').count(), VALUES_MAX);

    let long = "日本語".repeat(10_000);
    let texts = ParameterTexts::of(&json!({"properties": {"a": {"description": long}, "b": {"description": "more"}}}));
    assert!(texts.texts.len() <= TEXT_BYTES_MAX && texts.texts.len() > TEXT_BYTES_MAX - 10);

    let deep = (0..50).fold(json!({}), |inner, at| json!({"properties": {format!("p{at}"): inner}}));
    assert_eq!(check(&deep).0.split(' ').count(), DEPTH_MAX + 1);
}
