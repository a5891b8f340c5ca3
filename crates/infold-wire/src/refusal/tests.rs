//! Tests that refusals are recognised by the providers' own words.

use super::*;

#[test]
fn the_providers_words_are_known() {
    let refusal = |body: &str| ProviderRefusal::in_body(body.as_bytes());
    assert_eq!(
        refusal(
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 205000 tokens > 200000 maximum"}}"#
        ),
        Some(ProviderRefusal::TooLong { window_tokens: Some(200_000) })
    );
    assert_eq!(
        refusal(
            r#"{"error":{"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#
        ),
        Some(ProviderRefusal::TooLong { window_tokens: Some(128_000) })
    );
    assert_eq!(
        refusal(
            r#"{"error":{"message":"Your input exceeds the context window of this model.","code":"context_length_exceeded"}}"#
        ),
        Some(ProviderRefusal::TooLong { window_tokens: None })
    );
    assert_eq!(
        refusal(
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages.3.content.0: `thinking` block signature is bound to a different conversation. x"}}"#
        ),
        Some(ProviderRefusal::Reasoning)
    );
    assert_eq!(
        refusal(r#"{"error":{"message":"The encrypted content for item rs_1 could not be verified.","code":null}}"#),
        Some(ProviderRefusal::Reasoning)
    );
}

#[test]
fn other_refusals_are_the_clients_to_read() {
    for body in [
        "",
        "not json",
        "{}",
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: 9 > 8, which is the maximum"}}"#,
        r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}"#,
        r#"{"error":"a text"}"#,
    ] {
        assert_eq!(ProviderRefusal::in_body(body.as_bytes()), None, "{body}");
    }
}
