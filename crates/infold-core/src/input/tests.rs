//! What is stripped, counted, refused and normalised, case by case.

use super::*;

#[test]
fn control_and_reordering_characters_are_stripped_and_the_rest_is_kept() {
    assert_eq!(strip_controls("a\u{0}b\u{1b}[31m\u{7f}\u{9b}\r\n\tc\u{202e}d é 漢"), "ab[31m\n\tcd é 漢");
}

#[test]
fn length_is_counted_in_characters_not_bytes() {
    assert!(Field::BRANCH_DESCRIPTION.clean(&"漢".repeat(500)).is_ok());
    let refusal = Field::BRANCH_DESCRIPTION.clean(&"漢".repeat(501)).unwrap_err();
    assert_eq!(refusal.to_string(), "description has 501 characters, at most 500 are allowed: shorten it");
}

#[test]
fn what_is_empty_after_stripping_is_refused() {
    for text in ["", "  \n", "\u{0}\u{7}"] {
        assert_eq!(Field::PROMPT.clean(text).unwrap_err().to_string(), "prompt must not be empty");
    }
}

#[test]
fn project_paths_are_normalised_as_text() {
    for (given, normal) in [("/a/b/", "/a/b"), ("/a//./b/../c", "/a/c"), ("/../..", "/"), ("C:\\src\\x", "/C:/src/x")] {
        assert_eq!(normalise_project_path(given).unwrap(), normal);
    }
    for bad in ["a/b", "", "./x", "~/x", "/a\n/b"] {
        assert!(normalise_project_path(bad).is_err(), "{bad}");
    }
}
