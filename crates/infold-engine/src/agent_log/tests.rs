//! Logs of infold's own agent, its results, and requests of threads that it names.

use std::time::Instant;

use bytes::Bytes;
use infold_core::view::RequestKind;
use infold_core::{EndReason, SessionId, Thread};
use infold_wire::request::Api;
use serde_json::{Value, json};

use crate::tests::{Bench, code, open, settings};
use crate::{ModelRequest, OwnResult, OwnThread, Purpose, ReadyRequest, ResultRoom, SearchedBody};

const SECRET: &str = "ghp_1234567890abcdefghijklmnopqrstuvwxyzAB";

fn session() -> SessionId {
    SessionId::parse("agent-1").unwrap()
}

fn of(thread: Thread) -> OwnThread {
    OwnThread { session: session(), thread, kind: RequestKind::Turn, window_tokens: 200_000 }
}

fn printed(call_id: &str, text: &str) -> OwnResult {
    let arguments = r#"{"command":"make"}"#.to_owned();
    OwnResult {
        call_id: call_id.to_owned(),
        tool: "shell".to_owned(),
        arguments,
        text: text.to_owned(),
        room: ResultRoom::Usual,
    }
}

/// A request with one call and its result, and the tool that reads results back.
fn request(bench: &Bench, thread: Thread, result: &str) -> ModelRequest {
    let body = json!({
        "model": "claude-opus-4-6",
        "max_tokens": 100,
        "tools": [{ "name": "read_result", "input_schema": { "type": "object" } }],
        "messages": [
            { "role": "user", "content": "build it" },
            { "role": "assistant", "content": [{ "type": "tool_use", "id": "toolu_1", "name": "shell", "input": {} }] },
            { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "toolu_1", "content": result }] },
        ],
    });
    ModelRequest {
        who: bench.who.clone(),
        api: Api::Messages,
        headers: Vec::new(),
        body: Bytes::from(body.to_string()),
        arrived: Instant::now(),
        purpose: Purpose::Send,
        searched: SearchedBody::default(),
        thread: Some(of(thread)),
    }
}

#[tokio::test]
async fn what_is_appended_is_returned_and_read_back_without_its_secrets() {
    let bench = Bench::new(settings());
    let record = json!({ "kind": "user", "text": format!("push with {SECRET}"), "signature": "QUJD+/==" });

    let stored = bench.engine.append_agent_log(&bench.who, &session(), 0, &[record]).await.unwrap();
    let read = bench.engine.agent_log(&bench.who, &session(), 0).await.unwrap();

    assert_eq!(read.iter().map(|record| record.record.clone()).collect::<Vec<Value>>(), stored);
    assert!(stored[0]["text"].as_str().unwrap().starts_with("push with [SECRET:github-pat:"), "{stored:?}");
    assert_eq!(stored[0]["signature"], "QUJD+/==");
}

#[tokio::test]
async fn of_two_who_work_in_one_session_the_later_one_is_refused() {
    let bench = Bench::new(settings());
    bench.engine.append_agent_log(&bench.who, &session(), 0, &[json!("one")]).await.unwrap();

    let other = bench.another(settings());
    let late = other.append_agent_log(&bench.who, &session(), 0, &[json!("other")]).await;

    assert_eq!(code(late), "session_busy");
    assert_eq!(bench.engine.agent_log(&bench.who, &session(), 0).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_long_result_is_offloaded_at_once_and_the_request_sends_what_the_log_has() {
    let bench = Bench::new(settings());
    let long: String = (0..4_000).map(|line| format!("line {line} of the build\n")).collect();

    let taken = bench.engine.take_in_own(&bench.who, &of(Thread::Main), printed("toolu_1", &long)).await.unwrap();

    assert!(taken.shown.starts_with("[Tool result stored"), "{}", taken.shown);
    assert!(taken.ref_id.is_some());
    let asked = request(&bench, Thread::Main, &taken.shown);
    let ready = bench.engine.prepare(&asked).await.unwrap();
    let ReadyRequest::Turn(prepared) = ready else { panic!("it is a turn") };
    assert_eq!(prepared.body, asked.body, "nothing is left to edit");
}

#[tokio::test]
async fn results_of_a_named_branch_count_in_it_and_a_request_after_its_end_says_so() {
    let bench = Bench::new(settings());
    let opened = bench.engine.open_branch(&bench.who, open("agent-1")).await.unwrap();
    let branch = Thread::Branch(opened.branch_id.clone());
    bench.engine.take_in_own(&bench.who, &of(branch.clone()), printed("toolu_1", "all is well")).await.unwrap();
    let used_tokens = bench.view(opened.branch_id.as_str()).await.branch.used_tokens;
    let asked = request(&bench, branch.clone(), "all is well");
    assert!(matches!(bench.engine.prepare(&asked).await.unwrap(), ReadyRequest::Turn(_)));
    assert_eq!(bench.view(opened.branch_id.as_str()).await.branch.used_tokens, used_tokens, "it is counted once");

    bench.pass(601_000);
    let asked = request(&bench, branch, "all is well");
    let late = bench.engine.prepare(&asked).await.unwrap();

    let ReadyRequest::Over(ended) = late else { panic!("the branch is over") };
    assert_eq!((ended.branch, ended.reason), (opened.branch_id, EndReason::TimedOut));
}

#[tokio::test]
async fn a_branch_that_is_open_beside_a_named_thread_is_not_taken_for_lost() {
    let bench = Bench::new(settings());
    let opened = bench.engine.open_branch(&bench.who, open("agent-1")).await.unwrap();

    let asked = request(&bench, Thread::Main, "all is well");
    bench.engine.prepare(&asked).await.unwrap();

    assert!(bench.view(opened.branch_id.as_str()).await.branch.is_open());
}
