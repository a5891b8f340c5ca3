//! Placeholders in what a model writes are found, and nothing else is taken for one.

use super::*;

#[test]
fn placeholders_are_found_and_nothing_else() {
    assert_eq!(find(r#"{"content":"TOKEN=[SECRET:github-pat:7f3a2c]\n"}"#), Some("[SECRET:github-pat:7f3a2c]"));
    for text in [
        "",
        "[SECRET:",
        "[SECRET:x]",
        "[SECRET:x:12345]",
        "[SECRET:x:1234567]",
        "[SECRET:x:GGGGGG]",
        "[SECRET:a b:7f3a2c]",
    ] {
        assert_eq!(find(text), None, "{text}");
    }
}

#[test]
fn writers_are_known_by_their_names() {
    for tool in
        ["Write", "Edit", "MultiEdit", "NotebookEdit", "apply_patch", "fs__write_file", "str_replace_based_edit_tool"]
    {
        assert!(is_writer(tool), "{tool}");
    }
    for tool in ["Read", "Bash", "Grep", "branch_create"] {
        assert!(!is_writer(tool), "{tool}");
    }
}
