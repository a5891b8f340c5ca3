//! The table of tools, and each tool called over the protocol.

mod context;
mod forking;
mod mistakes;
mod proxied;
mod reading;

use rmcp::model::Tool;
use serde_json::{Value, json};

use super::OwnTool;
use infold_testkit::documented_limits;

use crate::testing::{Client, server, settings};
use crate::tools::definition;
use crate::tools::is_listed;
use crate::tools::listed;
use crate::{SessionFrom, Settings, ToolFamily};

#[test]
fn the_table_is_what_clients_see() {
    let tools: Vec<_> = OwnTool::ALL.into_iter().map(|tool| definition(tool, &documented_limits())).collect();
    insta::assert_json_snapshot!("tools_list", tools);
}

#[test]
fn every_tool_has_a_title_annotations_and_both_schemas() {
    for tool in OwnTool::ALL {
        let definition = definition(tool, &documented_limits());
        assert_eq!(definition.name, tool.name());
        assert_eq!(OwnTool::named(tool.name()), Some(tool));
        assert!(definition.title.is_some() && definition.annotations.is_some(), "{}", definition.name);
        assert_eq!(definition.input_schema["additionalProperties"], json!(false));
        assert!(!definition.input_schema.contains_key("anyOf"), "{}", definition.name);
        assert_eq!(definition.output_schema.unwrap()["type"], json!("object"));
    }
}

/// Tokens of what a client sends along with every request: names, descriptions and what tools take.
fn tokens(tools: impl Iterator<Item = Tool>) -> usize {
    let encoding = tiktoken::get_encoding("o200k_base").unwrap();
    let sent = tools
        .map(|tool| json!({ "name": tool.name, "description": tool.description, "input_schema": tool.input_schema }));
    sent.map(|tool| encoding.encode(&tool.to_string()).len()).sum()
}

#[test]
fn what_is_paid_for_in_every_request_stays_small() {
    let lean = OwnTool::ALL.into_iter().filter(|tool| is_listed(*tool, &[ToolFamily::Branch]));
    let whole = |tool: OwnTool| definition(tool, &documented_limits());
    let (lean, all) = (tokens(lean.map(whole)), tokens(OwnTool::ALL.into_iter().map(whole)));
    assert!(lean <= 932 && all <= 2_512, "the branch family has {lean} tokens, all have {all}");
    let shown = OwnTool::ALL.into_iter().filter(|tool| is_listed(*tool, &[ToolFamily::Lean]));
    let behind = tokens(shown.clone().map(|tool| listed(tool, &documented_limits(), SessionFrom::Proxy)));
    let lean: Vec<Tool> = shown.clone().map(|tool| listed(tool, &documented_limits(), SessionFrom::Proxy)).collect();
    let bytes = json!(lean).to_string().len();
    assert!(bytes <= 5_858, "behind the proxy the list has {bytes} bytes");
    let words = crate::instructions::text(SessionFrom::Proxy);
    let taught = tiktoken::get_encoding("o200k_base").unwrap().encode(words).len();
    assert!(
        behind <= 640 && behind + taught <= 895,
        "behind the proxy {behind} tokens are listed, {taught} are taught"
    );
}

