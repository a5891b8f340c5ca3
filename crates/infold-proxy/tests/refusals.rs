//! What is not forwarded: other hosts, odd paths, WebSockets, bodies without end.

use crate::common::client::{exchange, post};
use crate::common::upstream::{Upstream, whole};
use crate::common::{settings, start};
use infold_proxy::ProxySettings;

#[tokio::test(flavor = "multi_thread")]
async fn only_plain_paths_go_on() {
    let upstream = Upstream::always(vec![whole("200 OK", "", "{}")]).await;
    let proxy = start(settings(upstream.address)).await;
    for target in [
        "http://127.0.0.1/anthropic/v1/messages",
        "/anthropic/../../etc/passwd",
        "/anthropic/v1/%2e%2e/x",
        "/anthropic//evil.example/v1",
        "/openai/v1\\messages",
    ] {
        let request = format!("GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");
        let answer = exchange(proxy.address, request.as_bytes()).await;
        assert!(
            answer.status.starts_with("HTTP/1.1 400") || answer.status.starts_with("HTTP/1.1 404"),
            "{target}: {answer:?}"
        );
    }
    assert_eq!(upstream.requests().len(), 0);
    proxy.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_websocket_is_sent_back_to_posting() {
    let upstream = Upstream::always(vec![whole("200 OK", "", "{}")]).await;
    let proxy = start(settings(upstream.address)).await;
    let request =
        "GET /openai/v1/responses HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
    let mut stream = crate::common::client::connect(proxy.address, request.as_bytes()).await;
    let head = crate::common::client::read_until(&mut stream, b"\r\n\r\n").await;
    assert!(head.starts_with(b"HTTP/1.1 426 "), "{}", String::from_utf8_lossy(&head));
    assert_eq!(upstream.requests().len(), 0);
    drop(stream);
    proxy.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_over_the_bound_is_refused_in_the_providers_shape() {
    let upstream = Upstream::always(vec![whole("200 OK", "", "{}")]).await;
    let proxy = start(ProxySettings { body_bytes_max: 100, ..settings(upstream.address) }).await;
    let answer = exchange(proxy.address, &post("/anthropic/v1/messages", &"x".repeat(101))).await;
    assert_eq!(answer.status, "HTTP/1.1 413 Payload Too Large");
    assert!(answer.text().contains("\"type\":\"request_too_large\""), "{}", answer.text());
    assert!(answer.text().contains("proxy.body_bytes_max"), "{}", answer.text());
    let just_fits = format!("[{}]", "1".repeat(98));
    let answer = exchange(proxy.address, &post("/anthropic/v1/messages", &just_fits)).await;
    assert_eq!(answer.status, "HTTP/1.1 200 OK");
    assert_eq!(upstream.requests().len(), 1);
    proxy.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn infolds_own_token_stays_here() {
    let upstream = Upstream::always(vec![whole("200 OK", "", "{}")]).await;
    let proxy = start(settings(upstream.address)).await;
    let request =
        "GET /anthropic/v1/models HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Infold-Token: abc\r\nConnection: close\r\n\r\n";
    let answer = exchange(proxy.address, request.as_bytes()).await;
    assert!(answer.status.starts_with("HTTP/1.1 401"), "a wrong token is refused: {answer:?}");
    assert_eq!(upstream.requests().len(), 0);
    proxy.close().await;
}

/// What OpenAI says to a path that it does not have.
const NO_SUCH_PATH: &str =
    r#"{"error":{"message":"Invalid URL (POST /x)","type":"invalid_request_error","param":null,"code":null}}"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_base_url_is_answered_with_the_right_one() {
    let upstream = Upstream::always(vec![whole("404 Not Found", "", NO_SUCH_PATH)]).await;
    let proxy = start(settings(upstream.address)).await;
    let body = r#"{"model":"m","messages":[],"input":[]}"#;
    for (path, right) in [
        ("/openai/responses", "to http://127.0.0.1/openai/v1"),
        ("/openai/chat/completions", "to http://127.0.0.1/openai/v1"),
        ("/openai/v1/v1/responses", "to http://127.0.0.1/openai/v1"),
        ("/anthropic/v1/responses", "to http://127.0.0.1/openai/v1"),
        ("/anthropic/messages", "to http://127.0.0.1/anthropic"),
        ("/anthropic/messages/count_tokens", "to http://127.0.0.1/anthropic"),
        ("/anthropic/v1/v1/messages", "to http://127.0.0.1/anthropic"),
        ("/openai/v1/messages", "to http://127.0.0.1/anthropic"),
    ] {
        let answer = exchange(proxy.address, &post(path, body)).await;
        assert_eq!(answer.status, "HTTP/1.1 404 Not Found", "{path}");
        let refusal: serde_json::Value = serde_json::from_slice(&answer.body).expect("JSON");
        let message = refusal["error"]["message"].as_str().unwrap_or_default();
        assert!(message.ends_with(right), "{path}: {message}");
        assert_eq!(refusal["type"] == "error", right.ends_with("anthropic"), "{path} has its provider's form");
    }
    for path in ["/openai/v1/responses", "/openai/v1/models", "/anthropic/v1/messages", "/openai/files"] {
        let answer = exchange(proxy.address, &post(path, body)).await;
        assert_eq!(answer.text(), NO_SUCH_PATH, "{path} is the provider's to answer");
    }
    proxy.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_that_needs_no_version_is_asked_without() {
    let unknown = r#"{"error":{"message":"The model `m` does not exist","code":"model_not_found"}}"#;
    for (status, said) in [("200 OK", "{}"), ("404 Not Found", unknown)] {
        let upstream = Upstream::always(vec![whole(status, "", said)]).await;
        let proxy = start(settings(upstream.address)).await;
        let answer = exchange(proxy.address, &post("/openai/chat/completions", r#"{"model":"m","messages":[]}"#)).await;
        assert_eq!((answer.status, answer.body), (format!("HTTP/1.1 {status}"), said.as_bytes().to_vec()));
        assert!(upstream.requests()[0].head.starts_with("POST /chat/completions "));
        proxy.close().await;
    }
}
