//! What another program sees that watches a project, with an ordinary NATS client.

use futures::StreamExt;
use infold_testkit::{Era, McpHttp};
use serde_json::{Value, json};

use super::machines::Machines;
use crate::support::PATIENCE;

/// The next document that is not the cursor, with its subject behind the session.
async fn next(watched: &mut async_nats::Subscriber) -> (String, Value) {
    let message = tokio::time::timeout(PATIENCE, watched.next()).await.unwrap().unwrap();
    let about = message.subject.splitn(5, '.').nth(4).unwrap().to_owned();
    (about, serde_json::from_slice(&message.payload).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn another_program_watches_a_project_and_sees_its_branches_in_order() {
    let Some(machines) = Machines::start(2, |setup| setup).await else { return };
    let watcher = machines.cluster.client().await.unwrap();
    let client = McpHttp::connect(machines.daemons[0].base_url(), Era::Modern).await.unwrap();
    let other = McpHttp::connect(machines.daemons[1].base_url(), Era::Modern).await.unwrap();

    // The project's hash is what an opening's subject shows; before that, everything of this owner is watched.
    let mut all = watcher.subscribe("sessions.*.*.*.branches.*").await.unwrap();
    watcher.flush().await.unwrap();
    let opening = json!({"description": "Search the logs", "prompt": "Use grep", "project_path": "/srv/app"});
    let opened = client.call("context_branch", opening.clone()).await.unwrap();
    let branch = opened.text_field("branch_id");
    let first = tokio::time::timeout(PATIENCE, all.next()).await.unwrap().unwrap();
    let subject: Vec<String> = first.subject.split('.').map(str::to_owned).collect();
    assert_eq!((subject[3].clone(), subject[5].clone()), (opened.text_field("session_id"), branch.clone()));
    assert_eq!((subject[1].as_str(), subject[2].as_str()), ("local", &blake3::hash(b"/srv/app").to_hex()[..16]));
    let document: Value = serde_json::from_slice(&first.payload).unwrap();
    assert_eq!(
        (&document["id"], &document["description"], &document["prompt"], &document["parent_id"], &document["status"]),
        (&json!(branch), &json!("Search the logs"), &json!("Use grep"), &Value::Null, &json!("active"))
    );
    assert!(document["created_at"].is_string() && document["tokens"].is_u64(), "{document}");

    let mut watched = watcher.subscribe(format!("sessions.{}.{}.>", subject[1], subject[2])).await.unwrap();
    watcher.flush().await.unwrap();
    let returning = json!({"message": "Found three patterns", "project_path": "/srv/app"});
    assert!(other.call("context_return", returning).await.unwrap().is_ok());
    // The rest of the opening may still be on its way.
    let (mut about, mut document) = next(&mut watched).await;
    while document["status"] != "folded" {
        (about, document) = next(&mut watched).await;
    }
    assert_eq!(about, format!("branches.{branch}"));
    assert_eq!((&document["id"], &document["summary"]), (&json!(branch), &json!("Found three patterns")));
    assert!(document["folded_at"].is_string() && document["tokens_folded"].is_u64(), "{document}");
    let (about, document) = next(&mut watched).await;
    assert_eq!((about.as_str(), &document["branch_id"]), ("events.branch.folded", &json!(branch)));
    let (about, document) = next(&mut watched).await;
    assert_eq!((about.as_str(), &document["active_branch_id"]), ("meta.session_state", &Value::Null));

    // A branch that is opened again is active, and those that were opened after it no longer count.
    let later = json!({"description": "Look again", "prompt": "Use grep", "project_path": "/srv/app"});
    let later = client.call("context_branch", later).await.unwrap().text_field("branch_id");
    let back = json!({"branch_id": branch, "project_path": "/srv/app"});
    assert!(other.call("context_rollback", back).await.unwrap().is_ok());
    let mut last = std::collections::BTreeMap::new();
    while last.get(&branch) != Some(&json!("active")) || last.get(&later) != Some(&json!("discarded")) {
        let (about, document) = next(&mut watched).await;
        if let Some(id) = about.strip_prefix("branches.") {
            assert_eq!(document["id"], id, "{document}");
            last.insert(id.to_owned(), document["status"].clone());
        }
    }
    let (about, document) = next(&mut watched).await;
    assert_eq!((about.as_str(), &document["active_branch_id"]), ("meta.session_state", &json!(branch)));
    let returning = json!({"message": "Found four patterns", "project_path": "/srv/app"});
    assert!(other.call("context_return", returning).await.unwrap().is_ok());
    while next(&mut watched).await.1["summary"] != "Found four patterns" {}

    // Whoever comes later finds the newest state of each branch, and all events.
    let stream = async_nats::jetstream::new(watcher).get_stream("INFOLD_STATE").await.unwrap();
    let kept = stream.get_last_raw_message_by_subject(&first.subject).await.unwrap();
    let kept: Value = serde_json::from_slice(&kept.payload).unwrap();
    assert_eq!(kept["status"], "folded");
}
