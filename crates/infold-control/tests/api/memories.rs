//! Memories over the API: written, listed, changed, judged, forgotten, taken along.

use http::StatusCode;
use serde_json::{Value, json};

use crate::client::{Answer, Api, bare, local, request, somebody};

const PROJECT: &str = "0123456789abcdef";

async fn add(api: &Api, title: &str) -> String {
    let body = json!({ "title": title, "lesson": "before the snapshot tests", "kind": "works", "project": PROJECT });
    let answer = api.post("/api/v1/memories", body).await;
    assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.text);
    answer.json()["memory_id"].as_str().unwrap().to_owned()
}

async fn titles(api: &Api, query: &str) -> Vec<String> {
    let list = api.get(&format!("/api/v1/memories{query}")).await.json();
    list["memories"].as_array().unwrap().iter().map(|memory| memory["title"].as_str().unwrap().to_owned()).collect()
}

async fn send(api: &Api, method: &str, path: &str, body: Value) -> Answer {
    api.send(local(), request(method, path, &body)).await
}

#[tokio::test]
async fn a_memory_is_added_listed_shown_changed_and_forgotten() {
    let api = Api::new();
    let id = add(&api, "Rebuild fixtures").await;
    add(&api, "Use tabs").await;
    let list = api.get("/api/v1/memories?limit=1").await.json();
    assert_eq!((&list["next_offset"], &list["live"]), (&json!(1), &json!(2)));
    assert_eq!(list["memories"].as_array().unwrap().len(), 1);
    assert_eq!(titles(&api, "?query=rebuild%20the%20fixtures").await, ["Rebuild fixtures"]);
    assert_eq!(titles(&api, "?kind=fails").await, [""; 0]);
    assert_eq!(titles(&api, "?state=waiting").await, [""; 0]);

    let path = format!("/api/v1/memories/{id}");
    let edited = send(&api, "PATCH", &path, json!({ "title": "Rebuild snapshots", "project": "" })).await.json();
    assert_eq!((&edited["title"], &edited["project"]), (&json!("Rebuild snapshots"), &Value::Null));
    let shown = api.get(&path).await.json();
    assert_eq!((&shown["confidence"], &shown["evidence"][0]["what"]), (&json!(0.9), &json!("made")));

    let judged = send(&api, "POST", &format!("{path}/feedback"), json!({ "helpful": false })).await.json();
    assert!(judged["confidence"].as_f64().unwrap() < 0.9);
    let rejected = send(&api, "POST", &format!("{path}/review"), json!({ "accept": false })).await.json();
    assert_eq!(rejected["state"], "rejected");
    let undone = send(&api, "POST", "/api/v1/memories/undo", json!({})).await.json();
    assert_eq!((&undone["what"], &undone["memories"]), (&json!("rejected"), &json!([id])));
    let changes = api.get("/api/v1/memories/changes").await.json();
    assert_eq!(changes["changes"].as_array().unwrap().len(), 6);

    let forgotten = api.send(local(), bare("DELETE", &path)).await.json();
    assert_eq!(forgotten["memories"][0]["memory_id"], json!(id));
    assert_eq!(api.get(&path).await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn memories_are_forgotten_by_where_they_come_from_after_a_look() {
    let api = Api::new();
    add(&api, "mine").await;
    let lines = "{\"title\":\"theirs\",\"lesson\":\"text\"}\n";
    let import = json!({ "lines": lines, "name": "team" });
    let done = api.post("/api/v1/memories/import", import).await.json();
    assert_eq!((&done["lines"], &done["made"]), (&json!(1), &json!(1)));
    let exported = api.get("/api/v1/memories/export").await;
    assert_eq!(exported.header("content-type"), Some("application/x-ndjson"));
    assert_eq!(exported.text.lines().count(), 2);

    for (dry_run, left) in [(true, 2), (false, 1)] {
        let body = json!({ "from": "import:team", "dry_run": dry_run });
        let forgotten = api.post("/api/v1/memories/forget", body).await.json();
        assert_eq!(forgotten["memories"][0]["title"], "theirs");
        assert_eq!(titles(&api, "").await.len(), left);
    }
    let bad = json!({ "lines": format!("{lines}{{}}"), "name": "team" });
    let refused = api.post("/api/v1/memories/import", bad).await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
    assert!(refused.text.contains("line 2"), "{}", refused.text);
    assert_eq!(titles(&api, "").await, ["mine"]);
}

#[tokio::test]
async fn a_branch_says_what_it_was_given() {
    let api = Api::new();
    let branch = api.open("look").await;
    let given = api.get(&format!("/api/v1/branches/{branch}/memories")).await.json();
    assert_eq!(given["memories"], json!([]));
}

#[tokio::test]
async fn what_is_left_alone_is_listed_with_the_projects() {
    let api = Api::new();
    add(&api, "mine").await;
    let silent = send(&api, "PUT", "/api/v1/memories/silence", json!({ "scope": "session:s", "silent": true })).await;
    assert_eq!(silent.json(), json!({ "scope": "session:s", "silent": true }));
    let projects = api.get("/api/v1/memories/projects").await.json();
    assert_eq!((&projects["silenced"], &projects["projects"][0]["live"]), (&json!(["session:s"]), &json!(1)));
    let wrong = send(&api, "PUT", "/api/v1/memories/silence", json!({ "scope": "odd", "silent": true })).await;
    assert_eq!(wrong.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn somebody_elses_memory_is_not_found_on_any_route() {
    let api = Api::new();
    let id = add(&api, "mine").await;
    let missing = "mem_0123456789";
    let calls = |id: &str| {
        let path = format!("/api/v1/memories/{id}");
        [
            bare("GET", &path),
            bare("DELETE", &path),
            request("PATCH", &path, &json!({ "title": "x" })),
            request("POST", &format!("{path}/feedback"), &json!({ "helpful": true })),
            request("POST", &format!("{path}/review"), &json!({ "accept": true })),
            request("POST", "/api/v1/memories/forget", &json!({ "memories": [id] })),
            request("POST", "/api/v1/memories", &json!({ "title": "x", "lesson": "y", "replaces": id })),
        ]
    };
    for (theirs, absent) in calls(&id).into_iter().zip(calls(missing)) {
        let (theirs, absent) = (api.send(somebody("other"), theirs).await, api.send(somebody("other"), absent).await);
        assert_eq!(theirs.status, StatusCode::NOT_FOUND, "{}", theirs.text);
        assert_eq!(theirs.text.replace(&id, "ID"), absent.text.replace(missing, "ID"));
    }
    assert_eq!(titles(&api, "").await, ["mine"]);
    let list = api.send(somebody("other"), bare("GET", "/api/v1/memories")).await.json();
    assert_eq!((&list["memories"], &list["live"]), (&json!([]), &json!(0)));
}
