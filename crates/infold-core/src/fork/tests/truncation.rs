//! Cutting one text to a limit.

use super::*;
use crate::fork::truncate::{Excerpt, count, truncated_chars};

#[test]
fn a_text_within_its_limit_is_left_alone() {
    assert_eq!(truncate("漢字🦀", 3, Method::HeadTail), None);
    assert_eq!(truncate("", 0, Method::HeadOnly), None);
}

#[test]
fn the_two_forms_are_those_of_the_requirement() {
    insta::assert_snapshot!(truncate("0123456789abcdefghij", 10, Method::HeadTail).unwrap(), @"
    01234567
    ...[truncated 10 chars]...
    ij
    ");
    insta::assert_snapshot!(truncate("0123456789abcdefghij", 10, Method::HeadOnly).unwrap(), @"
    0123456789
    ...[truncated 10 chars]...
    ");
}

#[test]
fn no_character_is_cut_in_two() {
    let text = "añ漢🦀".repeat(5);
    for limit in 0..21 {
        for method in [Method::HeadOnly, Method::HeadTail] {
            let Some(cut) = truncate(&text, limit, method) else { continue };
            let (head, rest) = cut.split_once("\n...[truncated ").unwrap();
            let tail = rest.split_once(" chars]...").unwrap().1.trim_start_matches('\n');
            assert!(text.starts_with(head) && text.ends_with(tail), "{limit} {cut}");
            assert_eq!(count(&cut), truncated_chars(20, limit, method));
        }
    }
}

#[test]
fn both_ends_of_a_text_are_cut_like_the_whole() {
    let text: String = ('a'..='z').cycle().take(10_000).collect();
    for method in [Method::HeadOnly, Method::HeadTail] {
        let mut held = Excerpt::new(text.clone(), 5_000, 4_000);
        assert!(held.held_bytes() < 5_000);
        for limit in [4_000, 3_000, 500] {
            assert_eq!(Some(held.cut(limit, method)), truncate(&text, limit, method));
            held.shrink(limit, method);
            assert!(held.held_bytes() <= limit);
            assert_eq!(Some(held.cut(limit, method)), truncate(&text, limit, method));
        }
    }
}