#[tokio::test]
async fn settings_choose_what_is_listed_and_everything_can_be_called() {
    let fixture = server(Settings { families: vec![ToolFamily::Branch], ..settings() });
    let mut client = Client::connect(&fixture).await;
    let listed = client.request("tools/list", json!({})).await;
    let names: Vec<&str> =
        listed["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["branch_create", "branch_return", "branch_status", "read_result", "compact_context"]);

    let opened = client
        .answer("context_branch", json!({ "description": "d", "prompt": "p", "project_path": "/projects/a" }))
        .await;
    assert_eq!(opened["branch_depth"], 1);
}

#[tokio::test]
async fn a_branch_is_opened_looked_at_and_folded() {
    let fixture = server(settings());
    let mut client = Client::connect(&fixture).await;

    let opened = client
        .answer("branch_create", json!({ "session_id": "s1", "description": "find it", "prompt": "where is it?" }))
        .await;
    assert_eq!(opened["budget_allocated"], 8_192);
    assert_eq!(opened["depth"], 1);
    assert_eq!(opened["parent_branch_id"], Value::Null);

    let status = client.answer("branch_status", json!({ "session_id": "s1" })).await;
    assert_eq!(status["branch_id"], opened["branch_id"]);
    assert_eq!(status["status"], "active");
    let again = client.answer("branch_status", json!({ "branch_id": opened["branch_id"] })).await;
    assert!(again["budget_used"].as_u64() > status["budget_used"].as_u64(), "the usage grows: {again}");

    let message = "It is in a.rs:40. Token: ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    let returned =
        client.answer("branch_return", json!({ "branch_id": opened["branch_id"], "message": message })).await;
    assert_eq!(returned["success"], true);
    assert_eq!(returned["status"], "completed");
    assert!(returned["tokens_used"].as_u64().unwrap() > 0);
    let given_back = returned["message"].as_str().unwrap();
    assert!(given_back.starts_with("It is in a.rs:40.") && !given_back.contains("ghp_"), "{given_back}");

    let none = client.answer("branch_status", json!({ "session_id": "s1" })).await;
    assert_eq!(none, json!({ "branch_id": null, "status": "No active branch found" }));
}

#[tokio::test]
async fn wishes_over_the_maximum_are_capped_and_the_answer_says_so() {
    let fixture = server(settings());
    let mut client = Client::connect(&fixture).await;
    let arguments = json!({ "session_id": "s1", "description": "d", "budget": 1e9, "timeout_seconds": 100_000 });
    let opened = client.answer("branch_create", arguments).await;
    assert_eq!(opened["budget_allocated"], 32_768);
    assert_eq!(opened["timeout_seconds"], 600);
    assert_eq!(opened["notes"].as_array().unwrap().len(), 2, "{opened}");
}

#[tokio::test]
async fn parent_main_makes_a_sibling_and_a_failed_branch_says_so() {
    let fixture = server(settings());
    let mut client = Client::connect(&fixture).await;
    let create = |parent: Value| json!({ "session_id": "s1", "description": "d", "parent_branch_id": parent });
    let first = client.answer("branch_create", create(Value::Null)).await;
    let sibling = client.answer("branch_create", create(json!("main"))).await;
    let nested = client.answer("branch_create", create(sibling["branch_id"].clone())).await;
    assert_eq!((&first["depth"], &sibling["depth"], &nested["depth"]), (&json!(1), &json!(1), &json!(2)));

    let returned = client
        .answer("branch_return", json!({ "branch_id": sibling["branch_id"], "message": "no luck", "failed": true }))
        .await;
    assert_eq!(returned["status"], "failed");
    assert_eq!(returned["folded_with_it"], json!([nested["branch_id"]]));
}

#[tokio::test]
async fn the_same_key_gives_the_same_answer() {
    let fixture = server(settings());
    let mut client = Client::connect(&fixture).await;
    let by_argument = json!({ "session_id": "s1", "description": "d", "idempotency_key": "k1" });
    let first = client.answer("branch_create", by_argument.clone()).await;
    assert_eq!(client.answer("branch_create", by_argument).await, first);

    let by_meta = json!({
        "name": "branch_create",
        "arguments": { "session_id": "s1", "description": "d" },
        "_meta": { "infold/idempotencyKey": "k1" },
    });
    let third = client.request("tools/call", by_meta).await;
    assert_eq!(third["result"]["structuredContent"], first);
}

#[tokio::test]
async fn answers_carry_the_context_in_meta() {
    let fixture = server(settings());
    let mut client = Client::connect(&fixture).await;
    let result = client.call("branch_create", json!({ "session_id": "s1", "description": "d" })).await;
    let state = &result["_meta"]["infold/contextState"];
    assert_eq!(state["session_id"], "s1");
    assert_eq!(state["active_branch_id"], result["structuredContent"]["branch_id"]);
    assert_eq!(state["branch_depth"], 1);
}

#[tokio::test]
async fn ending_a_session_folds_what_is_open_and_reports_progress() {
    let fixture = server(settings());
    let mut client = Client::connect(&fixture).await;
    for _ in 0..3 {
        client.answer("branch_create", json!({ "session_id": "s1", "description": "d" })).await;
    }
    let call = json!({ "name": "session_end", "arguments": { "session_id": "s1" }, "_meta": { "progressToken": "p" } });
    let mut seen = client.request_with_news("tools/call", call).await;
    let ended = seen.pop().unwrap()["result"]["structuredContent"].clone();
    assert_eq!(ended["branches_folded"].as_array().unwrap().len(), 3, "{ended}");
    assert_eq!(ended["branches_failed"], json!([]));
    let last = seen.last().expect("progress was reported");
    assert_eq!(last["method"], "notifications/progress");
    assert_eq!((&last["params"]["progress"], &last["params"]["total"]), (&json!(3.0), &json!(3.0)));

    let refused = client.call("branch_create", json!({ "session_id": "s1", "description": "d" })).await;
    assert_eq!(refused["isError"], true);
    assert!(refused["content"][0]["text"].as_str().unwrap().contains("session_over"), "{refused}");
}
