//! Branches over the API: opening, listing and returning from them.

use http::StatusCode;
use serde_json::{Value, json};

use crate::client::Api;
use crate::scrub::secret;

#[tokio::test]
async fn a_branch_is_opened_as_wished_within_bounds() {
    let api = Api::new();
    let wish = json!({
        "description": "find the bug",
        "prompt": "look in a.rs",
        "budget": u64::MAX,
        "timeout_seconds": u64::MAX,
        "parent_branch_id": "main",
    });
    let answer = api.post("/api/v1/sessions/s/branches", wish).await;
    assert_eq!(answer.status, StatusCode::CREATED);
    let opened = answer.json();
    let id = opened["branch_id"].as_str().unwrap();
    assert_eq!(answer.header("location"), Some(format!("/api/v1/branches/{id}").as_str()));
    assert_eq!((&opened["session_id"], &opened["parent_branch_id"]), (&json!("s"), &Value::Null));
    assert_eq!((&opened["depth"], &opened["budget_allocated"]), (&json!(1), &json!(32_768)));
    assert_eq!(opened["timeout_seconds"], 600);
    assert_eq!(opened["created_at"], "2025-01-17T10:30:00Z");
    assert_eq!(opened["expires_at"], "2025-01-17T10:40:00Z");
    let notes = ["budget was capped at 32768 tokens, the maximum", "timeout_seconds was capped at 600, the maximum"];
    assert_eq!(opened["notes"], json!(notes));
    assert_eq!(opened["context_state"]["active_branch_id"], id);

    let shown = api.get(&format!("/api/v1/branches/{id}")).await.json();
    assert_eq!((&shown["status"], &shown["prompt"]), (&json!("active"), &json!("look in a.rs")));
    assert_eq!((&shown["message"], &shown["completed_at"]), (&Value::Null, &Value::Null));
    assert_eq!(shown["budget_used"], shown["tokens"]);
}

#[tokio::test]
async fn a_return_hands_the_scrubbed_message_over_and_folds_what_lies_below() {
    let api = Api::new();
    let outer = api.open("outer").await;
    let inner = api.open("inner").await;
    api.pass_ms(60_000);
    let answer = api.fold(&outer, &format!("the key is {}", secret())).await;
    assert_eq!(answer.status, StatusCode::OK);
    assert!(!answer.text.contains(&secret()));
    let returned = answer.json();
    assert_eq!((&returned["success"], &returned["status"]), (&json!(true), &json!("completed")));
    assert_eq!(returned["folded_at"], "2025-01-17T10:31:00Z");
    assert_eq!(returned["folded_with_it"], json!([inner]));
    assert_eq!(returned["summary"]["secrets_scrubbed"], 1);
    assert_eq!(returned["context_state"]["active_branch_id"], Value::Null);

    let shown = api.get(&format!("/api/v1/branches/{outer}")).await.json();
    assert_eq!((&shown["message"], &shown["reason"]), (&returned["message"], &json!("returned")));
    assert_eq!(shown["completed_at"], "2025-01-17T10:31:00Z");
    let below = api.get(&format!("/api/v1/branches/{inner}")).await.json();
    assert_eq!(below["reason"], "parent returning");
}

#[tokio::test]
async fn a_branch_can_say_that_it_failed() {
    let api = Api::new();
    let branch = api.open("try it").await;
    let body = json!({ "message": "could not", "failed": true });
    let returned = api.post(&format!("/api/v1/branches/{branch}/return"), body).await.json();
    assert_eq!(returned["status"], "failed");
}

#[tokio::test]
async fn a_branch_whose_time_is_over_is_reported_in_the_next_answer() {
    let api = Api::new();
    let branch = api.open("slow").await;
    api.pass_ms(300_000);
    assert_eq!(api.get(&format!("/api/v1/branches/{branch}")).await.json()["status"], "timeout");
    let next = api.post("/api/v1/sessions/s/branches", json!({ "description": "next" })).await.json();
    let notice = &next["notices"][0];
    assert_eq!((&notice["branch_id"], &notice["status"]), (&json!(branch), &json!("timeout")));
    assert_eq!(notice["reason"], "timed out");
    let late = api.fold(&branch, "late").await;
    assert!(late.error().starts_with("409 branch_not_active: Cannot fold branch"), "{}", late.text);
}

#[tokio::test]
async fn branches_come_in_pages_in_the_order_they_were_opened() {
    let api = Api::new();
    let mut opened = Vec::new();
    for name in ["one", "two", "three"] {
        let branch = api.open(name).await;
        api.fold(&branch, "done").await;
        opened.push(branch);
    }
    let page = api.get("/api/v1/sessions/s/branches?offset=1&limit=1").await.json();
    assert_eq!(page["branches"][0]["branch_id"], opened[1]);
    assert_eq!((&page["total_branches"], &page["folded_branches"]), (&json!(3), &json!(3)));
    assert_eq!(page["next_offset"], 2);
}

#[tokio::test]
async fn a_branch_begins_with_what_its_caller_asks_for() {
    let api = Api::new();
    let open = |isolation: Value| {
        let wish = json!({ "description": "look", "isolation": isolation });
        api.post("/api/v1/sessions/s/branches", wish)
    };
    let opened = open(json!("inherit")).await.json();
    assert_eq!(opened["isolation"], "inherit");
    let id = opened["branch_id"].as_str().unwrap();
    assert_eq!(api.get(&format!("/api/v1/branches/{id}")).await.json()["isolation"], "inherit");
    assert_eq!(open(Value::Null).await.json()["isolation"], "isolated");
    let odd = open(json!("none")).await;
    assert!(odd.error().starts_with("400 invalid_input: isolation "), "{}", odd.text);
}

#[tokio::test]
async fn the_branch_that_works_now_need_not_be_named() {
    let api = Api::new();
    let outer = api.open("outer").await;
    let inner = api.open("inner").await;
    assert_eq!(api.get("/api/v1/sessions/s/branches/active").await.json()["branch_id"], inner);
    let returned = api.post("/api/v1/sessions/s/return", json!({ "message": "found" })).await.json();
    assert_eq!((&returned["branch_id"], &returned["parent_branch_id"]), (&json!(inner), &json!(outer)));
    let named = json!({ "message": "done", "branch_id": outer });
    assert_eq!(api.post("/api/v1/sessions/s/return", named).await.json()["branch_id"], outer);
    let none = api.get("/api/v1/sessions/s/branches/active").await;
    assert!(none.error().starts_with("404 no_active_branch"), "{}", none.text);
}

#[tokio::test]
async fn a_project_has_a_current_session_and_its_sessions_are_found() {
    let api = Api::new();
    let wish = json!({ "description": "look", "project_path": "/work/a/" });
    let opened = api.post("/api/v1/branches", wish.clone()).await.json();
    let again = api.post("/api/v1/branches", wish).await.json();
    assert_eq!(opened["session_id"], again["session_id"]);
    api.open("elsewhere").await;

    let list = api.get("/api/v1/sessions?project_path=/work/a").await.json();
    let ids: Vec<&Value> = list["sessions"].as_array().unwrap().iter().map(|session| &session["session_id"]).collect();
    assert_eq!(ids, [&opened["session_id"]]);
    let nowhere = api.post("/api/v1/branches", json!({ "description": "look" })).await;
    assert!(nowhere.error().starts_with("400 invalid_input: project_path or session_id"), "{}", nowhere.text);
    let two = json!({ "description": "look", "session_id": "other" });
    let two = api.post("/api/v1/sessions/s/branches", two).await;
    assert!(two.error().starts_with("400 invalid_input: session_id differs"), "{}", two.text);
}
