//! Upstreams that fail in every way: what was not begun is tried again or explained in the provider's shape; what
//! was begun never looks whole.

use std::sync::Arc;

use crate::common::client::{exchange, post};
use crate::common::upstream::{Act, Upstream, send, whole};
use crate::common::{settings, start};
use infold_proxy::{ProxySettings, RetryStatus};
use tokio::net::TcpListener;
use tokio::sync::Notify;

const CHUNKED: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

/// The silence after which the proxy gives an upstream up. A busy machine must be able to send a request in it.
const SILENCE_MS: u64 = 1_000;

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_breaks_off_never_looks_whole() {
    let cases: [(&str, Vec<Act>); 9] = [
        ("in a chunk", vec![send(CHUNKED), send("5\r\nab"), Act::Close]),
        ("between chunks", vec![send(CHUNKED), send("2\r\nab\r\n"), Act::Close]),
        ("in the last chunk", vec![send(CHUNKED), send("2\r\nab\r\n0\r\n"), Act::Close]),
        ("by a reset", vec![send(CHUNKED), send("2\r\nab\r\n"), Act::Reset]),
        ("in garbage", vec![send(CHUNKED), send("2\r\nab\r\nzz\r\n")]),
        ("right after the head", vec![send(CHUNKED), Act::Close]),
        ("short of its length", vec![send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"), Act::Close]),
        ("short of its length, by a reset", vec![send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"), Act::Reset]),
        ("before its first byte", vec![send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"), Act::Close]),
    ];
    for (name, acts) in cases {
        let upstream = Upstream::always(acts).await;
        let proxy = start(settings(upstream.address)).await;

        let answer = exchange(proxy.address, &post("/anthropic/v1/messages", "{}")).await;

        assert!(!answer.is_whole, "{name}: {answer:?}");
        assert_eq!(upstream.requests().len(), 1, "{name}: what has begun is not repeated");
        proxy.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_came_before_the_break_has_reached_the_client() {
    let upstream = Upstream::always(vec![send(CHUNKED), send("2\r\nab\r\n3\r\ncd"), Act::Close]).await;
    let proxy = start(settings(upstream.address)).await;
    let answer = exchange(proxy.address, &post("/anthropic/v1/messages", "{}")).await;
    assert!(!answer.is_whole);
    assert!(answer.text().starts_with("ab"), "{answer:?}");
    proxy.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn more_than_its_length_is_cut_to_it() {
    let bytes = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcdef";
    let upstream = Upstream::always(vec![send(bytes), Act::Close]).await;
    let proxy = start(settings(upstream.address)).await;
    let answer = exchange(proxy.address, &post("/anthropic/v1/messages", "{}")).await;
    assert_eq!(answer.body, b"abc");
    proxy.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_breaks_before_the_answer_is_tried_again() {
    let faults: [(&str, Vec<Act>); 4] = [
        ("closed before the head", vec![Act::Close]),
        ("reset before the head", vec![Act::Reset]),
        ("closed in the head", vec![send("HTTP/1.1 200 OK\r\nContent-Ty"), Act::Close]),
        ("reset in the head", vec![send("HTTP/1.1 200 OK\r\nContent-Ty"), Act::Reset]),
    ];
    for (name, fault) in faults {
        let acts = fault.clone();
        let upstream = Upstream::start(move |number| match number {
            0 | 1 => acts.clone(),
            _ => vec![whole("200 OK", "", "{\"ok\":true}")],
        })
        .await;
        let proxy = start(settings(upstream.address)).await;

        let answer = exchange(proxy.address, &post("/anthropic/v1/messages", "{\"a\": 1}")).await;

        assert_eq!((answer.status.as_str(), answer.text().as_str()), ("HTTP/1.1 200 OK", "{\"ok\":true}"), "{name}");
        let requests = upstream.requests();
        assert_eq!(requests.len(), 3, "{name}");
        assert!(requests.iter().all(|request| request.body == b"{\"a\": 1}"), "{name}");
        proxy.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_that_never_answers_is_named_in_the_providers_shape() {
    let upstream = Upstream::always(vec![Act::Close]).await;
    let proxy = start(settings(upstream.address)).await;

    let answer = exchange(proxy.address, &post("/anthropic/v1/messages", "{}")).await;
    assert_eq!(answer.status, "HTTP/1.1 502 Bad Gateway");
    let text = answer.text();
    assert!(text.starts_with("{\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"infold got no answer from http://127.0.0.1:"), "{text}");
    assert!(text.contains("proxy.anthropic.upstream"), "{text}");
    assert_eq!(upstream.requests().len(), 3);

    let answer = exchange(proxy.address, &post("/openai/v1/responses", "{}")).await;
    let text = answer.text();
    assert!(text.starts_with("{\"error\":{\"message\":\"infold got no answer from http://127.0.0.1:"), "{text}");
    assert!(text.contains("\"code\":\"upstream_unreachable\"") && text.contains("proxy.openai.upstream"), "{text}");
    proxy.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_that_is_not_there_is_reported_with_the_reason() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let proxy = start(settings(address)).await;
    let answer = exchange(proxy.address, &post("/openai/v1/chat/completions", "{}")).await;
    assert_eq!(answer.status, "HTTP/1.1 502 Bad Gateway");
    assert!(answer.text().contains("Connection refused"), "{}", answer.text());
    proxy.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_http_is_not_asked_again() {
    let upstream = Upstream::always(vec![send("SSH-2.0-OpenSSH_9.6\r\n\r\n")]).await;
    let proxy = start(settings(upstream.address)).await;
    let answer = exchange(proxy.address, &post("/anthropic/v1/messages", "{}")).await;
    assert_eq!(answer.status, "HTTP/1.1 502 Bad Gateway");
    assert_eq!(upstream.requests().len(), 1);
    proxy.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn silence_ends() {
    let never = Arc::new(Notify::new());
    let acts = vec![Act::Wait(Arc::clone(&never))];
    let upstream = Upstream::always(acts).await;
    let quick = ProxySettings { silence_timeout_ms: SILENCE_MS, ..settings(upstream.address) };
    let proxy = start(quick).await;
    let answer = exchange(proxy.address, &post("/anthropic/v1/messages", "{}")).await;
    assert_eq!(answer.status, "HTTP/1.1 504 Gateway Timeout");
    assert!(answer.text().contains("proxy.silence_timeout_ms"), "{}", answer.text());
    assert_eq!(upstream.requests().len(), 1, "who has waited so long does not wait again");
    proxy.close().await;

    let upstream = Upstream::always(vec![send(CHUNKED), send("2\r\nab\r\n"), Act::Wait(Arc::clone(&never))]).await;
    let proxy = start(ProxySettings { silence_timeout_ms: SILENCE_MS, ..settings(upstream.address) }).await;
    let answer = exchange(proxy.address, &post("/anthropic/v1/messages", "{}")).await;
    assert_eq!((answer.text().as_str(), answer.is_whole), ("ab", false));
    proxy.close().await;

    let refusal = vec![send("HTTP/1.1 400 Bad Request\r\nContent-Length: 10\r\n\r\nab"), Act::Wait(never)];
    let upstream = Upstream::always(refusal).await;
    let proxy = start(ProxySettings { silence_timeout_ms: SILENCE_MS, ..settings(upstream.address) }).await;
    let request = post("/anthropic/v1/messages", "{\"model\":\"m\",\"messages\":[]}");
    let answer = exchange(proxy.address, &request).await;
    assert_eq!((answer.text().as_str(), answer.is_whole), ("ab", false), "a refusal is not waited for either");
    proxy.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_status_is_repeated_only_if_settings_say_so() {
    let play = |number| match number {
        0 => vec![whole("429 Too Many Requests", "Retry-After: 0\r\n", "slow down")],
        1 => vec![whole("529 Overloaded", "", "busy")],
        _ => vec![whole("200 OK", "", "fine")],
    };
    let upstream = Upstream::start(play).await;
    let retry_statuses = vec![RetryStatus::TooMany, RetryStatus::Overloaded];
    let proxy = start(ProxySettings { retry_statuses, ..settings(upstream.address) }).await;
    let answer = exchange(proxy.address, &post("/anthropic/v1/messages", "{}")).await;
    assert_eq!(answer.text(), "fine");
    proxy.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_429_that_says_nothing_or_too_much_is_passed_on() {
    for (headers, body) in [("", "slow down"), ("Retry-After: 3600\r\n", "later"), ("Retry-After: soon\r\n", "soon")] {
        let upstream = Upstream::always(vec![whole("429 Too Many Requests", headers, body)]).await;
        let retry_statuses = vec![RetryStatus::TooMany];
        let proxy = start(ProxySettings { retry_statuses, ..settings(upstream.address) }).await;
        let answer = exchange(proxy.address, &post("/anthropic/v1/messages", "{}")).await;
        assert_eq!((answer.status.as_str(), answer.text().as_str()), ("HTTP/1.1 429 Too Many Requests", body));
        assert_eq!(upstream.requests().len(), 1);
        proxy.close().await;
    }
}

/// An answer that ends by closing, with this content type.
fn closing(content_type: &str, body: &str) -> Vec<Act> {
    vec![send(format!("HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\n\r\n{body}")), Act::Close]
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_ends_by_closing_looks_whole_only_if_it_says_its_end() {
    let json = r#"{"type":"message","content":[{"type":"text","text":"}"}]}"#;
    let stream = "event: message_start\ndata: {\"type\":\"message_start\"}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
    let done = "data: {\"object\":\"chat.completion.chunk\",\"choices\":[]}\n\ndata: [DONE]\n\n";
    let completed = "data: {\"type\":\"response.created\"}\n\ndata: {\"type\":\"response.completed\"}\n\n";
    let cases = [
        ("application/json", json, json.len() - 1),
        ("text/event-stream", stream, stream.rfind("event: ").expect("two events")),
        ("text/event-stream; charset=utf-8", done, done.rfind("data: ").expect("two events")),
        ("text/event-stream", completed, completed.rfind('}').expect("two events")),
    ];
    for path in ["/anthropic/v1/messages", "/openai/v1/unheard_of"] {
        for (content_type, body, cut) in cases {
            for (sent, is_whole) in [(body, true), (&body[..cut], false), ("", false)] {
                let upstream = Upstream::always(closing(content_type, sent)).await;
                let proxy = start(settings(upstream.address)).await;
                let answer = exchange(proxy.address, &post(path, "{}")).await;
                assert_eq!((answer.is_whole, answer.text().as_str()), (is_whole, sent), "{path} {sent}");
                proxy.close().await;
            }
        }
    }
    for (content_type, body) in [("text/plain", "ab"), ("application/x-ndjson", "{")] {
        let upstream = Upstream::always(closing(content_type, body)).await;
        let proxy = start(settings(upstream.address)).await;
        let answer = exchange(proxy.address, &post("/anthropic/v1/messages", "{}")).await;
        assert_eq!((answer.is_whole, answer.text().as_str()), (true, body), "nothing tells that it is not");
        proxy.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_head_that_contradicts_itself_or_is_no_answer_is_a_bad_gateway() {
    let heads = [
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n5\r\nabcde\r\n0\r\n\r\n",
            "contradict",
        ),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nabcde", "contradict"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n", "other than chunked"),
        ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nabc", "another protocol"),
    ];
    for path in ["/anthropic/v1/messages", "/openai/v1/unheard_of"] {
        for (head, reason) in heads {
            let upstream = Upstream::always(vec![send(head), Act::Close]).await;
            let proxy = start(ProxySettings { retries_max: 0, ..settings(upstream.address) }).await;
            let answer = exchange(proxy.address, &post(path, "{}")).await;
            assert_eq!(answer.status, "HTTP/1.1 502 Bad Gateway", "{head}: {answer:?}");
            assert!(answer.is_whole && answer.text().contains(reason), "{head}: {answer:?}");
            assert!(answer.text().contains("settings"), "{answer:?}");
            proxy.close().await;
        }
    }
}
