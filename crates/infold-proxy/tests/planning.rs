//! Planning, from the client's bytes to the upstream's, on a real engine.

use std::sync::Arc;

use crate::common::client::{Answer, connect, exchange, read_until};
use crate::common::upstream::{Act, Upstream, send, whole};
use crate::common::{Running, engine, settings, start, start_on, start_unshaped};
use infold_core::Principal;
use infold_engine::{RequestQuery, RequestSelection, ScrubFault, SessionRef, arguments_hash};
use serde_json::{Value, json};
use tokio::sync::Notify;

const TOKEN: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
const ANSWER: &str = r#"{"type":"message","role":"assistant","model":"claude-x","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn","usage":{"input_tokens":5,"output_tokens":2}}"#;

fn tools() -> Value {
    let tool = |name: &str| json!({"name": name, "description": "d", "input_schema": {"type": "object"}});
    let names =
        ["Read", "Write", "mcp__infold__branch_create", "mcp__infold__branch_return", "mcp__infold__read_result"];
    names.map(tool).into()
}

fn body(messages: Value) -> String {
    json!({"model": "claude-x", "max_tokens": 100, "tools": tools(), "messages": messages}).to_string()
}

fn post(path: &str, session: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    let named = if session.is_empty() { String::new() } else { format!("X-Claude-Code-Session-Id: {session}\r\n") };
    format!(
        "POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{named}Content-Type: application/json\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
    .into_bytes()
}

async fn say(proxy: &Running, session: &str, body: &str) -> Answer {
    exchange(proxy.address, &post("/anthropic/v1/messages", session, body)).await
}

fn read(id: &str, path: &str, text: &str) -> [Value; 2] {
    call(id, "Read", json!({"file_path": path}), json!(text))
}

fn call(id: &str, tool: &str, input: Value, content: Value) -> [Value; 2] {
    [
        json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": tool, "input": input}]}),
        json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": content}]}),
    ]
}

fn talk(entries: impl IntoIterator<Item = Value>) -> Value {
    let mut messages = vec![json!({"role": "user", "content": "Look."})];
    messages.extend(entries);
    messages.into()
}

async fn upstream() -> Upstream {
    Upstream::always(vec![whole("200 OK", "Content-Type: application/json\r\n", ANSWER)]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_in_a_result_stays_here_and_the_rest_keeps_its_bytes() {
    let upstream = upstream().await;
    let proxy = start(settings(upstream.address)).await;
    let sent = body(talk(read("toolu_1", "/p/.env", &format!("A=1\nTOKEN={TOKEN}\nB=2"))));

    assert_eq!(say(&proxy, "s1", &sent).await.text(), ANSWER);
    assert_eq!(say(&proxy, "s1", &sent).await.text(), ANSWER);

    let got = upstream.requests();
    let first = String::from_utf8(got[0].body.clone()).expect("text");
    let (before, rest) = first.split_once("TOKEN=[SECRET:github-pat:").expect("a placeholder");
    let (wanted, wanted_rest) = sent.split_once(&format!("TOKEN={TOKEN}")).expect("the secret");
    assert_eq!(before, wanted);
    assert_eq!(rest[6..], format!("]{wanted_rest}"));
    assert_eq!(got[0].body, got[1].body, "the same bytes for ever");
    assert!(
        got[0].head.contains(&format!("content-length: {}", first.len()).replace("content-length", "Content-Length"))
    );
    proxy.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_further_up_that_infold_never_saw_stays_here_too_and_so_it_does_in_a_count() {
    let upstream = upstream().await;
    let proxy = start(settings(upstream.address)).await;
    let mut entries = read("toolu_1", "/p/.env", TOKEN).to_vec();
    entries.extend(read("toolu_2", "/p/b", "nothing here"));
    let sent = body(talk(entries));
    exchange(proxy.address, &post("/anthropic/v1/messages/count_tokens", "s1", &sent)).await;
    say(&proxy, "s1", &sent).await;
    for request in upstream.requests() {
        let text = String::from_utf8(request.body).expect("text");
        assert!(!text.contains(TOKEN) && text.contains("[SECRET:github-pat:"), "{text}");
    }
    proxy.close().await;
}

async fn with_fault(fault: ScrubFault, upstream: &Upstream) -> Running {
    let folder = tempfile::tempdir().expect("a folder");
    let engine = engine(folder.path(), fault);
    start_on(folder, engine, settings(upstream.address)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_scrubber_nothing_is_sent_and_the_client_gets_the_reason() {
    let mut upstream = upstream().await;
    let proxy = with_fault(ScrubFault::Missing, &upstream).await;
    let answer = say(&proxy, "s1", &body(talk(read("toolu_1", "/p/a", "words")))).await;
    assert!(answer.status.starts_with("HTTP/1.1 503"), "{answer:?}");
    assert!(answer.text().starts_with(r#"{"type":"error","error":{"type":"api_error","message":"infold could not"#));
    assert!(upstream.came.try_recv().is_err(), "nothing was sent");
    // Without results there is nothing that a secret could be in.
    assert_eq!(say(&proxy, "s1", &body(talk([]))).await.text(), ANSWER);
    proxy.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_scrubber_breaks_down_on_is_withheld_and_the_same_bytes_are_sent_ever_after() {
    let upstream = upstream().await;
    let proxy = with_fault(ScrubFault::Panic, &upstream).await;
    let sent = body(talk(read("toolu_1", "/p/a", "words of a tool")));
    assert_eq!(say(&proxy, "s1", &sent).await.text(), ANSWER);
    assert_eq!(say(&proxy, "s1", &sent).await.text(), ANSWER);
    let got = upstream.texts();
    assert!(got[0].contains("[infold withheld 15 bytes here") && !got[0].contains("words of a tool"), "{}", got[0]);
    assert_eq!(got[0], got[1]);
    proxy.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_known_before_the_client_can_make_it() {
    let event = |name: &str, data: Value| format!("event: {name}\ndata: {data}\n\n");
    let begun = json!({"type": "tool_use", "id": "toolu_9", "name": "mcp__infold__branch_create", "input": {}});
    let input = r#"{"description":"look"}"#;
    let stream = [
        event(
            "message_start",
            json!({"type":"message_start","message":{"model":"claude-x","usage":{"input_tokens":5}}}),
        ),
        event("content_block_start", json!({"type":"content_block_start","index":0,"content_block":begun})),
        event(
            "content_block_delta",
            json!({"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":input}}),
        ),
        event("content_block_stop", json!({"type":"content_block_stop","index":0})),
    ]
    .concat();
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    let chunk = format!("{:x}\r\n{stream}\r\n", stream.len());
    let upstream = Upstream::always(vec![send(head), send(chunk), Act::UntilClosed]).await;
    let proxy = start(settings(upstream.address)).await;

    let request = post("/anthropic/v1/messages", "s1", &body(talk([])));
    let mut stream = connect(proxy.address, &request).await;
    read_until(&mut stream, b"content_block_stop\"").await;

    let hash = arguments_hash(r#"{ "description" : "look" }"#);
    let found = proxy.engine.issued(&Principal::local(), None, "branch_create", &hash).expect("a call that was seen");
    assert_eq!(found.0.as_str(), "s1");
    drop(stream);
    proxy.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_that_is_too_long_is_rescued_once_and_goes_again() {
    let refusal = r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9000 tokens > 4000 maximum"}}"#;
    let play = move |number| match number {
        1 => vec![whole("400 Bad Request", "Content-Type: application/json\r\n", refusal)],
        _ => vec![whole("200 OK", "Content-Type: application/json\r\n", ANSWER)],
    };
    let upstream = Upstream::start(play).await;
    let proxy = start_unshaped(settings(upstream.address)).await;
    let long: String = (0..600).map(|line| format!("{line}: the harbour is quiet\n")).collect();
    let first = talk(read("toolu_1", "/p/a", &long));
    say(&proxy, "s1", &body(first.clone())).await;
    let mut entries = first.as_array().expect("a list").clone();
    entries.extend(read("toolu_2", "/p/b", "short"));

    let answer = say(&proxy, "s1", &body(entries.into())).await;

    assert_eq!(answer.text(), ANSWER, "the client sees nothing of it");
    let requests = upstream.requests();
    assert_eq!(requests.len(), 3);
    let text = String::from_utf8(requests[2].body.clone()).expect("text");
    assert!(
        text.len() < requests[1].body.len() / 2 && text.contains("call mcp__infold__read_result with a ref_id"),
        "{text}"
    );
    assert!(text.contains("Look.") && text.contains("short"), "{text}");
    proxy.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reasoning_that_is_refused_goes_without_and_anything_else_is_the_clients_to_read() {
    let bound = r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0: `thinking` block signature is bound to a different conversation."}}"#;
    let play = move |number| match number {
        0 => vec![whole("400 Bad Request", "", bound)],
        1 => vec![whole(
            "400 Bad Request",
            "",
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"other"}}"#,
        )],
        _ => vec![whole("200 OK", "", ANSWER)],
    };
    let upstream = Upstream::start(play).await;
    let proxy = start(settings(upstream.address)).await;
    let mut entries = read("toolu_1", "/p/a", "words").to_vec();
    let thought = json!({"type": "thinking", "thinking": "hm", "signature": "sig"});
    entries[0]["content"].as_array_mut().expect("a list").insert(0, thought);

    let answer = say(&proxy, "s1", &body(talk(entries))).await;

    assert_eq!(answer.status, "HTTP/1.1 400 Bad Request");
    assert!(answer.text().contains("\"other\"") && answer.is_whole, "{answer:?}");
    let requests = upstream.requests();
    assert_eq!(requests.len(), 2);
    assert!(String::from_utf8_lossy(&requests[0].body).contains("signature"));
    assert!(!String::from_utf8_lossy(&requests[1].body).contains("signature"));
    proxy.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_placeholder_that_was_written_is_reported_and_a_refused_one_is_not() {
    let upstream = upstream().await;
    let proxy = start(settings(upstream.address)).await;
    let [mask] = proxy.engine.scrub([TOKEN.to_owned()]).await.expect("a placeholder");
    let mask = mask.as_str();
    let input = json!({"file_path": "/p/.env", "content": format!("TOKEN={mask}")});
    let written = call("toolu_1", "Write", input, json!("written"));
    say(&proxy, "s1", &body(talk(written.clone()))).await;
    say(&proxy, "s1", &body(talk(written.clone()))).await;
    let mut refused = written;
    refused[1]["content"][0]["is_error"] = true.into();
    say(&proxy, "s2", &body(talk(refused))).await;

    let texts: Vec<String> =
        upstream.requests().iter().map(|got| String::from_utf8_lossy(&got.body).into_owned()).collect();
    assert!(texts[0].contains(&format!("[infold: your last call to Write contained {mask}")), "{}", texts[0]);
    assert_eq!(texts[0], texts[1], "it is noted once, in the same place");
    assert!(!texts[2].contains("[infold: your last call"), "{}", texts[2]);
    proxy.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_without_ids_are_known_by_what_they_extend() {
    let upstream = upstream().await;
    let proxy = start(settings(upstream.address)).await;
    let first = talk(read("toolu_1", "/p/a", "words"));
    say(&proxy, "", &body(first.clone())).await;
    let mut entries = first.as_array().expect("a list").clone();
    entries.extend(read("toolu_2", "/p/b", "more"));
    say(&proxy, "", &body(entries.into())).await;
    say(&proxy, "", &body(talk(read("toolu_7", "/p/c", "other")))).await;
    let engine = proxy.engine.clone();
    proxy.close().await;

    let query = RequestQuery { session: None, selection: RequestSelection::Newest, limit: 10 };
    let rows = engine.requests(&Principal::local(), query).await.expect("rows");
    let sessions: Vec<&str> = rows.iter().map(|row| row.record.session.as_str()).collect();
    assert_eq!(sessions.len(), 3);
    assert_eq!(sessions[0], sessions[1]);
    assert_ne!(sessions[0], sessions[2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_in_every_encoding_are_metered_and_pass_as_they_came() {
    let gzip = {
        use std::io::Write;
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(ANSWER.as_bytes()).expect("memory");
        encoder.finish().expect("memory")
    };
    let zstd = zstd::encode_all(ANSWER.as_bytes(), 3).expect("memory");
    for (name, bytes) in [("gzip", gzip), ("zstd", zstd), ("snappy", b"???".to_vec())] {
        let headers = format!("Content-Type: application/json\r\nContent-Encoding: {name}\r\n");
        let upstream = Upstream::always(vec![whole("200 OK", &headers, &bytes)]).await;
        let proxy = start(settings(upstream.address)).await;
        let answer = say(&proxy, "s1", &body(talk([]))).await;
        assert_eq!(answer.body, bytes, "{name}");
        let engine = proxy.engine.clone();
        proxy.close().await;
        let query = RequestQuery { session: None, selection: RequestSelection::Newest, limit: 10 };
        let rows = engine.requests(&Principal::local(), query).await.expect("rows");
        let output_tokens = rows[0].record.usage.map(|usage| usage.output_tokens);
        assert_eq!(output_tokens, (name != "snappy").then_some(2), "{name}");
    }
}

/// A call with reasoning in front of it.
fn after_thought(mut entries: [Value; 2], thought: &str) -> [Value; 2] {
    let thought = json!({"type": "thinking", "thinking": "hm", "signature": thought});
    entries[0]["content"].as_array_mut().expect("a list").insert(0, thought);
    entries
}

/// A text that is long enough to be offloaded.
fn long() -> String {
    (0..2_000).map(|line| format!("{line}: the harbour is quiet\n")).collect()
}

async fn is_unknown(proxy: &Running, session: &str) -> bool {
    let session = SessionRef::by_id(session).expect("a name");
    proxy.engine.session(&Principal::local(), &session).await.is_err()
}

fn texts(upstream: &Upstream) -> Vec<String> {
    upstream.requests().iter().map(|got| String::from_utf8_lossy(&got.body).into_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn where_decisions_are_lost_reasoning_behind_them_goes_and_what_is_thought_since_stays() {
    let upstream = upstream().await;
    let proxy = start(settings(upstream.address)).await;
    let mut entries = read("toolu_1", "/p/a", &long()).to_vec();
    entries.extend(after_thought(read("toolu_2", "/p/b", "short"), "old-thought"));
    let first = body(talk(entries.clone()));
    exchange(proxy.address, &post("/anthropic/v1/messages/count_tokens", "s1", &first)).await;
    assert!(is_unknown(&proxy, "s1").await, "a count stores nothing");

    say(&proxy, "s1", &first).await;
    entries.extend(after_thought(read("toolu_3", "/p/c", "more"), "new-thought"));
    say(&proxy, "s1", &body(talk(entries))).await;

    let texts = texts(&upstream);
    for text in &texts {
        assert!(text.contains("1999: the harbour") && !text.contains("old-thought"), "{text}");
    }
    assert_eq!(texts[0], texts[1], "a count is of what is sent");
    assert!(texts[2].contains("new-thought"), "{}", texts[2]);
    proxy.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plain_request_keeps_its_bytes_and_waits_for_no_disk() {
    let go_on = Arc::new(Notify::new());
    let acts = vec![Act::Wait(Arc::clone(&go_on)), whole("200 OK", "Content-Type: application/json\r\n", ANSWER)];
    let mut upstream = Upstream::always(acts).await;
    let proxy = start(settings(upstream.address)).await;
    let mut entries = read("toolu_1", "/p/a", "short").to_vec();
    (2..5).for_each(|number| {
        entries.extend(after_thought(read(&format!("toolu_{number}"), "/p/b", &format!("part {number}")), "thought"));
    });
    let sent = body(talk(entries));
    let mut stream = connect(proxy.address, &post("/anthropic/v1/messages", "s1", &sent)).await;
    upstream.came.recv().await.expect("the request");
    assert_eq!(texts(&upstream), [sent]);
    assert!(is_unknown(&proxy, "s1").await, "nothing was stored before it went");
    go_on.notify_one();
    read_until(&mut stream, b"end_turn").await;
    drop(stream);
    proxy.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_with_a_picture_beside_its_texts_stays_whole() {
    let upstream = upstream().await;
    let proxy = start(settings(upstream.address)).await;
    let text = |text: &str| json!({"type": "text", "text": text});
    let content = json!([
        {"type": "search_result", "source": "s", "title": "t", "content": [text(&long()), text("and more")]},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}},
    ]);
    let sent = body(talk(call("toolu_1", "Read", json!({"file_path": "/p/a"}), content)));
    say(&proxy, "s1", &sent).await;
    assert_eq!(texts(&upstream), [sent]);
    proxy.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rescue_that_could_not_help_is_not_made() {
    let refusal = r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 90000 tokens > 4000 maximum"}}"#;
    let upstream = Upstream::always(vec![whole("400 Bad Request", "", refusal)]).await;
    let proxy = start_unshaped(settings(upstream.address)).await;
    let mut entries = read("toolu_1", "/p/a", &long()).to_vec();
    entries.push(json!({"role": "assistant", "content": "Quiet."}));
    entries.push(json!({"role": "user", "content": "I have a lot to say. ".repeat(5_000)}));
    let answer = say(&proxy, "s1", &body(talk(entries))).await;
    assert_eq!(answer.text(), refusal);
    assert_eq!(upstream.requests().len(), 1);
    assert!(is_unknown(&proxy, "s1").await, "nothing was offloaded in vain");
    proxy.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_goes_on_from_what_its_provider_holds_is_never_planned() {
    let refusal = r#"{"error":{"message":"no","type":"invalid_request_error","code":"invalid_encrypted_content"}}"#;
    let upstream = Upstream::always(vec![whole("400 Bad Request", "", refusal)]).await;
    let proxy = start(settings(upstream.address)).await;
    let sent = r#"{"model":"gpt-x","previous_response_id":"resp_1","prompt_cache_key":"s1","input":[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"x"}]}"#;
    let answer = exchange(proxy.address, &post("/openai/v1/responses", "", sent)).await;
    assert_eq!(answer.text(), refusal);
    assert_eq!(texts(&upstream), [sent]);
    assert!(is_unknown(&proxy, "s1").await);
    proxy.close().await;
}
