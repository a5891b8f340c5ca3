//! Logs on a real database.

use infold_core::view::ScrubbedJson;
use infold_core::{Command, Session};
use tempfile::TempDir;

use crate::tests::{append_of, key, settings_in};
use crate::{Store, StoreError};

fn record(text: &str) -> ScrubbedJson {
    ScrubbedJson::stored(format!("\"{text}\""))
}

/// A store with one session, which has no log yet.
async fn store(folder: &TempDir) -> Store {
    let store = Store::open(&folder.path().join("infold.db"), &settings_in(folder)).unwrap();
    let session = Session::new(key("s").owner, key("s").id, 1);
    store.append(append_of(&session, &Command::Start, 1)).await.unwrap();
    store
}

#[tokio::test]
async fn records_read_back_in_their_order_also_long_ones() {
    let folder = TempDir::new().unwrap();
    let store = store(&folder).await;
    let long = "x".repeat(5_000);
    store.append_log(key("s"), 0, 10, vec![record("one"), record(&long)]).await.unwrap();
    store.append_log(key("s"), 2, 20, vec![record("three")]).await.unwrap();

    let read = store.agent_log(key("s"), 1, 100).await.unwrap();

    let seen: Vec<(u64, u64, usize)> =
        read.iter().map(|record| (record.seq, record.at_ms, record.json.len())).collect();
    assert_eq!(seen, [(2, 10, 5_002), (3, 20, 7)]);
    assert_eq!(read[1].json, "\"three\"");
}

#[tokio::test]
async fn an_append_that_was_decided_on_a_shorter_log_is_refused_and_leaves_nothing() {
    let folder = TempDir::new().unwrap();
    let store = store(&folder).await;
    store.append_log(key("s"), 0, 10, vec![record("one")]).await.unwrap();

    let late = store.append_log(key("s"), 0, 20, vec![record("other")]).await;

    assert!(matches!(late, Err(StoreError::Moved)), "{late:?}");
    assert_eq!(store.agent_log(key("s"), 0, 100).await.unwrap().len(), 1);
}

#[tokio::test]
async fn sessions_without_a_log_are_not_listed() {
    let folder = TempDir::new().unwrap();
    let store = store(&folder).await;
    assert_eq!(store.agent_logs(key("s").owner).await.unwrap(), []);
    store.append_log(key("s"), 0, 10, vec![record("one"), record("two")]).await.unwrap();

    let listed = store.agent_logs(key("s").owner).await.unwrap();

    let seen: Vec<(&str, u64, u64, &str)> =
        listed.iter().map(|log| (log.session.as_str(), log.records, log.last_at_ms, log.first.as_str())).collect();
    assert_eq!(seen, [("s", 2, 10, "\"one\"")]);
}
