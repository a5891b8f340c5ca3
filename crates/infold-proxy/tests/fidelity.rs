//! With nothing to edit, client and upstream get each other's bytes unchanged.

use crate::common::client::{exchange, post};
use crate::common::upstream::{Upstream, send, whole};
use crate::common::{settings, start};

#[tokio::test(flavor = "multi_thread")]
async fn the_upstream_gets_the_clients_head_and_body() {
    let upstream = Upstream::always(vec![whole("200 OK", "", "{}")]).await;
    let proxy = start(settings(upstream.address)).await;
    let body = "{ \"model\":\"m\",\n\t\"n\": 1.0e2, \"unknown\": {\"b\":1,\"a\":2} , \"é\":\"\\u00e9\"}\n";
    let length = body.len();
    let request = format!(
        "POST /anthropic/v1/messages?beta=true&x=%2F HTTP/1.1\r\n\
         Accept: application/json\r\nX-Api-Key: key-1\r\nauthorization: Bearer key-2\r\nHost: 127.0.0.1\r\n\
         X-Infold-Tokens: kept\r\nanthropic-Beta: one\r\nContent-Type: application/json\r\n\
         Connection: close, x-hop\r\nX-Hop: gone\r\nContent-Length: {length}\r\nx-UNKNOWN: a  b\r\n\
         accept-encoding: gzip, br\r\n\r\n{body}"
    );

    let answer = exchange(proxy.address, request.as_bytes()).await;

    assert_eq!(answer.status, "HTTP/1.1 200 OK");
    let received = upstream.requests().remove(0);
    let expected = format!(
        "POST /v1/messages?beta=true&x=%2F HTTP/1.1\r\n\
         Accept: application/json\r\nX-Api-Key: key-1\r\nauthorization: Bearer key-2\r\nHost: {}\r\n\
         X-Infold-Tokens: kept\r\nanthropic-Beta: one\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\nx-UNKNOWN: a  b\r\naccept-encoding: gzip, br\r\n\r\n",
        upstream.address
    );
    assert_eq!(received.head, expected);
    assert_eq!(received.body, body.as_bytes());
    proxy.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_client_gets_the_upstreams_head_and_body() {
    let body = b"\x1f\x8b\x00 not text \xff\xfe";
    let headers = "Date: Tue, 27 Oct 2026 10:00:00 GMT\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\n\
                   Server: cloudflare\r\nX-Request-Id: req_1\r\nanthropic-RateLimit-x: 5\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n\
                   Location: /elsewhere\r\n";
    for status in [
        "200 OK",
        "201 Made Up",
        "307 Temporary Redirect",
        "401 Unauthorized",
        "429 Too Many Requests",
        "529 Overloaded",
    ] {
        let upstream = Upstream::always(vec![whole(status, headers, body)]).await;
        let proxy = start(settings(upstream.address)).await;

        let answer = exchange(proxy.address, &post("/openai/v1/responses", "{}")).await;

        assert_eq!(answer.status, format!("HTTP/1.1 {status}"));
        let mut expected: Vec<String> = headers.split_terminator("\r\n").map(str::to_owned).collect();
        expected.push(format!("Content-Length: {}", body.len()));
        let dated = expected.iter().filter(|line| !line.starts_with("date:")).cloned().collect::<Vec<_>>();
        assert_eq!(answer.headers, dated);
        assert_eq!(answer.body, body);
        assert!(answer.is_whole);
        assert_eq!(upstream.requests().len(), 1, "{status} is not ours to repeat");
        proxy.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_methods_and_paths_pass_too() {
    let upstream = Upstream::always(vec![whole("200 OK", "", "[]")]).await;
    let proxy = start(settings(upstream.address)).await;
    for (asked, got) in [
        ("GET /anthropic/v1/models?limit=2 HTTP/1.1", "GET /v1/models?limit=2 HTTP/1.1"),
        ("GET /openai/v1/models HTTP/1.1", "GET /v1/models HTTP/1.1"),
        ("DELETE /openai/v1/files/f%20x HTTP/1.1", "DELETE /v1/files/f%20x HTTP/1.1"),
        ("OPTIONS /anthropic/v1/messages HTTP/1.1", "OPTIONS /v1/messages HTTP/1.1"),
        ("GET /anthropic HTTP/1.1", "GET / HTTP/1.1"),
        ("GET /anthropic/ HTTP/1.1", "GET / HTTP/1.1"),
    ] {
        let request = format!("{asked}\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");
        let answer = exchange(proxy.address, request.as_bytes()).await;
        assert_eq!((answer.status.as_str(), answer.text().as_str()), ("HTTP/1.1 200 OK", "[]"), "{asked}");
        let received = upstream.requests().pop().expect("a request");
        assert_eq!(received.head.lines().next(), Some(got));
    }
    proxy.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chunked_request_arrives_whole() {
    let upstream = Upstream::always(vec![whole("200 OK", "", "{}")]).await;
    let proxy = start(settings(upstream.address)).await;
    let request = "POST /openai/v1/embeddings HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\
                   Connection: close\r\n\r\n3\r\n{\"a\r\n4\r\n\":1}\r\n0\r\n\r\n";
    let answer = exchange(proxy.address, request.as_bytes()).await;
    assert!(answer.is_whole);
    assert_eq!(upstream.requests()[0].body, b"{\"a\":1}");
    proxy.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_head_without_body_is_answered_without_one() {
    let upstream = Upstream::always(vec![send("HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n")]).await;
    let proxy = start(settings(upstream.address)).await;
    let request = b"HEAD /anthropic/v1/models HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n";
    let answer = exchange(proxy.address, request).await;
    assert_eq!(answer.status, "HTTP/1.1 200 OK");
    assert_eq!(answer.headers, ["Content-Length: 12"]);
    assert_eq!(answer.body, b"");
    proxy.close().await;
}
