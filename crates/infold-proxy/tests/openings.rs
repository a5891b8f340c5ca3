//! Streams whose provider says only after 200 that the request does not fit: rescued like a refusal, before the
//! client has seen a byte. All other streams are passed on as they are, and no later.

use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::common::client::{connect, exchange, post, read_until};
use crate::common::upstream::{Act, Upstream, send};
use crate::common::{Running, settings, start_unshaped};
use infold_proxy::ProxySettings;
use serde_json::{Value, json};
use tokio::sync::Notify;

const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
const END: &str = "0\r\n\r\n";
/// What comes within this time was not held back until the proxy's own time was over, however slow the machine is.
const AT_ONCE: Duration = Duration::from_secs(20);
const LONG_HOLD_MS: u64 = 60_000;

fn event(data: &Value) -> String {
    format!("event: {}\ndata: {data}\n\n", data["type"].as_str().expect("a type"))
}

fn chunk(bytes: impl AsRef<[u8]>) -> Vec<u8> {
    let bytes = bytes.as_ref();
    [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
}

fn created() -> String {
    let begun = json!({"id": "resp_1", "status": "in_progress", "instructions": "be good ".repeat(500), "error": null});
    [
        event(&json!({"type": "response.created", "response": begun})),
        event(&json!({"type": "response.in_progress", "response": begun})),
    ]
    .concat()
}

fn failed(code: &str) -> String {
    let error = json!({"code": code, "message": "What the provider says of it."});
    event(&json!({"type": "response.failed", "response": {"id": "resp_1", "status": "failed", "error": error}}))
}

fn answer() -> String {
    let item = json!({"type": "message", "content": [{"type": "output_text", "text": "Quiet."}]});
    let usage = json!({"input_tokens": 9, "output_tokens": 3});
    [
        event(&json!({"type": "response.output_item.added", "item": item})),
        event(
            &json!({"type": "response.completed", "response": {"status": "completed", "output": [item], "usage": usage}}),
        ),
    ]
    .concat()
}

fn stream(events: &str) -> Vec<Act> {
    vec![send(HEAD), send(chunk(events)), send(END)]
}

fn long() -> String {
    (0..600).map(|line| format!("{line}: the harbour is quiet\n")).collect()
}

/// A request of Codex's with a result that can be offloaded.
fn responses() -> Vec<u8> {
    let tool = |name: &str| json!({"type": "function", "name": name, "parameters": {"type": "object"}});
    let input = json!([
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Look."}]},
        {"type": "function_call", "call_id": "call_1", "name": "Read", "arguments": "{\"file_path\":\"/p/a\"}"},
        {"type": "function_call_output", "call_id": "call_1", "output": long()},
    ]);
    let tools = [tool("Read"), tool("mcp__infold__read_result")];
    let body = json!({"model": "gpt-x", "stream": true, "prompt_cache_key": "s1", "tools": tools, "input": input});
    post("/openai/v1/responses", &body.to_string())
}

/// A request of Claude Code's with a result that can be offloaded.
fn messages() -> Vec<u8> {
    let tool = |name: &str| json!({"name": name, "description": "d", "input_schema": {"type": "object"}});
    let call = json!({"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"file_path": "/p/a"}});
    let talk = json!([
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": long()}]},
    ]);
    let tools = [tool("Read"), tool("mcp__infold__read_result")];
    let body = json!({"model": "claude-x", "max_tokens": 9, "stream": true, "tools": tools, "messages": talk});
    post("/anthropic/v1/messages", &body.to_string())
}

async fn proxy(upstream: &Upstream) -> Running {
    start_unshaped(settings(upstream.address)).await
}

/// Starts a proxy that would hold the beginning of a stream for longer than any test waits.
async fn patient(upstream: &Upstream) -> Running {
    start_unshaped(ProxySettings { hold_ms: LONG_HOLD_MS, ..settings(upstream.address) }).await
}

/// Asserts that the second of two requests is the first one, rescued.
fn assert_rescued(upstream: &Upstream) {
    let texts = upstream.texts();
    assert_eq!(texts.len(), 2);
    assert!(texts[0].contains("599: the harbour") && texts[1].len() < texts[0].len() / 2, "{}", texts[1]);
    assert!(texts[1].contains("call mcp__infold__read_result with a ref_id"), "{}", texts[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_overflow_that_is_reported_inside_a_stream_is_rescued() {
    let play = |number| match number {
        0 => stream(&(created() + &failed("context_length_exceeded"))),
        _ => stream(&(created() + &answer())),
    };
    let upstream = Upstream::start(play).await;
    let proxy = proxy(&upstream).await;
    let got = exchange(proxy.address, &responses()).await;
    assert!(got.is_whole);
    assert_eq!(got.text(), created() + &answer(), "the client sees nothing of it");
    assert_rescued(&upstream);
    proxy.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_overflow_that_is_the_first_event_of_all_is_rescued() {
    let refusal = json!({"type": "invalid_request_error", "message": "prompt is too long: 9000 tokens > 4000 maximum"});
    let error = event(&json!({"type": "error", "error": refusal}));
    let begun = event(&json!({"type": "message_start", "message": {"usage": {"input_tokens": 3}}}));
    let played = begun.clone();
    let play = move |number| match number {
        0 => stream(&error),
        _ => stream(&played),
    };
    let upstream = Upstream::start(play).await;
    let proxy = proxy(&upstream).await;
    assert_eq!(exchange(proxy.address, &messages()).await.text(), begun);
    assert_rescued(&upstream);
    proxy.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_overflow_in_a_compressed_stream_is_rescued() {
    let play = |number| {
        if number > 0 {
            return stream(&answer());
        }
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all((created() + &failed("context_length_exceeded")).as_bytes()).expect("memory");
        let head = HEAD.replace("Transfer", "Content-Encoding: gzip\r\nTransfer");
        vec![send(head), send(chunk(encoder.finish().expect("memory"))), send(END)]
    };
    let upstream = Upstream::start(play).await;
    let proxy = proxy(&upstream).await;
    assert_eq!(exchange(proxy.address, &responses()).await.text(), answer());
    assert_rescued(&upstream);
    proxy.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_rescued_once_and_then_the_provider_has_the_word() {
    let failing = created() + &failed("context_length_exceeded");
    let upstream = Upstream::always(stream(&failing)).await;
    let proxy = proxy(&upstream).await;
    let got = exchange(proxy.address, &responses()).await;
    assert_eq!((got.text(), got.is_whole), (failing, true));
    assert_rescued(&upstream);
    proxy.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_errors_come_as_they_are_and_so_does_one_behind_words() {
    for events in [
        created() + &failed("server_error"),
        created() + &answer() + &failed("context_length_exceeded"),
        String::new(),
        ": a comment\n\n".to_owned(),
        created(),
        created()[..50].to_owned(),
    ] {
        let upstream = Upstream::always(stream(&events)).await;
        let proxy = proxy(&upstream).await;
        let got = exchange(proxy.address, &responses()).await;
        assert_eq!((got.text(), got.is_whole), (events, true));
        assert_eq!(upstream.requests().len(), 1);
        proxy.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_is_looked_at_is_the_same_wherever_it_is_cut_or_breaks_off() {
    let whole = created().replace("be good ", "") + &answer();
    let played = whole.clone();
    let play = move |number: usize| {
        let (first, rest) = played.as_bytes().split_at(number / 2 * 5 + 1);
        match number % 2 {
            0 => vec![send(HEAD), send(chunk(first)), send(chunk(rest)), send(END)],
            _ => vec![send(HEAD), send(chunk(first)), Act::Close],
        }
    };
    let upstream = Upstream::start(play).await;
    let proxy = proxy(&upstream).await;
    for cut in (1..whole.len()).step_by(5) {
        let got = exchange(proxy.address, &responses()).await;
        assert!(got.is_whole && got.text() == whole, "cut at {cut}");
        let got = exchange(proxy.address, &responses()).await;
        assert!(!got.is_whole && got.body == whole.as_bytes()[..cut], "broken off at {cut}");
    }
    proxy.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_event_that_means_anything_is_passed_on_at_once() {
    let go_on = Arc::new(Notify::new());
    let words = event(&json!({"type": "response.output_item.added", "item": {}}));
    let acts = vec![send(HEAD), send(chunk(created())), send(chunk(words)), Act::Wait(Arc::clone(&go_on)), send(END)];
    let upstream = Upstream::always(acts).await;
    let proxy = patient(&upstream).await;
    let since = Instant::now();
    let mut client = connect(proxy.address, &responses()).await;
    read_until(&mut client, b"output_item.added").await;
    assert!(since.elapsed() < AT_ONCE, "{:?}", since.elapsed());
    go_on.notify_one();
    read_until(&mut client, END.as_bytes()).await;
    proxy.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_says_nothing_is_let_go_in_time_and_signs_of_life_at_once() {
    let go_on = Arc::new(Notify::new());
    let acts = |first: String| vec![send(HEAD), send(chunk(first)), Act::Wait(Arc::clone(&go_on)), send(END)];
    let upstream = Upstream::always(acts(created())).await;
    let running = proxy(&upstream).await;
    let mut client = connect(running.address, &responses()).await;
    let waiting = tokio::time::timeout(Duration::from_secs(5), read_until(&mut client, b"response.in_progress"));
    waiting.await.expect("it is let go");
    go_on.notify_one();
    read_until(&mut client, END.as_bytes()).await;
    running.close().await;

    let upstream = Upstream::always(acts(event(&json!({"type": "ping"})))).await;
    let running = patient(&upstream).await;
    let since = Instant::now();
    let mut client = connect(running.address, &messages()).await;
    read_until(&mut client, b"ping").await;
    assert!(since.elapsed() < AT_ONCE, "{:?}", since.elapsed());
    go_on.notify_one();
    read_until(&mut client, END.as_bytes()).await;
    running.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn where_nothing_could_be_rescued_nothing_is_held() {
    let go_on = Arc::new(Notify::new());
    let acts = vec![send(HEAD), send(chunk(created())), Act::Wait(Arc::clone(&go_on)), send(END)];
    let upstream = Upstream::always(acts).await;
    let proxy = patient(&upstream).await;
    let plain = r#"{"model":"gpt-x","stream":true,"prompt_cache_key":"s1","input":"Look."}"#;
    let since = Instant::now();
    let mut client = connect(proxy.address, &post("/openai/v1/responses", plain)).await;
    read_until(&mut client, b"response.in_progress").await;
    assert!(since.elapsed() < AT_ONCE, "{:?}", since.elapsed());
    go_on.notify_one();
    read_until(&mut client, END.as_bytes()).await;
    proxy.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_gives_up_while_a_stream_is_held_closes_the_upstream() {
    let mut upstream = Upstream::always(vec![send(HEAD), send(chunk(created())), Act::UntilClosed]).await;
    let proxy = patient(&upstream).await;
    let client = connect(proxy.address, &responses()).await;
    upstream.came.recv().await.expect("the request");
    drop(client);
    let closing = tokio::time::timeout(AT_ONCE, upstream.closed.recv());
    closing.await.expect("the upstream is closed").expect("the upstream runs");
    proxy.close().await;
}
