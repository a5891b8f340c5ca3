//! Calls that the proxy saw a model make: the proxy knows the session and thread of such a call, and counts it.

use std::sync::atomic::{AtomicU64, Ordering};

use infold_core::{BranchId, Principal, SessionId, Thread};
use infold_engine::{IssuedCall, SessionRef, arguments_hash};
use serde_json::{Value, json};

use crate::testing::{Client, Fixture, server, settings};
use crate::{SessionFrom, Settings, ToolFamily};

fn behind_the_proxy() -> Fixture {
    server(Settings { families: vec![ToolFamily::Lean], session_from: SessionFrom::Proxy, ..settings() })
}

/// Lets the proxy see a model make a call.
fn see(fixture: &Fixture, session: &str, thread: &Thread, id: &str, tool: &str, arguments: &Value) {
    let call = IssuedCall {
        id: id.to_owned(),
        tool: format!("mcp__infold__{tool}"),
        arguments_hash: arguments_hash(&arguments.to_string()),
    };
    let session = SessionId::parse(session).unwrap();
    fixture.engine.calls_issued(&Principal::local(), &session, thread, vec![call]);
}

/// The model makes a call, the proxy sees it, and the client carries it out.
async fn made(fixture: &Fixture, client: &mut Client, thread: &Thread, tool: &str, arguments: Value) -> Value {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let id = format!("toolu_{}", NEXT.fetch_add(1, Ordering::Relaxed));
    see(fixture, "s1", thread, &id, tool, &arguments);
    client.answer(tool, arguments).await
}

fn thread_of(opened: &Value) -> Thread {
    Thread::Branch(BranchId::from_stored(opened["branch_id"].as_str().unwrap().to_owned()))
}

#[tokio::test]
async fn what_the_proxy_knows_better_need_not_be_said_and_is_not_listed() {
    let fixture = behind_the_proxy();
    let mut client = Client::connect(&fixture).await;
    let listed = client.request("tools/list", json!({})).await["result"]["tools"].clone();
    let names: Vec<&str> = listed.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["branch_create", "branch_return", "read_result", "compact_context"]);
    let takes = |at: usize| listed[at]["inputSchema"]["properties"].as_object().unwrap().keys().collect::<Vec<_>>();
    assert_eq!(takes(0), ["description", "prompt", "budget"]);
    assert_eq!(takes(1), ["branch_id", "message", "failed", "lessons", "memories_used"]);
    assert_eq!(listed[0]["inputSchema"]["required"], json!(["description"]));
    assert_eq!(listed[1]["inputSchema"]["required"], json!(["message"]));

    let opened = made(&fixture, &mut client, &Thread::Main, "branch_create", json!({ "description": "find it" })).await;
    assert_eq!(opened["session_id"], "s1");
    let inside = thread_of(&opened);
    let nested = made(&fixture, &mut client, &inside, "branch_create", json!({ "description": "look" })).await;
    assert_eq!((&nested["parent_branch_id"], &nested["depth"]), (&opened["branch_id"], &json!(2)));

    // A branch returns from itself, even if another branch is the active one.
    let returned = made(&fixture, &mut client, &inside, "branch_return", json!({ "message": "in a.rs" })).await;
    assert_eq!(returned["branch_id"], opened["branch_id"]);
}

#[tokio::test]
async fn siblings_of_one_message_open_under_the_thread_that_asked_for_them() {
    let fixture = behind_the_proxy();
    let mut client = Client::connect(&fixture).await;
    let first = made(&fixture, &mut client, &Thread::Main, "branch_create", json!({ "description": "a" })).await;
    // What the model says about the parent and the session is ignored: the proxy knows better.
    let arguments = json!({ "description": "b", "parent_branch_id": first["branch_id"], "session_id": "another" });
    let second = made(&fixture, &mut client, &Thread::Main, "branch_create", arguments).await;
    assert_eq!((&second["depth"], &second["session_id"]), (&json!(1), &json!("s1")));
    let view = fixture.engine.session(&Principal::local(), &SessionRef::by_id("s1").unwrap()).await.unwrap();
    let branch = |opened: &Value| &view.session.branches[thread_of(opened).branch().unwrap()];
    let turn_ms = branch(&second).deadline_ms - branch(&second).timeout_ms;
    assert_eq!(turn_ms, branch(&first).deadline_ms, "while it waits for its turn, its clock does not run");
    let inside = thread_of(&first);
    let status = made(&fixture, &mut client, &inside, "branch_status", json!({})).await;
    assert_eq!(status["branch_id"], first["branch_id"], "the one that asks");
}

#[tokio::test]
async fn a_call_that_was_seen_is_counted_by_whoever_saw_it() {
    let fixture = behind_the_proxy();
    let mut client = Client::connect(&fixture).await;
    let opened = made(&fixture, &mut client, &Thread::Main, "branch_create", json!({ "description": "a" })).await;
    let inside = thread_of(&opened);
    let first = made(&fixture, &mut client, &inside, "branch_status", json!({})).await;
    let second = made(&fixture, &mut client, &inside, "branch_status", json!({})).await;
    assert_eq!(first["budget_used"], second["budget_used"]);
    let unseen = json!({ "branch_id": opened["branch_id"] });
    client.answer("branch_status", unseen.clone()).await;
    let after = client.answer("branch_status", unseen).await;
    assert!(after["budget_used"].as_u64() > second["budget_used"].as_u64(), "one that nobody saw is counted here");
}

#[tokio::test]
async fn a_call_that_nobody_saw_and_that_names_no_session_is_refused_with_advice() {
    let fixture = behind_the_proxy();
    let mut client = Client::connect(&fixture).await;
    let refused = client.call("branch_create", json!({ "description": "a" })).await;
    assert_eq!(refused["isError"], true);
    let text = refused["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("infold did not see a model make this call") && text.contains("infold run"), "{text}");
    // A caller that names a session is served as usual.
    let opened = client.answer("branch_create", json!({ "description": "a", "session_id": "s2" })).await;
    assert_eq!(opened["session_id"], "s2");
}

#[tokio::test]
async fn context_tools_belong_where_they_were_seen_too() {
    let fixture = server(settings());
    let mut client = Client::connect(&fixture).await;
    let arguments = json!({ "description": "d", "prompt": "p", "project_path": "/projects/a" });
    let opened = made(&fixture, &mut client, &Thread::Main, "context_branch", arguments).await;
    assert_eq!(opened["session_id"], "s1");
    let inside = thread_of(&opened);
    let folded = made(&fixture, &mut client, &inside, "context_return", json!({ "message": "done" })).await;
    assert_eq!(folded["branch_id"], opened["branch_id"]);
    let ended = made(&fixture, &mut client, &Thread::Main, "session_end", json!({})).await;
    assert_eq!(ended["session_id"], "s1");
}

#[tokio::test]
async fn a_branch_can_begin_with_its_parents_conversation_and_its_answer_says_so() {
    let fixture = server(settings());
    let mut client = Client::connect(&fixture).await;
    let create = |isolation: Value| json!({ "session_id": "s1", "description": "d", "isolation": isolation });
    assert_eq!(client.answer("branch_create", create(json!("inherit"))).await["isolation"], "inherit");
    assert_eq!(client.answer("branch_create", create(Value::Null)).await.get("isolation"), None);
    let refused = client.call("branch_create", create(json!("halfway"))).await;
    assert!(refused["content"][0]["text"].as_str().unwrap().contains("isolation must be isolated or inherit"));
}
