//! Whose database file it is, looked at before anything in it is changed: infold's own, a new one, or another
//! program's.
//!
//! What must hold: infold's own database is never empty, because it gets its name only once it carries infold's mark;
//! so an empty file is what somebody left of a database, and no file of another program's is written to.

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::StoreError;
use crate::key_file::{self, KEY_FILE};

/// SQLite's `application_id` of infold's databases: the letters `infd`.
const APPLICATION_ID: i64 = 0x696E_6664;

/// Tables that every schema of infold's has had. Databases that were made before the mark are known by them.
const TABLES: &str = "SELECT count(*) FROM sqlite_schema
                      WHERE type = 'table' AND name IN ('instance', 'sessions', 'branches', 'events')";
const TABLES_COUNT: i64 = 4;

/// Creates the database if there is none. Refuses to begin anew where files show that there was one.
pub(crate) fn create_if_absent(path: &Path) -> Result<(), StoreError> {
    // Looked at first: a process that starts at the same time writes its log after its database has a name.
    let has_log = std::fs::metadata(beside(path, "-wal")).is_ok_and(|log| log.len() > 0);
    let has_key = path.with_file_name(KEY_FILE).exists();
    let opened = OpenOptions::new().write(true).open(path).and_then(|file| file.metadata());
    match opened {
        Ok(database) if database.len() > 0 => Ok(()),
        Ok(_) if has_log || has_key => Err(StoreError::Unfit {
            path: path.display().to_string(),
            problem: "is empty, but the files beside it belong to a database".to_owned(),
            remedy: "put a copy of the database back; if there is none, remove the empty file and those that begin \
                     with its name, to begin anew without what was stored"
                .to_owned(),
        }),
        // Nothing was ever stored here; SQLite takes an empty file for a new database.
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound && has_log => Err(StoreError::Unfit {
            path: path.display().to_string(),
            problem: "is gone, but its write-ahead log is there".to_owned(),
            remedy: "put the database back beside its log; to begin anew without what was stored, remove the files \
                     that begin with its name"
                .to_owned(),
        }),
        Err(error) if error.kind() == ErrorKind::NotFound => create(path),
        Err(error) => Err(file_error(path, &error)),
    }
}

/// Creates a database with nothing in it but infold's mark, readable by its owner only from the first byte on. It gets
/// its name when it is whole and on disk, unless another process was faster: then the other's is the one to use.
fn create(path: &Path) -> Result<(), StoreError> {
    let unfinished = key_file::unfinished(path)?;
    let made = write_marked(&unfinished).and_then(|()| {
        let linked = std::fs::hard_link(&unfinished, path);
        linked
            .or_else(|error| if error.kind() == ErrorKind::AlreadyExists { Ok(()) } else { Err(error) })
            .map_err(|error| file_error(path, &error))
    });
    let removed = std::fs::remove_file(&unfinished);
    made?;
    removed.and_then(|()| key_file::sync_folder(path)).map_err(|error| file_error(path, &error))
}

fn write_marked(path: &Path) -> Result<(), StoreError> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(|error| file_error(path, &error))?;
    let connection = Connection::open(path)?;
    // Nobody knows the file yet, so there is nothing to undo if this breaks off.
    connection.pragma_update(None, "journal_mode", "MEMORY")?;
    mark(&connection)?;
    connection.close().map_err(|(_, error)| error.into())
}

/// Marks the database as infold's, if it is not marked yet.
pub(crate) fn mark(connection: &Connection) -> Result<(), StoreError> {
    let found: i64 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    if found != APPLICATION_ID {
        connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    }
    Ok(())
}

/// Refuses a database that another program made. Nothing is written.
pub(crate) fn check_is_ours(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    match is_ours(connection) {
        Ok(true) => Ok(()),
        Ok(false) => Err(another_programs(path, "is the database of another program")),
        Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::NotADatabase) => {
            Err(another_programs(path, "is not a database"))
        }
        Err(error) => Err(error.into()),
    }
}

fn is_ours(connection: &Connection) -> rusqlite::Result<bool> {
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    let application = number("PRAGMA application_id")?;
    let schema = number("PRAGMA user_version")?;
    Ok(match (application, schema) {
        (APPLICATION_ID, _) => true,
        (0, 0) => number("SELECT count(*) FROM sqlite_schema")? == 0,
        (0, _) => number(TABLES)? == TABLES_COUNT,
        _ => false,
    })
}

fn another_programs(path: &Path, problem: &str) -> StoreError {
    StoreError::Unfit {
        path: path.display().to_string(),
        problem: problem.to_owned(),
        remedy: "move that file elsewhere, or name another folder with --data; nothing was changed in it".to_owned(),
    }
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

fn file_error(path: &Path, error: &std::io::Error) -> StoreError {
    StoreError::File { path: path.display().to_string(), problem: error.to_string() }
}
