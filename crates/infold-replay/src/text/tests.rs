//! Tests of readable arguments, and of the old text of edits.

use super::{of_cut_arguments, old_of_edit};
use infold_core::plain_arguments;

#[test]
fn arguments_are_read_unescaped() {
    assert_eq!(plain_arguments(r#"{"a": "x\ny", "b": [1, {"c": "z"}], "d": true, "e": null}"#), "x\ny\n1\nz\n");
    assert_eq!(plain_arguments(r#""just \"text\"""#), "just \"text\"\n");
    assert_eq!(plain_arguments("*** Begin Patch"), "*** Begin Patch");
    assert_eq!(plain_arguments("123"), "123");
    assert_eq!(of_cut_arguments(r#"{"a": "x\ny\t\"z"#), "{\"a\": \"x\ny\t\"z");
}

#[test]
fn an_edit_says_what_it_looks_for() {
    assert_eq!(old_of_edit(r#"{"old_string": "a\nb", "new_string": "c"}"#).as_deref(), Some("a\nb"));
    let several = r#"{"edits": [{"old_string": "a"}, {"old_string": "b"}, 3]}"#;
    assert_eq!(old_of_edit(several).as_deref(), Some("a\nb"));
    assert_eq!(old_of_edit(r#"{"file_path": "a.rs", "content": "x"}"#), None);
    assert_eq!(old_of_edit("not json"), None);
}

#[test]
fn a_patch_says_which_lines_it_expects() {
    let patch = "*** Begin Patch\n*** Add File: a\n+new\n*** Update File: b\n@@\n context\n-gone\n+come\n*** End Patch";
    assert_eq!(old_of_edit(patch).as_deref(), Some("context\ngone\n"));
    let wrapped = serde_json::json!({ "command": ["apply_patch", patch] }).to_string();
    assert_eq!(old_of_edit(&wrapped).as_deref(), Some("context\ngone\n"));
    let input = serde_json::json!({ "input": patch }).to_string();
    assert_eq!(old_of_edit(&input).as_deref(), Some("context\ngone\n"));
}
