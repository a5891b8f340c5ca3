//! What is recorded and counted of requests, however they end and however fast the next one comes.

use std::sync::Arc;

use crate::common::client::{connect, exchange, read_until};
use crate::common::upstream::{Act, Upstream, send, whole};
use crate::common::{Running, settings, start};
use infold_core::record::{AnswerEnd, RequestRecord};
use infold_core::{Field, Principal};
use infold_engine::{Engine, OpenBranch, RequestQuery, RequestSelection, SessionRef};
use serde_json::{Value, json};
use tokio::sync::Notify;

const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

fn post(path: &str, body: &Value) -> Vec<u8> {
    let body = body.to_string();
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Claude-Code-Session-Id: s1\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    )
    .into_bytes()
}

/// A request of Claude Code's with these entries behind the person's words.
fn messages(entries: &[Value]) -> Vec<u8> {
    let tool = |name: &str| json!({"name": name, "description": "d", "input_schema": {"type": "object"}});
    let tools = ["Read", "mcp__infold__branch_create", "mcp__infold__branch_return"].map(tool);
    let mut talk = vec![json!({"role": "user", "content": "Look at the harbour."})];
    talk.extend_from_slice(entries);
    let body = json!({"model": "claude-x", "max_tokens": 9, "stream": true, "tools": tools, "messages": talk});
    post("/anthropic/v1/messages", &body)
}

fn call(id: &str, tool: &str, input: &Value, result: &str) -> [Value; 2] {
    [
        json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": tool, "input": input}]}),
        json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": result}]}),
    ]
}

async fn rows(engine: &Engine) -> Vec<RequestRecord> {
    let query = RequestQuery { session: None, selection: RequestSelection::Newest, limit: 10 };
    let rows = engine.requests(&Principal::local(), query).await.expect("rows");
    rows.into_iter().map(|row| row.record).collect()
}

/// Stops the proxy, so that nothing is under way any more, and returns everything that was recorded.
async fn recorded(proxy: Running) -> Vec<RequestRecord> {
    let engine = proxy.engine.clone();
    proxy.close().await;
    rows(&engine).await
}

