//! The `context_*` tools answer as their document says.

use serde_json::{Value, json};

use crate::testing::{Client, server, settings};
use crate::{ErrorStyle, Settings};

const PROJECT: &str = "/projects/project";

async fn branch(client: &mut Client, description: &str) -> Value {
    let arguments = json!({ "description": description, "prompt": "look closely", "project_path": PROJECT });
    client.answer("context_branch", arguments).await
}

#[tokio::test]
async fn a_project_has_one_current_session() {
    let fixture = server(settings());
    let mut client = Client::connect(&fixture).await;
    let first = branch(&mut client, "one").await;
    let second = branch(&mut client, "two").await;
    assert!(first["session_id"].as_str().unwrap().starts_with("sess_"), "{first}");
    assert_eq!(first["session_id"], second["session_id"]);
    assert_eq!(second["parent_branch_id"], first["branch_id"]);
    assert_eq!(second["context_state"]["active_branch_id"], second["branch_id"]);

    let arguments = json!({ "description": "d", "prompt": "p", "project_path": PROJECT, "session_id": "mine" });
    assert_eq!(client.answer("context_branch", arguments).await["session_id"], "mine");
}

#[tokio::test]
async fn returning_folds_the_active_branch_with_its_figures() {
    let fixture = server(settings());
    let mut client = Client::connect(&fixture).await;
    let opened = branch(&mut client, "one").await;
    let returned = client.answer("context_return", json!({ "message": "done", "project_path": PROJECT })).await;
    assert_eq!(returned["branch_id"], opened["branch_id"]);
    assert_eq!(returned["status"], "folded");
    assert_eq!(returned["message"], "done");
    let (state, summary) = (&returned["context_state"], &returned["summary"]);
    assert_eq!(state["active_branch_id"], Value::Null);
    let returned_tokens = state["main_thread_tokens"].as_u64().unwrap();
    let saved = summary["tokens_folded"].as_u64().unwrap() - returned_tokens;
    assert_eq!(summary["tokens_saved"], saved);
    assert_eq!(returned["context_health"]["warning"], "none");
}

#[tokio::test]
async fn the_status_adds_up() {
    let fixture = server(settings());
    let mut client = Client::connect(&fixture).await;
    let outer = branch(&mut client, "outer").await;
    let inner = branch(&mut client, "inner").await;
    let status = client.answer("context_branch_status", json!({ "project_path": PROJECT })).await;
    assert_eq!(status["branch_path"], json!(["main", outer["branch_id"], inner["branch_id"]]));
    assert_eq!(status["branch_depth"], 2);
    let tokens = |key: &Value| status["token_breakdown"][key.as_str().unwrap()].as_u64().unwrap();
    let sum = tokens(&json!("main_thread")) + tokens(&outer["branch_id"]) + tokens(&inner["branch_id"]);
    assert_eq!(tokens(&json!("total")), sum);
    assert_eq!(status["context_limit"], 32_768);
}

#[tokio::test]
async fn branches_are_listed_and_rolled_back_to() {
    let fixture = server(settings());
    let mut client = Client::connect(&fixture).await;
    let first = branch(&mut client, "first").await;
    client.answer("context_return", json!({ "message": "done", "project_path": PROJECT })).await;
    let second = branch(&mut client, "second").await;

    let list = client.answer("context_list_branches", json!({ "project_path": PROJECT })).await;
    assert_eq!(
        (&list["total_branches"], &list["active_branches"], &list["folded_branches"]),
        (&json!(2), &json!(1), &json!(1))
    );
    assert_eq!((&list["branches"][0]["status"], &list["branches"][1]["status"]), (&json!("folded"), &json!("active")));
    let page = client.answer("context_list_branches", json!({ "project_path": PROJECT, "limit": 1 })).await;
    assert_eq!((page["branches"].as_array().unwrap().len(), &page["next_offset"]), (1, &json!(1)));

    let back = json!({ "project_path": PROJECT, "branch_id": first["branch_id"], "restore_state": false });
    let would = client.answer("context_rollback", back).await;
    assert_eq!((&would["restored"], &would["branches_discarded"]), (&json!(false), &json!([second["branch_id"]])));
    let back = json!({ "project_path": PROJECT, "branch_id": first["branch_id"], "restore_state": true });
    let did = client.answer("context_rollback", back).await;
    assert_eq!(did["context_state"]["active_branch_id"], first["branch_id"]);
    assert_eq!(did["generation"], 2);
    let list = client.answer("context_list_branches", json!({ "project_path": PROJECT })).await;
    assert_eq!(list["discarded_branches"], 1);
}

#[tokio::test]
async fn refusals_are_json_rpc_errors_unless_settings_say_otherwise() {
    let fixture = server(settings());
    let mut client = Client::connect(&fixture).await;
    let opened = branch(&mut client, "one").await;
    let give = json!({ "message": "done", "project_path": PROJECT, "branch_id": opened["branch_id"] });
    client.answer("context_return", give.clone()).await;
    let error = client.call("context_return", give.clone()).await;
    assert_eq!(error["code"], -32003);
    assert_eq!(error["message"], "Cannot fold branch: branch is not active");
    assert_eq!(error["data"]["current_status"], "folded");

    let unknown = json!({ "message": "done", "project_path": PROJECT, "branch_id": "br_xyz" });
    let error = client.call("context_return", unknown.clone()).await;
    assert_eq!((&error["code"], &error["message"]), (&json!(-32602), &json!("Branch not found: br_xyz")));
    assert_eq!((&error["data"]["branch_id"], &error["data"]["session_id"]), (&json!("br_xyz"), &opened["session_id"]));

    let fixture = server(Settings { errors: ErrorStyle::Result, ..settings() });
    let mut client = Client::connect(&fixture).await;
    branch(&mut client, "one").await;
    let result = client.call("context_return", unknown).await;
    assert_eq!(result["isError"], true);
    assert_eq!(result.get("structuredContent"), None);
}
