//! A seal is valid at the point where it was made, and nowhere else.

use serde_json::json;

use super::{Prefix, Verdict};

fn after(parts: &[serde_json::Value]) -> Prefix {
    let mut prefix = Prefix::default();
    parts.iter().for_each(|part| prefix.take("user", part));
    prefix
}

#[test]
fn a_seal_holds_where_it_was_set_and_nowhere_else() {
    let here = after(&[json!({"type": "text", "text": "a"})]);
    let there = after(&[json!({"type": "text", "text": "b"})]);
    let seal = here.seal("words");
    assert_eq!(here.verdict(&seal, "words"), Verdict::Holds);
    assert_eq!(there.verdict(&seal, "words"), Verdict::OtherPrefix);
    assert_eq!(here.verdict(&seal, "other words"), Verdict::Changed);
    assert_eq!(here.verdict("sig-of-someone-else", "words"), Verdict::Forged);
}

#[test]
fn cache_marks_key_order_and_the_form_of_text_do_not_count() {
    let one = after(&[json!({"type": "tool_result", "content": "done", "cache_control": {"type": "ephemeral"}})]);
    let other = after(&[json!({"content": [{"type": "text", "text": "done"}], "type": "tool_result"})]);
    assert_eq!(other.verdict(&one.seal("words"), "words"), Verdict::Holds);
}
