//! What a request is for follows from its method and path.

use super::*;

fn purpose_of(provider: Provider, path: &str) -> Handling {
    handling(provider, &Method::POST, path)
}

#[test]
fn the_path_says_what_a_request_is_for() {
    assert_eq!(purpose_of(Provider::Anthropic, "/v1/messages"), Handling::Turn(Api::Messages));
    assert_eq!(purpose_of(Provider::Anthropic, "/v1/messages/count_tokens"), Handling::Count(Api::Messages));
    assert_eq!(purpose_of(Provider::OpenAi, "/v1/responses"), Handling::Turn(Api::Responses));
    assert_eq!(purpose_of(Provider::OpenAi, "/responses"), Handling::Turn(Api::Responses));
    assert_eq!(purpose_of(Provider::OpenAi, "/v1/chat/completions"), Handling::Turn(Api::Chat));
    for other in ["/v1/models", "/v1/responses/compact", "/v1/messages/batches", "/v1/messages/", ""] {
        assert_eq!(purpose_of(Provider::OpenAi, other), Handling::Pass, "{other}");
        assert_eq!(purpose_of(Provider::Anthropic, other), Handling::Pass, "{other}");
    }
    assert_eq!(handling(Provider::Anthropic, &Method::GET, "/v1/messages"), Handling::Pass);
}
