//! Tests of counts that cannot be true.

use super::{COUNT_MAX, Count};
use crate::form::Format;
use crate::testing::transcript;

fn count(json: &str) -> u64 {
    serde_json::from_str::<Count>(json).unwrap().or_zero()
}

#[test]
fn a_count_is_never_more_than_can_be_summed() {
    assert_eq!(count("7"), 7);
    assert_eq!(count("-7"), 0);
    assert_eq!(count("null"), 0);
    assert_eq!(count(&i64::MAX.to_string()), COUNT_MAX);
    assert_eq!(count(&u64::MAX.to_string()), COUNT_MAX);
}

#[test]
fn the_largest_usage_of_every_client_is_read_without_overflow() {
    let most = i64::MAX;
    let opencode = format!(
        r#"[{{"info":{{"id":"a","role":"assistant","tokens":{{"input":{most},"output":{most},"reasoning":{most},"cache":{{"read":{most},"write":{most}}}}}}},"parts":[{{"type":"text","text":"hi"}}]}}]"#
    );
    assert_eq!(transcript(&opencode, Format::OpenCode).calls[0].usage.output_tokens, 2 * COUNT_MAX);
    let tokens = format!(
        r#"{{"input_tokens":{most},"cached_input_tokens":{most},"cache_write_input_tokens":{most},"output_tokens":{most}}}"#
    );
    let codex = [
        r#"{"type":"response_item","payload":{"type":"message","role":"assistant","content":"hi"}}"#.to_owned(),
        format!(
            r#"{{"type":"event_msg","payload":{{"type":"token_count","info":{{"total_token_usage":{tokens},"last_token_usage":{tokens}}}}}}}"#
        ),
    ]
    .join("\n");
    assert_eq!(transcript(&codex, Format::Codex).calls[0].usage.fresh_tokens, 0);
    let normalized = format!(
        r#"{{"session":"s","agent":"codex","events":[{{"k":"asst","t":"hi"}}],"calls":[{{"ev":0,"prompt":{most},"cr":{most},"cw":{most},"out":{most}}}]}}"#
    );
    assert_eq!(transcript(&normalized, Format::Normalized).calls[0].usage.cache_read_tokens, COUNT_MAX);
}
