//! Mistakes in arguments, and the sentences they are answered with.

use std::sync::Arc;

use infold_core::Refusal;
use rmcp::model::Tool;
use serde_json::{Value, json};

use super::Arguments;

fn tool() -> Tool {
    let schema = json!({ "type": "object", "properties": { "name": {}, "count": {}, "failed": {} } });
    Tool::new("example", "An example", Arc::new(schema.as_object().unwrap().clone()))
}

fn read<T: std::fmt::Debug>(arguments: Value, read: impl Fn(&mut Arguments) -> Result<T, Refusal>) -> String {
    let given = arguments.as_object().cloned();
    match Arguments::new(&tool(), given).and_then(|mut arguments| read(&mut arguments)) {
        Ok(value) => format!("{value:?}"),
        Err(refusal) => refusal.to_string(),
    }
}

#[test]
fn a_text_that_is_missing_null_or_of_another_type_is_refused_by_name() {
    let text = |arguments| read(arguments, |arguments| arguments.text("name"));
    assert_eq!(text(json!({ "name": "a" })), r#""a""#);
    assert_eq!(text(json!({})), "name is required: pass a string");
    assert_eq!(text(json!({ "name": null })), "name is required: pass a string");
    assert_eq!(text(json!({ "name": 7 })), "name must be a string, got a number");
    assert_eq!(text(json!({ "name": ["a"] })), "name must be a string, got an array");
    assert_eq!(text(json!({ "name": {} })), "name must be a string, got an object");
}

#[test]
fn numbers_are_whole_and_large_enough() {
    let number = |arguments| read(arguments, |arguments| arguments.optional_number("count", 1));
    assert_eq!(number(json!({})), "None");
    assert_eq!(number(json!({ "count": 8192 })), "Some(8192)");
    assert_eq!(number(json!({ "count": 8192.0 })), "Some(8192)");
    assert_eq!(number(json!({ "count": 1e30 })), format!("Some({})", u64::MAX));
    assert_eq!(number(json!({ "count": 1.5 })), "count must be a whole number, got 1.5");
    assert_eq!(number(json!({ "count": 0 })), "count must be at least 1, got 0");
    assert_eq!(number(json!({ "count": -3 })), "count must be at least 1, got -3");
    assert_eq!(number(json!({ "count": "8192" })), "count must be a whole number, got a string");
}

#[test]
fn a_flag_is_true_or_false() {
    let flag = |arguments| read(arguments, |arguments| arguments.optional_flag("failed"));
    assert_eq!(flag(json!({ "failed": true })), "Some(true)");
    assert_eq!(flag(json!({ "failed": "yes" })), "failed must be true or false, got a string");
}

#[test]
fn an_unknown_argument_is_named_with_what_the_tool_takes() {
    let answer = read(json!({ "name": "a", "naem": "b" }), |arguments| arguments.text("name"));
    assert_eq!(answer, r#"arguments include "naem", which example does not take: use only name, count, failed"#);
}
