//! What makes two values the same.

use serde_json::json;

use super::{lines, write};
use crate::same::compare::ProgramSide;

fn text(value: serde_json::Value, side: ProgramSide, renamed: &[(&str, &str)]) -> String {
    let mut text = String::new();
    write(&value, side, renamed, "", &mut text);
    text
}

#[test]
fn the_order_of_fields_does_not_count_and_the_order_of_a_list_does() {
    let lines = |text: &str| lines(text.as_bytes(), ProgramSide::After).unwrap();
    assert_eq!(lines(r#"{"a": [1, 2], "b": {}}"#), lines(r#"{"b": {}, "a": [1, 2]}"#));
    assert_ne!(lines(r#"{"a": [1, 2]}"#), lines(r#"{"a": [2, 1]}"#));
    assert_ne!(lines(r#"{"a": 1}"#), lines(r#"{"a": 1.5}"#));
}

#[test]
fn a_field_that_is_called_otherwise_now_is_the_same_field() {
    let renamed = [("old", "new")];
    let before = text(json!({"old": {"x": [true]}, "z": 1}), ProgramSide::Before, &renamed);
    assert_eq!(before, text(json!({"new": {"x": [true]}, "z": 1}), ProgramSide::After, &renamed));
    assert_ne!(before, text(json!({"old": {"x": [true]}, "z": 1}), ProgramSide::After, &renamed));
}
