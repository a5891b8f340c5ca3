//! Examples as text, at several widths.

use insta::assert_snapshot;

use super::*;

const TERMS: [(&str, &str); 3] = [
    ("infold top", ""),
    ("infold top --once", "one frame as text, for scripts"),
    ("infold top --json | jq '.request_totals'", ""),
];

#[test]
fn examples_have_two_columns_where_they_fit() {
    assert_snapshot!(laid_out(&TERMS, 60), @"
    infold top
    infold top --once  one frame as text, for scripts
    infold top --json | jq '.request_totals'
    ");
}

#[test]
fn where_they_do_not_fit_a_meaning_is_below_its_command_and_a_long_command_is_indented() {
    assert_snapshot!(laid_out(&TERMS, 40), @"
    infold top
    infold top --once
        one frame as text, for scripts
    infold top --json | jq
        '.request_totals'
    ");
    assert_snapshot!(laid_out(&TERMS, 24), @"
    infold top
    infold top --once
        one frame as text,
        for scripts
    infold top --json
        | jq
        '.request_totals'
    ");
}
