//! Servers that name the calls of every answer alike, as some that imitate a provider do: each call keeps its own result,
//! its own branch and its own count.

use std::net::SocketAddr;

use axum::Router;
use axum::response::IntoResponse;
use axum::routing::post;
use infold_testkit::model::{Api, Received, Script};
use serde_json::{Value, json};

use super::scene::{ASKED, Scene, newest_words};

/// An answer of Chat Completions, as a stream.
fn streamed(text: &str, calls: &[(&str, Value)]) -> String {
    let calls: Vec<Value> = calls
        .iter()
        .enumerate()
        .map(|(at, (tool, input))| {
            let function = json!({"name": tool, "arguments": input.to_string()});
            json!({"index": at, "id": format!("call_{at}"), "type": "function", "function": function})
        })
        .collect();
    let end = if calls.is_empty() { "stop" } else { "tool_calls" };
    let delta = json!({"role": "assistant", "content": text, "tool_calls": calls});
    let piece = |delta: Value, end: Value| {
        json!({"id": "c", "object": "chat.completion.chunk", "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": end}]})
    };
    format!("data: {}\n\ndata: {}\n\ndata: [DONE]\n\n", piece(delta, Value::Null), piece(json!({}), json!(end)))
}

fn open(task: &str) -> (&'static str, Value) {
    ("branch_create", json!({"description": task, "prompt": format!("Do {task}.")}))
}

async fn answer(body: axum::Json<Value>) -> impl IntoResponse {
    let newest = newest_words(&Received::of(Api::Chat, body.0));
    let holds = |words: &str| newest.contains(words);
    let shell = |word: &str| vec![("shell", json!({"command": format!("echo heard in {word}")}))];
    let back = |word: &str| vec![("branch_return", json!({"message": format!("{word} is back")}))];
    let (text, calls) = match () {
        () if holds("Task: north") => ("", shell("north")),
        () if holds("Task: south") => ("", shell("south")),
        () if holds("Task: west") => ("", shell("west")),
        () if holds("heard in north") => ("", back("north")),
        () if holds("heard in south") => ("", back("south")),
        () if holds("heard in west") => ("", back("west")),
        () if holds("west is back") => ("All three are back.", Vec::new()),
        () if holds("north is back") && holds("south is back") => ("", vec![open("west")]),
        () if holds(ASKED) => ("", vec![open("north"), open("south")]),
        () => ("I am lost.", Vec::new()),
    };
    ([("content-type", "text/event-stream")], streamed(text, &calls))
}

/// A scene whose model is this server.
async fn with_server(router: Router) -> (Scene, tokio::task::JoinHandle<std::io::Result<()>>) {
    let listener = tokio::net::TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
    let upstream = format!("agent.upstream=http://{}", listener.local_addr().unwrap());
    let server = tokio::spawn(async move { axum::serve(listener, router).await });
    (Scene::start(Script::default()).await.set(&upstream), server)
}

/// Parts of a story, which are read one after another until the thread is compacted.
const PARTS: usize = 8;

async fn read_on(body: axum::Json<Value>) -> impl IntoResponse {
    let newest = newest_words(&Received::of(Api::Chat, body.0));
    let read = |part: usize| vec![("read", json!({"path": format!("part-{part}.txt")}))];
    let last_read = (0..PARTS).rev().find(|part| newest.contains(&format!("part {part} of the story")));
    let (text, calls) = match last_read {
        _ if newest.contains(ASKED) => ("", read(0)),
        _ if newest.contains("Once more.") => ("", read(PARTS - 1)),
        _ if newest.contains("after_tokens") => ("There is room.", Vec::new()),
        Some(part) if part + 1 < PARTS => ("", read(part + 1)),
        Some(_) => ("", vec![("compact_context", json!({}))]),
        None => ("I am lost.", Vec::new()),
    };
    ([("content-type", "text/event-stream")], streamed(text, &calls))
}

#[tokio::test]
async fn a_name_is_not_given_again_when_its_call_was_compacted_away_and_the_session_resumed() {
    let (scene, server) = with_server(Router::new().route("/v1/chat/completions", post(read_on))).await;
    // So little is kept that the first calls go too.
    let scene = scene.set("agent.compact_target=0.05");
    for part in 0..PARTS {
        let line = format!("part {part} of the story, in words that are only here\n");
        scene.write(&format!("part-{part}.txt"), &line.repeat(60));
    }
    let ran = scene.exec(&["--provider", "openai-chat", ASKED]).await;
    assert_eq!(ran.finished(0)["answer"], "There is room.", "{}", ran.stdout);
    assert_eq!(ran.of_kind("compacted").len(), 1);
    scene.exec(&["--resume", &ran.session(), "--turns", "2", "Once more."]).await.finished(5);

    let answered = scene.log().into_iter().filter(|record| record["happened"] == "answered");
    let entries = answered.flat_map(|record| record["entries"].as_array().unwrap().clone());
    let mut ids: Vec<String> =
        entries.filter(|entry| entry["kind"] == "call").map(|entry| entry["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(ids.len(), PARTS + 3);
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), PARTS + 3, "an id was given twice: {ids:?}");
    server.abort();
}

#[tokio::test]
async fn calls_of_one_name_keep_their_own_results_and_branches() {
    let (scene, server) = with_server(Router::new().route("/v1/chat/completions", post(answer))).await;
    let ran = scene.exec(&["--provider", "openai-chat", "--approval", "all", ASKED]).await;
    assert_eq!(ran.finished(0)["answer"], "All three are back.", "{}", ran.stdout);
    let mut folded: Vec<String> =
        ran.of_kind("branch_folded").iter().map(|event| event["result"].as_str().unwrap().to_owned()).collect();
    folded.sort();
    assert_eq!(folded, ["north is back", "south is back", "west is back"]);
    server.abort();
}