/// The beginning of a thread in an open branch of session `s1`.
async fn in_branch(engine: &Engine) -> Vec<Value> {
    let open = OpenBranch {
        session: SessionRef::by_id("s1").expect("a name"),
        parent: None,
        description: "read".to_owned(),
        description_field: Field::BRANCH_DESCRIPTION,
        prompt: None,
        budget_tokens: Some(4_000),
        timeout_s: None,
        isolation: None,
        memories: infold_engine::MemoryWish::Fitting,
        folder: None,
        start: infold_core::Start::AtOnce,
        idempotency_key: None,
    };
    let opened = engine.open_branch(&Principal::local(), open).await.expect("a branch");
    let answer = json!({"branch_id": opened.branch_id, "budget_allocated": 4_000}).to_string();
    call("toolu_1", "mcp__infold__branch_create", &json!({"description": "read"}), &answer).to_vec()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_gives_up_before_the_head_is_recorded() {
    let mut upstream = Upstream::always(vec![Act::UntilClosed]).await;
    let proxy = start(settings(upstream.address)).await;
    let client = connect(proxy.address, &messages(&[])).await;
    upstream.came.recv().await.expect("the request");
    drop(client);
    upstream.closed.recv().await.expect("the upstream is closed");

    let rows = recorded(proxy).await;
    let [row] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!((row.session.as_str(), row.end, row.status, row.usage), ("s1", AnswerEnd::Aborted, None, None));
    assert!(row.sent.total_tokens() > 0, "{row:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_answered_is_recorded_once() {
    let body =
        r#"{"type":"message","content":[],"stop_reason":"end_turn","usage":{"input_tokens":5,"output_tokens":2}}"#;
    let upstream = Upstream::always(vec![whole("200 OK", "Content-Type: application/json\r\n", body)]).await;
    let proxy = start(settings(upstream.address)).await;
    exchange(proxy.address, &messages(&[])).await;
    let ends: Vec<AnswerEnd> = recorded(proxy).await.iter().map(|row| row.end).collect();
    assert_eq!(ends, [AnswerEnd::Completed]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_counted_before_the_next_request_is_planned_however_soon_it_comes() {
    let event = |data: Value| format!("event: {}\ndata: {data}\n\n", data["type"].as_str().expect("a type"));
    let begun = json!({"type": "tool_use", "id": "toolu_2", "name": "Read", "input": {}});
    let events = [
        event(json!({"type": "message_start", "message": {"model": "claude-x", "usage": {"input_tokens": 5}}})),
        event(json!({"type": "content_block_start", "index": 0, "content_block": begun})),
        event(json!({"type": "content_block_stop", "index": 0})),
        event(
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 90_000}}),
        ),
        event(json!({"type": "message_stop"})),
    ]
    .concat();
    let chunk = format!("{:x}\r\n{events}\r\n", events.len());
    // The last event of the answer has come; the end of its body is still to come.
    let go_on = Arc::new(Notify::new());
    let upstream = Upstream::always(vec![send(HEAD), send(chunk), Act::Wait(Arc::clone(&go_on)), Act::Close]).await;
    let proxy = start(settings(upstream.address)).await;
    let mut entries = in_branch(&proxy.engine).await;
    let mut first = connect(proxy.address, &messages(&entries)).await;
    read_until(&mut first, b"message_stop\"").await;

    entries.extend(call("toolu_2", "Read", &json!({}), "words"));
    let mut second = connect(proxy.address, &messages(&entries)).await;
    read_until(&mut second, b"message_stop\"").await;

    let texts: Vec<String> =
        upstream.requests().iter().map(|got| String::from_utf8_lossy(&got.body).into_owned()).collect();
    assert!(!texts[0].contains("Look at the harbour."), "the first one is the branch's: {}", texts[0]);
    assert!(texts[1].contains("Look at the harbour.") && texts[1].contains("was cut short"), "{}", texts[1]);
    go_on.notify_waiters();
    drop((first, second));
    proxy.close().await;
}

/// A stream of Anthropic's events without usage.
fn uncounted(text: &str) -> String {
    let begun = json!({"type": "tool_use", "id": "toolu_2", "name": "Read", "input": {}});
    let text = json!({"type": "text_delta", "text": text});
    let events = [
        json!({"type": "message_start", "message": {"model": "claude-x"}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": text}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "content_block_start", "index": 1, "content_block": begun}),
        json!({"type": "content_block_stop", "index": 1}),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
        json!({"type": "message_stop"}),
    ];
    events.iter().map(|data| format!("event: {}\ndata: {data}\n\n", data["type"].as_str().expect("a type"))).collect()
}

fn chunk(events: &str) -> String {
    format!("{:x}\r\n{events}\r\n", events.len())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_without_usage_is_counted_by_infold_and_uses_up_a_budget() {
    let words = "The harbour is quiet and nothing moves. ".repeat(900);
    counts_itself(&words, uncounted(&words)).await;
    let nothing = r#"{"model":"claude-x","usage":{"input_tokens":0,"output_tokens":0}}"#;
    counts_itself(&words, uncounted(&words).replace(r#"{"model":"claude-x"}"#, nothing)).await;
}

async fn counts_itself(words: &str, answer: String) {
    let upstream = Upstream::always(vec![send(HEAD), send(chunk(&answer)), send("0\r\n\r\n")]).await;
    let proxy = start(settings(upstream.address)).await;
    let mut entries = in_branch(&proxy.engine).await;
    assert_eq!(exchange(proxy.address, &messages(&entries)).await.text(), answer);
    entries.extend(call("toolu_2", "Read", &json!({}), "words"));
    exchange(proxy.address, &messages(&entries)).await;

    let second = String::from_utf8_lossy(&upstream.requests()[1].body).into_owned();
    assert!(second.contains("was cut short"), "the budget is used up: {second}");
    let counter = proxy.engine.counter_for("claude-x");
    let rows = recorded(proxy).await;
    let first = rows.iter().find(|row| row.thread.branch().is_some()).expect("the branch's request");
    assert_eq!((first.usage, first.end, first.cost_micros, &first.miss), (None, AnswerEnd::Completed, None, &None));
    let estimated = first.estimated.expect("our own count");
    // Each share of the breakdown is rounded up.
    assert!(estimated.fresh_tokens.abs_diff(first.sent.total_tokens()) < 10, "{estimated:?}");
    let least = counter.count(words);
    assert!((least..least + 100).contains(&estimated.output_tokens), "{estimated:?}, at least {least}");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_an_answer_that_is_given_up_what_came_is_counted() {
    let words = "The harbour is quiet and nothing moves. ".repeat(20);
    let usage = r#"{"model":"claude-x","usage":{"input_tokens":5,"output_tokens":1}}"#;
    let answer = uncounted(&words).replace(r#"{"model":"claude-x"}"#, usage);
    let (came, _) = answer.split_once("event: message_delta").expect("an end");
    let mut upstream = Upstream::always(vec![send(HEAD), send(chunk(came)), Act::UntilClosed]).await;
    let proxy = start(settings(upstream.address)).await;
    let mut client = connect(proxy.address, &messages(&[])).await;
    read_until(&mut client, b"content_block_stop\",\"index\":1").await;
    drop(client);
    upstream.closed.recv().await.expect("the upstream is closed");

    let least = proxy.engine.counter_for("claude-x").count(&words);
    let engine = proxy.engine.clone();
    let rows = recorded(proxy).await;
    let [row] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!((row.end, row.usage.map(|usage| usage.prompt_tokens())), (AnswerEnd::Aborted, Some(5)));
    let estimated = row.estimated.expect("our own count");
    assert_eq!(estimated.prompt_tokens(), 0, "that was reported");
    assert!(estimated.output_tokens >= least - 1, "{estimated:?}");
    let session = SessionRef::by_id("s1").expect("a name");
    let view = engine.session_with_branches(&Principal::local(), &session).await.expect("a session");
    assert_eq!(view.session.main_tokens, estimated.output_tokens + 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_answer_is_not_counted() {
    for (status, kind, body) in [
        ("200 OK", "text/html", "<p>a page</p>"),
        ("529 Overloaded", "application/json", r#"{"type":"error","error":{"type":"overloaded_error"}}"#),
        ("200 OK", "text/event-stream", "data: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}\n\n"),
    ] {
        let upstream = Upstream::always(vec![whole(status, &format!("Content-Type: {kind}\r\n"), body)]).await;
        let proxy = start(settings(upstream.address)).await;
        exchange(proxy.address, &messages(&[])).await;
        let rows = recorded(proxy).await;
        assert_eq!(rows.iter().map(|row| row.estimated).collect::<Vec<_>>(), [None], "{status} {kind}");
    }
}
