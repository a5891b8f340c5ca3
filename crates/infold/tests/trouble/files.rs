//! Files in the data folder that do not belong together, or are not infold's: the program refuses to start on them,
//! says what to do, and changes nothing in them.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use rusqlite::Connection;

use crate::cli::home::{Ended, Home};

/// Runs a command that needs the database, and ends by itself.
fn look(home: &Home) -> Ended {
    home.run_with_input(&["mcp"], b"")
}

/// A home whose data folder has a database with its key.
fn used() -> Home {
    let home = Home::new();
    assert_eq!(look(&home).code, 0);
    home
}

fn refused(home: &Home, because: &str, to_do: &str) {
    let ended = look(home);
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    assert!(ended.stderr.contains(because), "{}", ended.stderr);
    assert!(ended.stderr.contains("hint: ") && ended.stderr.contains(to_do), "{}", ended.stderr);
    let doctor = home.run(&["doctor"]);
    assert!(doctor.code != 0 && doctor.stdout.contains(because), "{}", doctor.stdout);
}

#[test]
fn an_empty_database_beside_its_key_is_refused() {
    let home = used();
    let database = home.data().join("infold.db");
    fs::write(&database, "").unwrap();
    refused(&home, "infold.db is empty", "put a copy of the database back");
    assert_eq!(fs::metadata(&database).unwrap().len(), 0);

    fs::remove_file(&database).unwrap();
    assert_eq!(look(&home).code, 0, "the advice helps");
}

#[test]
fn a_log_without_its_database_is_refused() {
    let home = used();
    fs::rename(home.data().join("infold.db"), home.data().join("infold.db-wal")).unwrap();
    refused(&home, "is gone, but its write-ahead log is there", "put the database back");
}

#[test]
fn a_key_of_another_database_is_refused_and_the_advice_helps() {
    let (home, other) = (used(), used());
    let key = home.data().join("infold.key");
    let before = fs::read(&key).unwrap();
    fs::copy(other.data().join("infold.key"), &key).unwrap();
    refused(&home, "infold.key is not the key of", "remove the key file");

    fs::remove_file(&key).unwrap();
    assert_eq!(look(&home).code, 0);
    assert_eq!(fs::read(&key).unwrap(), before, "the database had a copy");
}

#[test]
fn a_database_of_another_program_is_refused_and_left_as_it_was() {
    let statements = [
        "CREATE TABLE notes (text)",
        "PRAGMA user_version = 3; CREATE TABLE sessions (id)",
        "PRAGMA application_id = 7; CREATE TABLE instance (id)",
    ];
    for statement in statements {
        let home = used();
        let database = home.data().join("infold.db");
        fs::remove_file(&database).unwrap();
        Connection::open(&database).unwrap().execute_batch(statement).unwrap();
        fs::set_permissions(&database, Permissions::from_mode(0o600)).unwrap();
        let before = fs::read(&database).unwrap();
        refused(&home, "is the database of another program", "move that file elsewhere");
        assert_eq!(fs::read(&database).unwrap(), before, "{statement}");
    }
    let home = used();
    let database = home.data().join("infold.db");
    fs::write(&database, "Dear diary, ".repeat(1_000)).unwrap();
    refused(&home, "is not a database", "move that file elsewhere");
}

#[test]
fn fresh_starts_go_on_working() {
    assert_eq!(look(&Home::new()).code, 0, "no files at all");

    let home = used();
    let key = fs::read(home.data().join("infold.key")).unwrap();
    fs::remove_file(home.data().join("infold.db")).unwrap();
    assert_eq!(look(&home).code, 0, "a key whose database was never made, or is lost");
    assert_eq!(fs::read(home.data().join("infold.key")).unwrap(), key);

    let home = used();
    fs::remove_file(home.data().join("infold.key")).unwrap();
    fs::write(home.data().join("infold.db"), "").unwrap();
    assert_eq!(look(&home).code, 0, "an empty file, and nothing that shows that there was more");
}

#[test]
fn a_database_from_before_the_mark_is_known_by_its_tables_and_gets_the_mark() {
    let home = used();
    let database = home.data().join("infold.db");
    let mark =
        || Connection::open(&database).unwrap().query_row("PRAGMA application_id", [], |row| row.get(0)).unwrap();
    let ours: i64 = mark();
    assert_ne!(ours, 0);
    Connection::open(&database).unwrap().execute_batch("PRAGMA application_id = 0").unwrap();
    assert_eq!(look(&home).code, 0);
    assert_eq!(mark(), ours);
}
