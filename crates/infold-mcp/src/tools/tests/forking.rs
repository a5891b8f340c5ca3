//! `context_fork`, over the protocol.

use serde_json::{Value, json};

use crate::testing::{Client, server, settings};

const PROJECT: &str = "/projects/project";

/// A project whose session has opened a branch and folded it.
async fn work(client: &mut Client) -> Value {
    let brief = json!({ "description": "find it", "prompt": "look", "project_path": PROJECT });
    let opened = client.answer("context_branch", brief).await;
    client.answer("context_return", json!({ "message": "it is in a.rs", "project_path": PROJECT })).await;
    opened["session_id"].clone()
}

#[tokio::test]
async fn the_projects_session_is_forked_and_the_child_is_read_with_read_result() {
    let fixture = server(settings());
    let mut client = Client::connect(&fixture).await;
    let session = work(&mut client).await;
    let result = client.call("context_fork", json!({ "project_path": PROJECT, "prompt": "go on" })).await;
    let forked = &result["structuredContent"];
    assert_eq!(forked["parent_session_id"], session);
    assert_ne!(forked["session_id"], session);
    assert_eq!(result["_meta"]["infold/contextState"]["session_id"], session);
    assert!(forked["next"].as_str().unwrap().contains("read_result"), "{forked}");

    let read = client.answer("read_result", json!({ "ref_id": forked["context"]["ref_id"] })).await;
    let context = read["content"].as_str().unwrap();
    assert!(context.contains("it is in a.rs"), "{context}");
    assert_eq!(forked["context"]["chars"], context.chars().count());
    assert_eq!(read["tool_name"], "context_fork");
}

#[tokio::test]
async fn a_transcript_makes_a_child_where_there_is_no_parent() {
    let fixture = server(settings());
    let mut client = Client::connect(&fixture).await;
    let transcript = json!([{ "role": "user", "content": "hello" }, { "role": "assistant", "content": "good day" }]);
    let arguments = json!({ "project_path": PROJECT, "transcript": transcript, "new_session_id": "child" });
    let result = client.call("context_fork", arguments).await;
    let forked = &result["structuredContent"];
    assert_eq!((&forked["session_id"], &forked["parent_session_id"]), (&json!("child"), &Value::Null));
    assert_eq!(forked["stats"]["originalCount"], 2);
    assert_eq!(result["_meta"]["infold/contextState"]["session_id"], "child");
}

#[tokio::test]
async fn what_cannot_be_forked_is_refused_with_invalid_params() {
    let fixture = server(settings());
    let mut client = Client::connect(&fixture).await;
    for (arguments, message) in [
        (json!({ "project_path": PROJECT }), "Session not found: the current one of /projects/project"),
        (
            json!({ "project_path": PROJECT, "format": "openai" }),
            "format goes with a transcript: pass one, or leave format out",
        ),
        (json!({ "project_path": PROJECT, "transcript": [] }), "transcript is empty: send at least one message"),
    ] {
        let error = client.call("context_fork", arguments).await;
        assert_eq!((&error["code"], &error["message"]), (&json!(-32602), &json!(message)));
    }
}
