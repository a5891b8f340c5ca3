//! What is left of patterns, and which one covers which.

use super::{behind, covers};

#[test]
fn a_pattern_is_cut_down_to_one_server() {
    let cases: [(&str, &[&str]); 10] = [
        ("gh_get", &["get"]),
        ("gh_*", &["*"]),
        ("*", &["*"]),
        ("g*", &["*"]),
        ("*_delete", &["*_delete", "delete"]),
        ("*h*_drop", &["*_drop", "drop"]),
        ("?h_a?", &["a?"]),
        ("other_*", &[]),
        ("gh_", &[]),
        ("gh", &[]),
    ];
    for (pattern, expected) in cases {
        assert_eq!(behind(pattern, "gh_"), expected, "{pattern}");
    }
}

#[test]
fn a_pattern_covers_what_is_within_it() {
    for (wide, narrow) in [("*", "a"), ("*", "*"), ("a*", "ab*"), ("*b", "a*b"), ("a", "a")] {
        assert!(covers(wide, narrow), "{wide} {narrow}");
    }
    for (wide, narrow) in [("a", "*"), ("ab*", "a*"), ("a*", "*"), ("a", "b"), ("", "a")] {
        assert!(!covers(wide, narrow), "{wide} {narrow}");
    }
}
