//! Sessions over the API: how they are listed, shown, ended and rolled back.

use http::StatusCode;
use serde_json::{Value, json};

use crate::client::{Api, bare, somebody};

#[tokio::test]
async fn a_session_is_listed_and_shown_with_its_branches() {
    let api = Api::new();
    let outer = api.open("outer").await;
    api.pass_ms(1_500);
    let inner = api.open("inner").await;

    let list = api.get("/api/v1/sessions").await.json();
    let session = &list["sessions"][0];
    assert_eq!(session["session_id"], "s");
    assert_eq!(session["status"], "active");
    assert_eq!(session["created_at"], "2025-01-17T10:30:00Z");
    assert_eq!(session["last_active_at"], "2025-01-17T10:30:01.5Z");
    assert_eq!(session["active_branch_id"], inner);
    assert_eq!((&session["total_branches"], &session["active_branches"]), (&json!(2), &json!(2)));
    assert_eq!((&session["context_tokens"], &session["window_tokens"]), (&json!(0), &json!(32_768)));
    assert_eq!((&session["saved_tokens"], &session["request_totals"]), (&Value::Null, &Value::Null));

    let shown = api.get("/api/v1/sessions/s").await.json();
    assert_eq!(shown["branch_path"], json!(["main", outer, inner]));
    assert_eq!(shown["context_limit"], 32_768);
    assert_eq!(shown["context_state"]["branch_depth"], 2);
    assert_eq!(shown["context_health"], json!({ "warning": "none", "main_thread_usage": 0.0 }));
    let branches: Vec<(&Value, &Value)> = shown["branches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|branch| (&branch["branch_id"], &branch["parent_branch_id"]))
        .collect();
    assert_eq!(branches, [(&json!(outer), &Value::Null), (&json!(inner), &json!(outer))]);
    assert_eq!(shown["total_branches"], 2);
}

#[tokio::test]
async fn lists_come_in_pages_that_say_where_to_go_on() {
    let api = Api::new();
    for session in ["a", "b", "c"] {
        let path = format!("/api/v1/sessions/{session}/branches");
        api.post(&path, json!({ "description": "x" })).await;
        api.pass_ms(1);
    }
    let first = api.get("/api/v1/sessions?limit=2").await.json();
    assert_eq!((&first["offset"], &first["limit"], &first["next_offset"]), (&json!(0), &json!(2), &json!(2)));
    let names: Vec<_> = first["sessions"].as_array().unwrap().iter().map(|one| one["session_id"].clone()).collect();
    assert_eq!(names, ["c", "b"]);
    let second = api.get("/api/v1/sessions?limit=2&offset=2").await.json();
    assert_eq!(second["sessions"][0]["session_id"], "a");
    assert_eq!(second["next_offset"], Value::Null);
    let capped = api.get("/api/v1/sessions?limit=4000000000&offset=4294967295").await.json();
    assert_eq!((&capped["limit"], &capped["sessions"]), (&json!(500), &json!([])));
}

#[tokio::test]
async fn ending_a_session_folds_its_branches_and_can_be_done_once() {
    let api = Api::new();
    let outer = api.open("outer").await;
    let inner = api.open("inner").await;
    let ended = api.send(crate::client::local(), bare("DELETE", "/api/v1/sessions/s")).await;
    assert_eq!(ended.status, StatusCode::OK);
    let ended = ended.json();
    assert_eq!(ended["branches_folded"], json!([inner, outer]));
    assert_eq!(ended["branches_failed"], json!([]));
    assert_eq!(ended["ended_at"], "2025-01-17T10:30:00Z");

    assert_eq!(api.get("/api/v1/sessions/s").await.json()["status"], "ended");
    let again = api.send(crate::client::local(), bare("DELETE", "/api/v1/sessions/s")).await;
    let expected =
        "409 session_over: Session s is over: start another by using a new session_id {\"session_id\":\"s\"}";
    assert_eq!(again.error(), expected);
}

#[tokio::test]
async fn a_rollback_opens_a_branch_again_or_only_says_what_it_would_do() {
    let api = Api::new();
    let first = api.open("first").await;
    api.fold(&first, "done").await;
    let second = api.open("second").await;

    let trial = json!({ "branch_id": first, "restore_state": false });
    let trial = api.post("/api/v1/sessions/s/rollback", trial).await.json();
    assert_eq!(trial["restored"], false);
    assert_eq!(trial["branches_discarded"], json!([second]));
    assert_eq!(api.get(&format!("/api/v1/branches/{second}")).await.json()["status"], "active");

    let done = api.post("/api/v1/sessions/s/rollback", json!({ "branch_id": first })).await.json();
    assert_eq!((&done["rolled_back_to"], &done["generation"]), (&json!(first), &json!(2)));
    assert_eq!(done["context_state"]["active_branch_id"], first);
    let list = api.get("/api/v1/sessions/s/branches").await.json();
    let counts = ["total_branches", "active_branches", "folded_branches", "discarded_branches"];
    assert_eq!(counts.map(|name| list[name].as_u64().unwrap()), [2, 1, 0, 1]);
}

#[tokio::test]
async fn anothers_session_is_as_absent_as_one_that_never_was() {
    let api = Api::new();
    let branch = api.open("mine").await;
    let other = || somebody("other");
    for path in ["/api/v1/sessions/s", "/api/v1/sessions/s/branches"] {
        let theirs = api.send(other(), bare("GET", path)).await.error();
        assert_eq!(theirs, "404 session_not_found: Session not found: s {\"session_id\":\"s\"}");
        let absent = api.send(other(), bare("GET", &path.replace("sessions/s", "sessions/t"))).await;
        assert_eq!(absent.error(), theirs.replace(": s ", ": t ").replace("\"s\"", "\"t\""));
    }
    let theirs = api.send(other(), bare("GET", &format!("/api/v1/branches/{branch}"))).await;
    assert!(theirs.error().starts_with("404 branch_not_found: "), "{}", theirs.text);
    assert_eq!(api.send(other(), bare("GET", "/api/v1/sessions")).await.json()["sessions"], json!([]));
    let ended = api.send(other(), bare("DELETE", "/api/v1/sessions/s")).await;
    assert!(ended.error().starts_with("404 session_not_found: "), "{}", ended.text);
}

#[tokio::test]
async fn the_first_characters_of_an_id_are_enough_where_they_name_one_session() {
    let api = Api::new();
    for session in ["5b2438e4-one", "5b2438e4-two", "5b2438e4-two:reader"] {
        api.post(&format!("/api/v1/sessions/{session}/branches"), json!({ "description": "x" })).await;
    }
    assert_eq!(api.get("/api/v1/sessions/5b2438e4-o").await.json()["session_id"], "5b2438e4-one");
    assert_eq!(api.get("/api/v1/sessions/5b2438e4-t").await.json()["session_id"], "5b2438e4-two", "not its subagent's");
    let several = api.get("/api/v1/sessions/5b24").await;
    assert_eq!(
        several.error(),
        "400 session_ambiguous: Session id 5b24 is ambiguous, it could be 5b2438e4-one, 5b2438e4-two or \
         5b2438e4-two:reader: give more of it \
         {\"session_id\":\"5b24\",\"matches\":[\"5b2438e4-one\",\"5b2438e4-two\",\"5b2438e4-two:reader\"]}"
    );
    let short = api.get("/api/v1/sessions/5b2").await;
    assert!(short.error().starts_with("404 session_not_found"), "{}", short.text);
    let another = api.post("/api/v1/sessions/5b2438e4-o/branches", json!({ "description": "x" })).await.json();
    assert_eq!(another["session_id"], "5b2438e4-o", "what is opened may be new");
    let other = api.send(somebody("other"), bare("GET", "/api/v1/sessions/5b2438e4-t")).await;
    assert_eq!(other.status, StatusCode::NOT_FOUND);
}
