//! A log that lost entries, and is made anew from an index.

use std::path::Path;

use async_nats::jetstream::stream;
use tempfile::TempDir;

use super::machines;
use super::trimming::{context, start_sessions};
use crate::cluster::log::Servers;
use crate::cluster::republish::GAP;
use crate::cluster::{ClusterSettings, SharedState};
use crate::tests::{load_of, settings, shared_cluster};
use crate::{EndedBranches, KEY_FILE, Store, StoreError, StoreSettings};

/// Opens an index with its log.
fn join(folder: &Path, shared: &ClusterSettings) -> Result<Store, StoreError> {
    Store::open(&folder.join("infold.db"), &StoreSettings { cluster: Some(shared.clone()), ..settings() })
}

/// Opens an index by itself.
fn alone(folder: &Path) -> Store {
    Store::open(&folder.join("infold.db"), &settings()).unwrap()
}

/// A machine that has nothing but the key.
fn new_machine(of: &Path) -> TempDir {
    let folder = TempDir::new().unwrap();
    std::fs::copy(of.join(KEY_FILE), folder.path().join(KEY_FILE)).unwrap();
    folder
}

/// Puts a log of the same name in place of the one that is there, without any entry.
pub(super) async fn lose_entries(shared: &ClusterSettings) {
    let context = context(shared).await;
    let config = context.get_stream(&shared.stream).await.unwrap().cached_info().config.clone();
    context.delete_stream(&shared.stream).await.unwrap();
    context.create_stream(config).await.unwrap();
}

pub(super) fn assert_unfit<T>(found: Result<T, StoreError>, words: &str) {
    match found {
        Err(StoreError::Unfit { problem, .. }) => assert!(problem.contains(words), "{problem}"),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it was not refused: {words}"),
    }
}

async fn has(store: &Store, name: &str) -> bool {
    store.load(load_of(name, EndedBranches::Nothing)).await.unwrap().is_some()
}

#[tokio::test]
async fn all_machines_go_on_from_the_index_that_the_log_was_made_anew_from() {
    let Some((one, two, first, second)) = machines() else { return };
    let shared = shared_cluster(one.path()).unwrap();
    start_sessions(&first, "a", 20).await;
    assert!(has(&second, "a-19").await);
    drop(second);
    start_sessions(&first, "b", 20).await;
    let digest = first.shared_digest().await.unwrap();
    drop(first);
    lose_entries(&shared).await;
    assert_unfit(join(one.path(), &shared), "this machine has seen entries up to");

    let index = alone(one.path());
    let lost = index.lost_log(&shared).await.unwrap();
    assert!(lost.problem.contains("ends at"), "{lost:?}");
    assert_unfit(join(one.path(), &shared), "this machine has seen entries up to");
    assert_eq!(index.republish(&shared).await.unwrap().digest, digest);
    assert_unfit(index.lost_log(&shared).await, "has everything");
    drop(index);

    let new = new_machine(one.path());
    let stores: Vec<Store> =
        [one.path(), two.path(), new.path()].iter().map(|folder| join(folder, &shared).unwrap()).collect();
    for (number, store) in stores.iter().enumerate() {
        assert!(has(store, "b-19").await);
        start_sessions(store, &format!("after-{number}"), 3).await;
    }
    for store in &stores {
        assert!(has(store, "after-2-2").await);
        assert_eq!(store.shared_digest().await.unwrap(), stores[0].shared_digest().await.unwrap());
    }
    let again = new_machine(one.path());
    assert!(has(&join(again.path(), &shared).unwrap(), "after-1-0").await);
}

#[tokio::test]
async fn a_log_that_is_only_full_is_not_made_anew() {
    let Some((one, _two, first, second)) = machines() else { return };
    let shared = shared_cluster(one.path()).unwrap();
    start_sessions(&first, "a", 3).await;
    drop((first, second));
    let context = context(&shared).await;
    let info = context.get_stream(&shared.stream).await.unwrap().cached_info().clone();
    let full = stream::Config { max_bytes: i64::try_from(info.state.bytes).unwrap() + 1, ..info.config.clone() };
    context.update_stream(full).await.unwrap();
    let index = alone(one.path());
    assert_unfit(index.lost_log(&shared).await, "takes no more entries");
    assert_unfit(index.republish(&shared).await, "takes no more entries");
    let after = context.get_stream(&shared.stream).await.unwrap().cached_info().clone();
    assert_eq!((after.created, after.state.last_sequence), (info.created, info.state.last_sequence));
}

#[tokio::test]
async fn a_machine_that_has_seen_more_is_refused_and_takes_nothing_for_its_own() {
    let Some((one, two, first, second)) = machines() else { return };
    let shared = shared_cluster(one.path()).unwrap();
    start_sessions(&first, "a", 3).await;
    assert!(has(&second, "a-2").await);
    drop(second);
    start_sessions(&first, "more", 3).await;
    // Nobody has stopped the first machine.
    lose_entries(&shared).await;
    alone(two.path()).republish(&shared).await.unwrap();
    let refused = first.load(load_of("a-0", EndedBranches::Nothing)).await;
    assert_unfit(refused, "this machine has seen entries up to");

    let second = join(two.path(), &shared).unwrap();
    start_sessions(&second, "b", 3).await;
    assert!(!has(&second, "more-0").await);
    drop(first);
    assert_unfit(join(one.path(), &shared), "this machine has seen entries up to");
    // It begins anew when its index is removed.
    for name in ["infold.db", "infold.db-wal", "infold.db-shm"] {
        let _ = std::fs::remove_file(one.path().join(name));
    }
    let first = join(one.path(), &shared).unwrap();
    assert!(has(&first, "b-2").await);
    assert_eq!(first.shared_digest().await.unwrap(), second.shared_digest().await.unwrap());
}

#[tokio::test]
async fn a_log_that_is_gone_is_made_anew_and_one_that_was_not_finished_is_refused() {
    let Some((one, _two, first, second)) = machines() else { return };
    let shared = shared_cluster(one.path()).unwrap();
    start_sessions(&first, "a", 3).await;
    let (name, applied) = first.cluster().map(|state| (state.name, state.applied)).unwrap();
    drop((first, second));
    let index = alone(one.path());
    assert_unfit(index.lost_log(&shared).await, "has everything");

    // As it is when making it anew was cut off: there is a log, and it has no entry.
    context(&shared).await.delete_stream(&shared.stream).await.unwrap();
    assert!(index.lost_log(&shared).await.unwrap().problem.contains("does not exist"));
    assert_unfit(join(one.path(), &shared), "does not exist, but this machine has seen");
    let servers = Servers::reach(&shared, index.secret(), SharedState::default()).await.unwrap();
    servers.make(&name, applied + GAP).await.unwrap();
    assert_unfit(join(one.path(), &shared), "not finished");
    let new = new_machine(one.path());
    assert_unfit(join(new.path(), &shared), "not finished");
    index.republish(&shared).await.unwrap();
    assert!(has(&join(new.path(), &shared).unwrap(), "a-2").await);
    assert!(has(&join(one.path(), &shared).unwrap(), "a-2").await);

    let nothing = new_machine(one.path());
    assert_unfit(alone(nothing.path()).republish(&shared).await, "has nothing of it");
}
