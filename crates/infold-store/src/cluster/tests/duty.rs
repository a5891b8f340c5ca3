//! Who is on duty: one machine, which can do what that is about.

use std::time::Duration;

use infold_core::Command;
use rusqlite::Connection;

use super::machines;
use crate::Store;
use crate::tests::{append_of, fresh};

const TAKEN_OVER_WITHIN: Duration = Duration::from_secs(15);

async fn until_on_duty(store: &Store) {
    let until = async {
        while !store.is_on_duty() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(TAKEN_OVER_WITHIN, until).await.unwrap();
}

#[tokio::test]
async fn one_machine_is_on_duty_and_another_takes_over() {
    let Some((_one, _two, first, second)) = machines() else { return };
    until_on_duty(&first).await;
    assert!(!second.is_on_duty());
    drop(first);
    until_on_duty(&second).await;
}

#[tokio::test]
async fn a_machine_whose_index_cannot_be_kept_up_to_date_is_not_on_duty() {
    let Some((one, _two, first, second)) = machines() else { return };
    until_on_duty(&first).await;
    let index = Connection::open(one.path().join("infold.db")).unwrap();
    index
        .execute_batch("CREATE TRIGGER full BEFORE INSERT ON sessions BEGIN SELECT RAISE(ABORT, 'full'); END")
        .unwrap();
    second.append(append_of(&fresh("s"), &Command::Start, 10)).await.unwrap();
    until_on_duty(&second).await;
    assert!(!first.is_on_duty());
}

#[tokio::test]
async fn a_machine_where_nobody_does_what_duty_is_about_leaves_it_to_others() {
    let Some((_one, _two, _first, second)) = machines() else { return };
    // The first one was there before, and nobody asks it.
    until_on_duty(&second).await;
}
