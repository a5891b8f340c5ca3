//! Streams against a scripted model, and against a server that repeats the key.

use bytes::Bytes;
use infold_engine::AskFault;
use infold_testkit::model::{Fault, Model, Script, Step};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::OwnStream;
use crate::{OwnKey, OwnSettings, OwnWay, Provider, Tunnels, Upstream};

const KEY: &str = "sk-scripted-key";

fn way(api: Provider, base_url: &str, key: OwnKey) -> OwnWay {
    OwnWay {
        api,
        upstream: Upstream::parse(base_url).unwrap(),
        key,
        settings: OwnSettings { model: "agent.model", upstream: "agent.upstream", key: "agent.key_env" },
        tunnels: Tunnels::none(),
        connect_timeout_ms: 5_000,
        timeout_ms: 60_000,
        answer_bytes_max: 1 << 20,
    }
}

fn body() -> Bytes {
    let messages = json!([{"role": "user", "content": "go"}]);
    Bytes::from(json!({"model": "m", "stream": true, "tools": [{"name": "read"}], "messages": messages}).to_string())
}

async fn read(stream: &OwnStream, path: &str) -> (u16, Option<u64>, String, Option<AskFault>) {
    let mut answer = stream.post(path, body()).await.unwrap();
    let (mut text, mut fault) = (String::new(), None);
    while let Some(piece) = answer.next().await {
        match piece {
            Ok(piece) => text.push_str(std::str::from_utf8(&piece).unwrap()),
            Err(found) => fault = Some(found),
        }
    }
    (answer.status, answer.retry_after_ms, text, fault)
}

#[tokio::test]
async fn an_answer_comes_whole_and_the_key_goes_in_the_way_of_its_api() {
    let model = Model::start(Script::new([Step::text("one"), Step::text("two"), Step::text("three")])).await.unwrap();
    let ways = [
        (Provider::Anthropic, OwnKey::Key(KEY.to_owned()), "/v1/messages", "message_stop"),
        (Provider::OpenAi, OwnKey::Key(KEY.to_owned()), "/v1/chat/completions", "[DONE]"),
        (Provider::OpenAi, OwnKey::Nothing, "/v1/chat/completions", "[DONE]"),
    ];
    for (api, key, path, end) in ways {
        let stream = OwnStream::new(way(api, model.base_url(), key), 5_000);
        let (status, retry_after_ms, text, fault) = read(&stream, path).await;
        assert_eq!((status, retry_after_ms, fault), (200, None, None));
        assert!(text.contains(end), "{text}");
    }
    let requests = model.requests();
    assert_eq!(requests[0].header("x-api-key"), Some(KEY));
    assert_eq!(requests[0].header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(requests[1].header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    assert_eq!((requests[2].header("authorization"), requests[2].header("x-api-key")), (None, None));
    assert_eq!(requests[0].bytes, body());
}

#[tokio::test]
async fn a_compressed_answer_is_unpacked() {
    let model = Model::start(Script::new([Step::failing(Fault::Gzip)])).await.unwrap();
    let stream = OwnStream::new(way(Provider::Anthropic, model.base_url(), OwnKey::Nothing), 5_000);
    let (_, _, text, fault) = read(&stream, "/v1/messages").await;
    assert_eq!(fault, None);
    assert!(text.contains("message_stop"));
}

#[tokio::test]
async fn a_refusal_has_its_status_and_its_wait() {
    let model = Model::start(Script::new([Step::failing(Fault::status_after(429, 7))])).await.unwrap();
    let stream = OwnStream::new(way(Provider::Anthropic, model.base_url(), OwnKey::Key(KEY.to_owned())), 5_000);
    let (status, retry_after_ms, text, fault) = read(&stream, "/v1/messages").await;
    assert_eq!((status, retry_after_ms, fault), (429, Some(7_000), None));
    assert!(text.contains("rate_limit_error"));
}

#[tokio::test]
async fn an_answer_that_breaks_off_or_falls_silent_ends_with_a_fault() {
    let steps = [Step::failing(Fault::CutAfter { bytes: 40 }), Step::failing(Fault::StallAfter { bytes: 40 })];
    let model = Model::start(Script::new(steps)).await.unwrap();
    let stream = OwnStream::new(way(Provider::Anthropic, model.base_url(), OwnKey::Nothing), 200);
    for problem in ["broke off", "said nothing for 200 ms"] {
        let (_, _, text, fault) = read(&stream, "/v1/messages").await;
        assert!(text.starts_with("event: message_start"), "{text}");
        assert!(fault.as_ref().is_some_and(|fault| fault.problem().contains(problem)), "{fault:?}");
    }
    model.until_abandoned(1).await;
}

#[tokio::test]
async fn what_is_not_set_or_not_there_is_said() {
    let unset = OwnKey::Unset { variable: "MY_KEY".to_owned() };
    let stream = OwnStream::new(way(Provider::OpenAi, "http://127.0.0.1:1", unset), 5_000);
    let fault = stream.post("/v1/responses", body()).await.err().unwrap();
    assert!(
        matches!(&fault, AskFault::Unusable(problem) if problem.contains("MY_KEY") && problem.contains("agent.key_env"))
    );
    let stream = OwnStream::new(way(Provider::OpenAi, "http://127.0.0.1:1", OwnKey::Nothing), 5_000);
    assert!(matches!(stream.post("/api/chat", body()).await.err(), Some(AskFault::Busy { .. })));
}

#[tokio::test]
async fn a_key_that_a_refusal_repeats_is_left_out_however_it_is_cut() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut request = vec![0; 4096];
        let _ = socket.read(&mut request).await.unwrap();
        let said = format!("{{\"error\":{{\"message\":\"no such key: {KEY}\"}}}}");
        let head = format!("HTTP/1.1 401 Unauthorized\r\ncontent-length: {}\r\n\r\n", said.len());
        socket.write_all(head.as_bytes()).await.unwrap();
        for byte in said.as_bytes() {
            socket.write_all(&[*byte]).await.unwrap();
            socket.flush().await.unwrap();
        }
        socket
    });
    let stream = OwnStream::new(way(Provider::OpenAi, &base_url, OwnKey::Key(KEY.to_owned())), 5_000);
    let (status, _, text, fault) = read(&stream, "/v1/responses").await;
    assert_eq!((status, fault), (401, None));
    assert_eq!(text, "{\"error\":{\"message\":\"no such key: …\"}}");
    drop(server.await.unwrap());
}
