//! Which addresses may be upstreams, and how paths are put behind them.

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
