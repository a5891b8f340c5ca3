//! Equal values have one spelling.

use serde_json::json;

use super::*;

#[test]
fn order_of_keys_and_fractions_of_whole_numbers_do_not_matter() {
    let one: Value = serde_json::from_str(r#"{"b": [1, 2.0, -3.5], "a": {"d": null, "c": "x\n"}}"#).unwrap();
    let other: Value = serde_json::from_str(r#"{"a": {"c": "x\n", "d": null}, "b": [1.0, 2, -3.5]}"#).unwrap();
    assert_eq!(write_canonical(&one), r#"{"a":{"c":"x\n","d":null},"b":[1,2,-3.5]}"#);
    assert_eq!(write_canonical(&one), write_canonical(&other));
}

#[test]
fn depth_counts_the_value_itself() {
    assert_eq!(depth_of(&json!(1)), 1);
    assert_eq!(depth_of(&json!({"a": [1, {"b": 2}]})), 4);
}
