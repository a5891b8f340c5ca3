//! What an upstream may be, and which window a model has.

use infold_core::Window;

use super::*;

#[test]
fn one_v1_is_enough() {
    let at = |base: &str, path: &str| Upstream::parse(base).expect(base).at(path, None).expect(path).to_string();
    assert_eq!(at("https://api.example", "/v1/messages"), "https://api.example/v1/messages");
    assert_eq!(at("https://api.example/v1", "/v1/messages"), "https://api.example/v1/messages");
    assert_eq!(at("https://api.example/v1/", "/models"), "https://api.example/v1/models");
    assert_eq!(at("https://api.example/deep/v1", "/v1"), "https://api.example/deep/v1");
    assert_eq!(at("http://127.0.0.1:9/deep", "/v1/x"), "http://127.0.0.1:9/deep/v1/x");
    assert_eq!(at("http://127.0.0.1:9", ""), "http://127.0.0.1:9/");
}

#[test]
fn a_query_is_passed_on_as_it_is() {
    let upstream = Upstream::parse("https://api.example").expect("an address");
    let uri = upstream.at("/v1/messages", Some("beta=true&x=%2F..")).expect("a target");
    assert_eq!(uri.to_string(), "https://api.example/v1/messages?beta=true&x=%2F..");
}

#[test]
fn what_is_no_upstream_is_refused_with_the_reason() {
    let refused = |text: &str| Upstream::parse(text).expect_err(text);
    assert_eq!(refused("https://user:word@api.example"), UpstreamError::Credentials);
    assert_eq!(refused("https://api.example?key=1"), UpstreamError::Query);
    for text in ["", "api.example", "ftp://api.example", "/v1", "https://", "https:///v1"] {
        assert_eq!(refused(text), UpstreamError::NotAnAddress, "{text}");
    }
}

#[test]
fn a_client_that_asks_for_the_long_window_in_its_headers_is_given_it() {
    let settings = with_windows();
    let asked = |betas: &[&'static str]| {
        let mut headers = HeaderMap::new();
        for beta in betas {
            headers.append("anthropic-beta", beta.parse().expect("a value"));
        }
        settings.window_asked_for("claude-opus-4-6", &headers)
    };
    assert_eq!(asked(&["interleaved-thinking-2025-05-14"]), None);
    assert_eq!(asked(&["interleaved-thinking-2025-05-14, context-1m-2025-08-07"]), Some(1_000_000));
    assert_eq!(asked(&["oauth-2025-04-20", "context-1m-2025-08-07"]), Some(1_000_000));
}

fn with_windows() -> ProxySettings {
    let upstream = Upstream::parse("http://127.0.0.1:9").expect("an address");
    ProxySettings {
        anthropic: upstream.clone(),
        openai: upstream,
        planning: Planning::On,
        shaping: Shaping::On,
        shape_rules: ShapeRules::USUAL,
        body_bytes_max: 1,
        tunnels: Tunnels::none(),
        connect_timeout_ms: 1,
        silence_timeout_ms: 1,
        hold_ms: 1,
        retries_max: 1,
        retry_statuses: Vec::new(),
        retry_after_max_ms: 1,
        windows: Windows {
            default_tokens: 32_768,
            models: vec![Window { model: "claude-*".to_owned(), tokens: 200_000, largest_tokens: 1_000_000 }],
        },
        reserve_tokens: 1,
        sessions_max: 1,
        sessions_bytes_max: 1,
        tasks: TaskTracker::new(),
    }
}
