//! Which writes are refused.

use serde_json::json;

use super::*;

fn asked(tool_input: Value) -> Option<String> {
    placeholder_in(json!({"tool_name": "Write", "tool_input": tool_input}).to_string().as_bytes())
}

#[test]
fn a_write_with_a_placeholder_is_refused_wherever_it_stands() {
    let placeholder = Some("[SECRET:github-pat:7f3a2c]".to_owned());
    assert_eq!(asked(json!({"file_path": "/a", "content": "key = [SECRET:github-pat:7f3a2c]\n"})), placeholder);
    let edits =
        json!({"edits": [{"old_string": "a", "new_string": "b"}, {"new_string": "x[SECRET:github-pat:7f3a2c]"}]});
    assert_eq!(asked(edits), placeholder);
}

#[test]
fn a_write_without_one_is_not_infolds_business() {
    assert_eq!(
        asked(json!({"file_path": "/a", "content": "[SECRET:github-pat:xyz] and [SECRET:nothing:7f3a2c]"})),
        None
    );
    assert_eq!(asked(json!({})), None);
}

#[test]
fn a_placeholder_may_be_taken_out_of_a_file() {
    assert_eq!(asked(json!({"old_string": "[SECRET:github-pat:7f3a2c]", "new_string": "none"})), None);
}

#[test]
fn a_question_that_cannot_be_read_is_looked_through_as_it_is() {
    assert!(placeholder_in(b"{\"tool_input\": [SECRET:github-pat:7f3a2c]").is_some());
    assert!(placeholder_in(b"{").is_none());
}
