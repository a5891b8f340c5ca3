//! What a request is for follows from its method and path, however they are spelled.

use super::*;
use crate::{Tunnels, Upstream};

fn settings(planning: Planning, unsearched: &[&str]) -> ProxySettings {
    let upstream = Upstream::parse("http://127.0.0.1:1").expect("an address");
    ProxySettings {
        anthropic: upstream.clone(),
        openai: upstream,
        planning,
        body_bytes_max: 1,
        unsearched_paths: unsearched.iter().map(|path| (*path).to_owned()).collect(),
        tunnels: Tunnels::none(),
        connect_timeout_ms: 1,
        silence_timeout_ms: 1,
        hold_ms: 1,
        retries_max: 1,
        retry_statuses: Vec::new(),
        retry_after_max_ms: 1,
    }
}

fn posted(provider: Provider, path: &str) -> Handling {
    Handling::of(provider, &Method::POST, path, &settings(Planning::On, &[]))
}

#[test]
fn the_path_says_what_a_request_is_for() {
    assert_eq!(posted(Provider::Anthropic, "/v1/messages"), Handling::Turn(Api::Messages));
    assert_eq!(posted(Provider::Anthropic, "/v1/messages/count_tokens"), Handling::Count(Api::Messages));
    assert_eq!(posted(Provider::Anthropic, "/v1/messages/batches"), results(ConversationPlace::Batch));
    assert_eq!(posted(Provider::OpenAi, "/v1/responses"), Handling::Turn(Api::Responses));
    assert_eq!(posted(Provider::OpenAi, "/responses"), Handling::Turn(Api::Responses));
    assert_eq!(posted(Provider::OpenAi, "/v1/chat/completions"), Handling::Turn(Api::Chat));
    assert_eq!(posted(Provider::OpenAi, "/v1/conversations/conv_1/items"), results(ConversationPlace::Items));
}

#[test]
fn another_spelling_is_the_same_route() {
    for path in ["/v1/messages/", "/v1//messages", "/v1/%6dessages", "/%76%31/m%65ssages//", "//v1/messages"] {
        assert_eq!(posted(Provider::Anthropic, path), Handling::Turn(Api::Messages), "{path}");
    }
}

#[test]
fn what_is_not_known_is_searched_as_text() {
    let text = Handling::Search(SearchScope::Text);
    for path in ["/v1/models", "/v1/messages/x", "/v1/%256dessages", "/v1/conversations//items", "/v1/%zz", "/v1/%", ""]
    {
        assert_eq!(posted(Provider::OpenAi, path), text, "{path}");
        assert_eq!(posted(Provider::Anthropic, path), text, "{path}");
    }
    assert_eq!(posted(Provider::OpenAi, "/v1/messages"), text, "each provider has its own");
    let put = Handling::of(Provider::Anthropic, &Method::PUT, "/v1/messages", &settings(Planning::On, &[]));
    assert_eq!(put, text);
}

#[test]
fn settings_exempt_what_is_not_known_and_nothing_else() {
    let settings = settings(Planning::On, &["/openai/v1/files", "/anthropic/v1/messages"]);
    let posted = |provider, path: &str| Handling::of(provider, &Method::POST, path, &settings);
    assert_eq!(posted(Provider::OpenAi, "/v1/files/"), Handling::Pass);
    assert_eq!(posted(Provider::Anthropic, "/v1/files"), Handling::Search(SearchScope::Text));
    assert_eq!(posted(Provider::Anthropic, "/v1/messages"), Handling::Turn(Api::Messages));
}

#[test]
fn without_planning_everything_passes() {
    let settings = settings(Planning::Off, &[]);
    assert_eq!(Handling::of(Provider::Anthropic, &Method::POST, "/v1/messages", &settings), Handling::Pass);
}
