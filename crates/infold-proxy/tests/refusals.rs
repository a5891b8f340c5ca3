//! What is not forwarded: other hosts, odd paths, WebSockets, bodies without end.

#![allow(clippy::expect_used, reason = "a test that cannot go on should stop")]

mod common;

use common::client::{exchange, post};
use common::upstream::{Upstream, whole};
use common::{settings, start};
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
    let mut stream = common::client::connect(proxy.address, request.as_bytes()).await;
    let head = common::client::read_until(&mut stream, b"\r\n\r\n").await;
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
    let answer = exchange(proxy.address, &post("/anthropic/v1/messages", &"x".repeat(100))).await;
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
