//! How calls are shown.

use serde_json::json;

use super::*;

#[test]
fn a_title_is_one_line_and_not_longer_than_it_may_be() {
    assert_eq!(title("read", &json!({"path": "src/a.rs"})), "Read src/a.rs");
    assert_eq!(title("search", &json!({"pattern": "fn", "path": "src"})), "Search for `fn` in src");
    assert_eq!(title("shell", &json!({"command": "cargo test\necho done"})).lines().count(), 1);
    assert_eq!(title("branch_create", &json!({"description": "look"})), "Branch: look");
    assert_eq!(title("files__fetch", &json!("no object")), "files__fetch");
    let long = title("shell", &json!({"command": "ü".repeat(500)}));
    assert_eq!(long.chars().count(), TITLE_CHARS_MAX + 1);
}

#[test]
fn a_fence_is_longer_than_any_in_the_text() {
    assert_eq!(fenced("plain"), "```\nplain\n```");
    assert_eq!(fenced("````\nx\n"), "`````\n````\nx\n`````");
    assert_eq!(fenced(""), "```\n\n```");
}

#[test]
fn a_change_is_at_its_first_line_and_a_giant_one_is_not_shown() {
    let texts = |before: Option<&str>, after: String| FileTexts {
        path: "a.rs".to_owned(),
        before: before.map(str::to_owned),
        after,
    };
    let folder = Path::new("/project");
    let places =
        changed_places(&[texts(Some("one\ntwo\n"), "one\n2\n".to_owned()), texts(None, "x".to_owned())], folder);
    assert_eq!(places.iter().map(|place| place.line).collect::<Vec<_>>(), [Some(2), Some(1)]);
    assert_eq!(places[0].path, Path::new("/project/a.rs"));
    let giant = diffs(&[texts(None, "x".repeat(DIFF_BYTES_MAX + 1))], folder);
    assert!(matches!(giant[..], [ToolCallContent::Content(_)]), "{giant:?}");
}
