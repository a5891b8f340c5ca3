//! Which sentence each kind of parser error becomes.

use super::refuse;

fn check(path: &str, said: &str) -> String {
    let path = (!path.is_empty()).then_some(path);
    let error = refuse(path, said);
    format!("{} [{}]", error.message, error.data["field"])
}

#[test]
fn what_is_wrong_is_said_with_the_name_of_the_field() {
    let missing = check("", "missing field `message` at line 1 column 2");
    assert_eq!(missing, r#"message is required ["message"]"#);
    let unknown = check("colour", "unknown field `colour`, expected one of `text`, `size`, `form` at line 1 column 2");
    assert_eq!(unknown, r#"colour is not known here: use only text, size, form ["colour"]"#);
    let unknown = check("", "unknown field `colour`, expected `text` or `size`");
    assert_eq!(unknown, r#"colour is not known here: use only text, size ["colour"]"#);
    let unknown = check("", "unknown field `colour`, there are no fields");
    assert_eq!(unknown, r#"colour is not known here: leave it out ["colour"]"#);
    let twice = check("text", "duplicate field `text` at line 1 column 20");
    assert_eq!(twice, r#"text is given more than once: give it once ["text"]"#);
}

#[test]
fn a_value_that_does_not_fit_is_not_repeated() {
    let wrong = check("budget", "invalid type: string \"hush, expected x\", expected u64 at line 1 column 9");
    assert_eq!(wrong, r#"budget must be a whole number, 0 or more ["budget"]"#);
    let wrong = check("failed", "invalid type: integer `1`, expected a boolean at line 1 column 9");
    assert_eq!(wrong, r#"failed must be true or false ["failed"]"#);
    let wrong = check("limit", "invalid digit found in string");
    assert_eq!(wrong, r#"limit must be a whole number, 0 or more ["limit"]"#);
    let wrong = check("limit", "number too large to fit in target type");
    assert_eq!(wrong, r#"limit is too large ["limit"]"#);
}

#[test]
fn other_words_are_passed_on_short_and_plain() {
    let other = check("text", &format!("no \u{7}{}", "x".repeat(1_000)));
    assert_eq!(other, format!("text cannot be used: no {} [\"text\"]", "x".repeat(196)));
}
