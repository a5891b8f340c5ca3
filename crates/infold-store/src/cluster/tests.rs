//! Indexes of one log on a real server, and what is seen and applied without one.

mod duty;
mod losing;
mod republish;
mod transfer;
mod trimming;
mod unanswered;

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};
use tempfile::TempDir;

use super::apply;
use super::capture::Capture;
use super::entry::LogEntry;
use super::tables;
use crate::tests::{append_of, fold_command, fresh, key, load_of, loaded, open_command, settings};
use crate::{EndedBranches, Store, connection, identity, schema};

fn database(folder: &Path) -> Connection {
    let path = folder.join("infold.db");
    identity::create_if_absent(&path).unwrap();
    let mut connection = connection::open_writer(&path, &settings()).unwrap();
    schema::migrate(&mut connection).unwrap();
    connection.execute("INSERT OR IGNORE INTO instance (id, secret) VALUES (1, x'07')", []).unwrap();
    connection
}

/// What the statements change, as an entry that was written and read.
fn captured(connection: &mut Connection, capture: &Capture, sql: &str) -> Option<LogEntry> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    transaction.execute_batch(sql).unwrap();
    let entry = capture.take(&transaction).unwrap();
    transaction.commit().unwrap();
    entry.map(|entry| LogEntry::decode(&entry.encode().unwrap()).unwrap())
}

fn applied(connection: &mut Connection, entry: &LogEntry) {
    connection.pragma_update(None, "foreign_keys", "OFF").unwrap();
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    apply::apply(&transaction, entry).unwrap();
    transaction.commit().unwrap();
}

#[test]
fn what_one_database_changes_another_becomes() {
    let (here, there) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let (mut from, mut to) = (database(here.path()), database(there.path()));
    let capture = Capture::install(&from).unwrap();
    let steps = [
        "INSERT INTO sessions VALUES ('o/s', 'o', 's', NULL, 1, 5, NULL, '{}');
         INSERT INTO branches VALUES ('b', 'o/s', 1, 1, 5, 9, '{}');
         INSERT INTO restarts VALUES ('o/s', NULL, NULL, 'c', NULL), ('o/s', NULL, NULL, 'd', x'00ff');",
        "INSERT INTO memories VALUES (7, 'm', 'o', NULL, NULL, 'k', 'live', NULL, 's', 't', NULL, NULL, NULL, NULL, NULL,
             1.5, 0.25, 0.0, NULL, 1, 1, 0, 0, NULL, '{}', NULL);
         INSERT INTO memory_words (rowid, title, lesson, edited, read, commands, git) VALUES (7, 'one', 'two', '', '', '', '');
         INSERT INTO memory_vectors VALUES ('m', 'a', x'01');
         UPDATE instance SET learnt = 3, touched = 9;",
        "INSERT OR REPLACE INTO memory_vectors VALUES ('m', 'a', x'02');
         DELETE FROM memory_words WHERE rowid = 7;
         INSERT INTO memory_words (rowid, title, lesson, edited, read, commands, git) VALUES (7, 'four', '', '', '', '', '');
         UPDATE branches SET open = 0 WHERE id = 'b'; DELETE FROM restarts WHERE after_call = 'c';",
        // Two rows exchange what each of them alone may have.
        "INSERT INTO archive VALUES ('a', 1, 'o', 's', 1, '', '{}', x'00'), ('b', 1, 'o', 's', 1, '', '{}', x'00');",
        "UPDATE archive SET branch = 'x' WHERE branch = 'a'; UPDATE archive SET branch = 'a' WHERE branch = 'b';
         UPDATE archive SET branch = 'b' WHERE branch = 'x'; UPDATE instance SET learnt = 4;",
        "DELETE FROM sessions WHERE id = 'o/s'; DELETE FROM memories;",
    ];
    for sql in steps {
        let entry = captured(&mut from, &capture, sql).unwrap();
        applied(&mut to, &entry);
        assert_eq!(tables::digest(&from).unwrap(), tables::digest(&to).unwrap(), "{sql}");
        let found = "SELECT count(*) FROM memory_words WHERE memory_words MATCH 'four'";
        let count = |connection: &Connection| connection.query_row(found, [], |row| row.get::<_, u64>(0)).unwrap();
        assert_eq!(count(&from), count(&to));
    }
}

#[test]
fn what_a_machine_has_for_itself_is_not_an_entry() {
    let folder = TempDir::new().unwrap();
    let mut connection = database(folder.path());
    let capture = Capture::install(&connection).unwrap();
    let own = "UPDATE instance SET touched = touched + 1; INSERT INTO calibration VALUES ('f', 1, 1, 1);
               INSERT INTO requests (owner, session, at, payload) VALUES ('o', 's', 1, '{}');";
    assert_eq!(captured(&mut connection, &capture, own), None);
}

