//! Which calls are refused, with a key and without one.

use serde_json::json;

use super::*;

fn scrubber() -> Scrubber {
    Scrubber::derive(&[9; 32])
}

/// A placeholder that was made with the key of [`scrubber`].
fn own() -> String {
    // Put together here, so that no scanner takes this file for a leak.
    let secret = format!("ghp_{}", "q7Rk2Vd9Xw4Zb8Nc3Mt6Ys1Lf5Hg0JpAeUiO".chars().take(36).collect::<String>());
    scrubber().scrub(&secret).unwrap().into_string()
}

fn asked(tool_name: &str, tool_input: Value) -> Option<String> {
    let question = json!({"tool_name": tool_name, "tool_input": tool_input}).to_string();
    refused(&question, Some(&scrubber())).map(|refused| refused.placeholder)
}

#[test]
fn a_placeholder_is_refused_in_editors_patches_and_shells() {
    let mask = own();
    assert_eq!(asked("Write", json!({"file_path": "/a", "content": format!("key = {mask}\n")})), Some(mask.clone()));
    assert_eq!(asked("Bash", json!({"command": format!("cat > a <<EOF\n{mask}\nEOF")})), Some(mask.clone()));
    let patch = format!("*** Begin Patch\n*** Update File: a\n-old\n+key = {mask}\n*** End Patch");
    assert_eq!(asked("apply_patch", json!({"command": patch})), Some(mask.clone()));
    assert_eq!(asked("mcp__files__write_file", json!({"path": "/a", "content": mask})), Some(own()));
}

#[test]
fn looking_for_one_and_taking_one_out_is_let_through() {
    let mask = own();
    assert_eq!(asked("Bash", json!({"command": format!("grep -rn '{mask}' .")})), None);
    assert_eq!(asked("Edit", json!({"old_string": mask, "new_string": "none"})), None);
    assert_eq!(asked("mcp__infold__branch_return", json!({"message": mask})), None);
}

#[test]
fn what_only_looks_like_a_placeholder_is_no_secret() {
    let mask = own();
    let changed = if mask.ends_with("0]") { "1]" } else { "0]" };
    let other = format!("{}{changed}", &mask[..mask.len() - 2]);
    assert_eq!(asked("Write", json!({"content": other.clone()})), None);
    let question = json!({"tool_name": "Write", "tool_input": {"content": other}}).to_string();
    assert!(refused(&question, None).is_some(), "without a key there is no telling");
}

#[test]
fn a_question_that_cannot_be_read_is_looked_through_as_it_is() {
    assert!(refused(&format!("{{\"tool_input\": {}", own()), Some(&scrubber())).is_some());
    assert!(refused("{", Some(&scrubber())).is_none());
}
