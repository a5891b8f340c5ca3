//! Logs that lose entries while machines work with them.

use std::time::Duration;

use async_nats::HeaderMap;
use infold_core::Command;

use super::machines;
use super::republish::{assert_unfit, lose_entries};
use super::trimming::{context, start_sessions};
use crate::cluster::apply;
use crate::cluster::publish::{CHAIN, PART};
use crate::tests::{append_of, fresh, load_of, shared_cluster};
use crate::{EndedBranches, Store, StoreError};

const NOTICED_WITHIN: Duration = Duration::from_secs(10);

async fn read(store: &Store) -> Result<(), StoreError> {
    store.load(load_of("a-0", EndedBranches::Nothing)).await.map(drop)
}

async fn write(store: &Store, name: &str) -> Result<(), StoreError> {
    store.append(append_of(&fresh(name), &Command::Start, 10)).await
}

#[tokio::test]
async fn a_machine_at_work_refuses_a_log_that_has_lost_entries_and_goes_on_refusing() {
    let Some((one, _two, first, second)) = machines() else { return };
    let shared = shared_cluster(one.path()).unwrap();
    start_sessions(&first, "a", 3).await;
    read(&second).await.unwrap();
    lose_entries(&shared).await;
    // Each look makes the log longer, until it is as long as it was.
    for _ in 0..10 {
        assert_unfit(read(&first).await, "this machine has seen entries up to");
        assert_unfit(write(&second, "b").await, "this machine has seen entries up to");
    }
}

#[tokio::test]
async fn a_machine_at_work_refuses_a_log_that_has_another_entry_in_the_place_of_its_last_one() {
    let Some((one, _two, first, _second)) = machines() else { return };
    let shared = shared_cluster(one.path()).unwrap();
    start_sessions(&first, "a", 3).await;
    let applied = first.read(apply::position).await.unwrap().applied;
    lose_entries(&shared).await;
    let (context, subject) = (context(&shared).await, format!("{}.log", shared.subject_prefix));
    for number in 1..=applied {
        let mut headers = HeaderMap::new();
        headers.insert(PART, format!("{number:016x} 1 1").as_str());
        headers.insert(CHAIN, "00");
        context.publish_with_headers(subject.clone(), headers, "other".into()).await.unwrap().await.unwrap();
    }
    // What a server has just stored is noticed a little later.
    let noticed = async {
        while read(&first).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(NOTICED_WITHIN, noticed).await.unwrap();
    assert_unfit(write(&first, "b").await, "has another entry at");
    assert_unfit(read(&first).await, "has another entry at");
}