#[test]
fn what_was_undone_is_not_an_entry() {
    let folder = TempDir::new().unwrap();
    let mut connection = database(folder.path());
    let capture = Capture::install(&connection).unwrap();
    let undone = "SAVEPOINT one; INSERT INTO memory_silence VALUES ('o', 's', 1); ROLLBACK TO one; RELEASE one;";
    assert_eq!(captured(&mut connection, &capture, undone), None);
}

/// Two machines: two folders with one key, on one log.
fn machines() -> Option<(TempDir, TempDir, Store, Store)> {
    let (one, two) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let mut shared = settings();
    shared.cluster = Some(crate::tests::shared_cluster(one.path())?);
    let open = |folder: &TempDir| Store::open(&folder.path().join("infold.db"), &shared).unwrap();
    let first = open(&one);
    std::fs::copy(one.path().join(crate::KEY_FILE), two.path().join(crate::KEY_FILE)).unwrap();
    let second = open(&two);
    Some((one, two, first, second))
}

#[tokio::test]
async fn one_machine_reads_and_changes_what_another_wrote() {
    let Some((_one, _two, first, second)) = machines() else { return };
    first.append(append_of(&fresh("s"), &open_command(1), 10)).await.unwrap();
    let opened = loaded(&second, "s", EndedBranches::Nothing).await.session;
    assert_eq!(opened.branches.len(), 1);
    second.append(append_of(&opened, &fold_command(1, "found"), 20)).await.unwrap();
    // The first one does not know of it yet: what it decides on that is refused.
    let late = first.append(append_of(&opened, &fold_command(1, "late"), 30)).await;
    assert_eq!(late, Err(crate::StoreError::Moved));
    let folded = loaded(&first, "s", EndedBranches::All).await.session;
    assert_eq!(folded, loaded(&second, "s", EndedBranches::All).await.session);
    assert_eq!(first.shared_digest().await.unwrap(), second.shared_digest().await.unwrap());
}

#[tokio::test]
async fn machines_that_write_at_once_end_with_the_same() {
    let Some((_one, _two, first, second)) = machines() else { return };
    let write = |store: Store, name: &'static str| async move {
        for number in 0..40_u64 {
            let name = format!("{name}-{number}");
            store.append(append_of(&fresh(&name), &infold_core::Command::Start, 10)).await.unwrap();
        }
    };
    let (one, two) = (tokio::spawn(write(first.clone(), "a")), tokio::spawn(write(second.clone(), "b")));
    one.await.unwrap();
    two.await.unwrap();
    assert!(first.load(load_of("b-39", EndedBranches::Nothing)).await.unwrap().is_some());
    assert!(second.load(load_of("a-39", EndedBranches::Nothing)).await.unwrap().is_some());
    assert_eq!(first.shared_digest().await.unwrap(), second.shared_digest().await.unwrap());
}

#[tokio::test]
async fn an_index_that_is_gone_is_made_anew_and_long_entries_are_in_parts() {
    let Some((one, _two, first, second)) = machines() else { return };
    first.append(append_of(&fresh("s"), &infold_core::Command::Start, 1)).await.unwrap();
    let mut random = vec![0; 5_000_000];
    getrandom::fill(&mut random).unwrap();
    let messages: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    let snapshot = crate::Snapshot { messages: messages.clone(), token_count: 1 };
    first.save_snapshot(key("s"), snapshot).await.unwrap();
    assert!(second.snapshot(key("s")).await.unwrap().unwrap().messages == messages);
    let digest = first.shared_digest().await.unwrap();
    drop(first);
    for name in ["infold.db", "infold.db-wal", "infold.db-shm"] {
        let _ = std::fs::remove_file(one.path().join(name));
    }
    let mut shared = settings();
    shared.cluster = crate::tests::shared_cluster(one.path());
    let again = Store::open(&one.path().join("infold.db"), &shared).unwrap();
    assert_eq!(again.shared_digest().await.unwrap(), digest);
}

#[tokio::test]
async fn machines_with_another_key_are_refused() {
    let Some((one, _two, _first, _second)) = machines() else { return };
    let stranger = TempDir::new().unwrap();
    let mut shared = settings();
    shared.cluster = crate::tests::shared_cluster(one.path());
    let Err(error) = Store::open(&stranger.path().join("infold.db"), &shared) else { panic!("opened") };
    assert!(error.to_string().contains("another key"), "{error}");
}
