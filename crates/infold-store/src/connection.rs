//! Opening SQLite the way that loses nothing: write-ahead log, `synchronous=FULL`, readers that
//! cannot write, files that only their owner can read.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::{ClusterSettings, StoreError, fitness, identity};

/// Pause between two attempts to turn the write-ahead log on.
const WAL_PAUSE_MS: u64 = 5;

/// How much SQLite syncs. Only `Full` keeps what was acknowledged through a power loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Synchronous {
    /// Sync at every commit.
    Full,
    /// Sync at checkpoints only. For tests and benchmarks that show the difference.
    Normal,
}

/// How a database is opened. There are no defaults here: the program sets every field.
#[derive(Debug, Clone)]
pub struct StoreSettings {
    /// How much SQLite syncs: anything but `Full` can lose acknowledged writes.
    pub synchronous: Synchronous,
    /// How long to wait for a lock that another process holds.
    pub busy_timeout_ms: u64,
    /// How many connections for reading may be open at once.
    pub readers_max: usize,
    /// The cluster whose log this database is an index of; `None` if it is this machine's own.
    pub cluster: Option<ClusterSettings>,
    /// Length of the write-ahead log at which SQLite starts a checkpoint, in pages.
    pub checkpoint_pages: u32,
}

pub(crate) fn open_writer(path: &Path, settings: &StoreSettings) -> Result<Connection, StoreError> {
    let connection = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW,
    )?;
    common(&connection, settings)?;
    identity::check_is_ours(&connection, path)?;
    fitness::check_length(&connection, path)?;
    write_ahead(&connection, settings)?;
    let synchronous = match (settings.synchronous, &settings.cluster) {
        (Synchronous::Full, None) => "FULL",
        // The shared log has what an index loses with the power, and the index knows how far it has come.
        (Synchronous::Normal, None) | (_, Some(_)) => "NORMAL",
    };
    connection.pragma_update(None, "synchronous", synchronous)?;
    connection.pragma_update(None, "secure_delete", "ON")?;
    connection.pragma_update(None, "wal_autocheckpoint", settings.checkpoint_pages)?;
    Ok(connection)
}

pub(crate) fn open_reader(path: &Path, settings: &StoreSettings) -> Result<Connection, StoreError> {
    // Opened for writing because a reader may have to recover the log; `query_only` keeps it from
    // changing anything itself.
    let connection = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW,
    )?;
    common(&connection, settings)?;
    connection.pragma_update(None, "query_only", "ON")?;
    Ok(connection)
}

/// Turns the write-ahead log on. If another process does the same at the same time, SQLite does not wait but reports at
/// once that it is busy, so it is asked again after a pause.
fn write_ahead(connection: &Connection, settings: &StoreSettings) -> Result<(), StoreError> {
    for _ in 0..settings.busy_timeout_ms / WAL_PAUSE_MS {
        match connection.pragma_update(None, "journal_mode", "WAL").map_err(StoreError::from) {
            Err(StoreError::Busy) => std::thread::sleep(Duration::from_millis(WAL_PAUSE_MS)),
            other => return other,
        }
    }
    Ok(connection.pragma_update(None, "journal_mode", "WAL")?)
}

fn common(connection: &Connection, settings: &StoreSettings) -> Result<(), StoreError> {
    connection.busy_timeout(Duration::from_millis(settings.busy_timeout_ms))?;
    connection.pragma_update(None, "foreign_keys", "ON")?;
    connection.pragma_update(None, "trusted_schema", "OFF")?;
    // What a statement may have to undo stays in memory: a temporary file would lie outside of infold's folder.
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(())
}
