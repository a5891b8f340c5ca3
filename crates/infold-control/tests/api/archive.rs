//! Ended branches over the API: their list, and all that happened in each.

use http::StatusCode;
use serde_json::{Value, json};

use crate::client::{Api, bare, somebody};

fn types(trajectory: &Value) -> Vec<&str> {
    trajectory["steps"].as_array().unwrap().iter().map(|step| step["event"]["type"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn ended_branches_are_listed_newest_first_and_by_session() {
    let api = Api::new();
    let first = api.open("first").await;
    api.fold(&first, "one").await;
    api.pass_ms(1_000);
    let second = api.open("second").await;
    api.fold(&second, "two").await;

    let list = api.get("/api/v1/archive").await.json();
    let ids: Vec<_> = list["branches"].as_array().unwrap().iter().map(|one| one["branch_id"].clone()).collect();
    assert_eq!(ids, [second.as_str(), first.as_str()]);
    let page = api.get("/api/v1/archive?session_id=s&limit=1").await.json();
    assert_eq!((page["branches"].as_array().unwrap().len(), &page["next_offset"]), (1, &json!(1)));
    assert_eq!(api.get("/api/v1/archive?session_id=t").await.json()["branches"], json!([]));
    let other = api.send(somebody("other"), bare("GET", "/api/v1/archive")).await;
    assert_eq!(other.json()["branches"], json!([]));
}

#[tokio::test]
async fn a_trajectory_is_everything_that_happened_in_a_branch() {
    let api = Api::new();
    let branch = api.open("look").await;
    let result = json!({ "tool_name": "read_file", "content": "fn main" });
    api.post("/api/v1/sessions/s/results", result).await;
    api.fold(&branch, "it is in a.rs").await;

    let trajectory = api.get(&format!("/api/v1/archive/{branch}")).await.json();
    assert_eq!(trajectory["branch"]["message"], "it is in a.rs");
    assert_eq!(types(&trajectory), ["branch.created", "branch.activated", "operation.completed", "branch.folded"]);
    assert_eq!(trajectory["steps"][2]["event"]["result"], "fn main");
    assert_eq!(trajectory["steps"][0]["at"], "2025-01-17T10:30:00Z");
}

#[tokio::test]
async fn each_generation_of_a_branch_has_its_own_end() {
    let api = Api::new();
    let branch = api.open("look").await;
    api.fold(&branch, "first try").await;
    api.post("/api/v1/sessions/s/rollback", json!({ "branch_id": branch })).await;
    api.fold(&branch, "second try").await;

    let path = format!("/api/v1/archive/{branch}");
    assert_eq!(api.get(&path).await.json()["branch"]["message"], "second try");
    let first = api.get(&format!("{path}?generation=1")).await.json();
    assert_eq!((&first["branch"]["message"], &first["branch"]["generation"]), (&json!("first try"), &json!(1)));
    let absent = api.get(&format!("{path}?generation=3")).await;
    assert!(absent.error().starts_with("404 branch_not_found: "), "{}", absent.text);
}

#[tokio::test]
async fn a_branch_that_is_open_is_not_in_the_archive() {
    let api = Api::new();
    let branch = api.open("look").await;
    assert_eq!(api.get(&format!("/api/v1/archive/{branch}")).await.status, StatusCode::NOT_FOUND);
}
