//! Whether the database can do its work right now: a row is written, and a new connection reads it back from the file
//! that has the database's name. So a full disk is found, and so is a file that was cut short, moved or replaced under
//! a running process.
//!
//! Anybody may ask as often as they like, so the database is asked once in a while and its answer is repeated.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::connection::{StoreSettings, open_reader};
use crate::{Store, StoreError, schema};

/// How long an answer is repeated.
const REPEAT_FOR: Duration = Duration::from_secs(1);

/// What was found so far.
#[derive(Default)]
pub(crate) struct Fitness {
    last: Option<(Instant, Result<(), StoreError>)>,
    /// The greatest length that the file has had. It never becomes shorter unless somebody cuts it.
    longest_bytes: u64,
    /// What the last look through the whole file found.
    damage: Option<StoreError>,
}

impl Store {
    /// Checks that a write can be made and read back, and that no part of the file is missing. What it found is
    /// repeated for a second.
    pub async fn check(&self) -> Result<(), StoreError> {
        let mut fitness = self.inner.fitness.lock().await;
        if let Some((at, found)) = &fitness.last
            && at.elapsed() < REPEAT_FOR
        {
            return found.clone();
        }
        let checked = self.check_now(&mut fitness.longest_bytes).await;
        let found = checked.and(fitness.damage.clone().map_or(Ok(()), Err));
        if let Err(error) = &found {
            tracing::error!(%error, "the database cannot do its work");
        }
        fitness.last = Some((Instant::now(), found.clone()));
        found
    }

    async fn check_now(&self, longest_bytes: &mut u64) -> Result<(), StoreError> {
        let written = self.inner.writer.run(schema::touch).await?;
        let (inner, before) = (std::sync::Arc::clone(&self.inner), *longest_bytes);
        let look = move || read_back(&inner.path, inner.readers.settings(), before, written);
        *longest_bytes = tokio::task::spawn_blocking(look).await.map_err(|_| StoreError::Closed)??;
        Ok(())
    }

    /// Looks through the whole file for damage, which takes a while. [`Store::check`] repeats what was found until the
    /// next look.
    pub async fn look_for_damage(&self) -> Result<(), StoreError> {
        let found = self.read(|transaction| quick_check(transaction)).await;
        let damage = found.clone().err().filter(|error| matches!(error, StoreError::Damaged { .. }));
        self.inner.fitness.lock().await.damage = damage;
        found
    }
}

/// Reads the row with a new connection, which has nothing in its memory. Returns the length of the file.
fn read_back(path: &Path, settings: &StoreSettings, before_bytes: u64, written: u64) -> Result<u64, StoreError> {
    let connection = open_reader(path, settings)?;
    let read: u64 = connection.query_row("SELECT touched FROM instance", [], |row| row.get(0))?;
    if read < written {
        let problem = "what was written is not in the file of that name: it was moved or replaced".to_owned();
        return Err(StoreError::Damaged { problem });
    }
    let length_bytes = check_length(&connection, path)?;
    if length_bytes < before_bytes {
        quick_check(&connection)?;
    }
    Ok(length_bytes)
}

/// Refuses a file that is shorter than its pages. Those that are missing can only be in the part of the log that has
/// not been written back yet. Returns the length of the file.
pub(crate) fn check_length(connection: &Connection, path: &Path) -> Result<u64, StoreError> {
    // In this order: meanwhile others may write pages back, which makes the file longer.
    let pages: u64 = connection.query_row("PRAGMA page_count", [], |row| row.get(0))?;
    let page_bytes: u64 = connection.query_row("PRAGMA page_size", [], |row| row.get(0))?;
    let (is_busy, logged, written_back): (bool, i64, i64) =
        connection.query_row("PRAGMA wal_checkpoint(NOOP)", [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let length_bytes = std::fs::metadata(path)
        .map_err(|error| StoreError::File { path: path.display().to_string(), problem: error.to_string() })?
        .len();
    let in_log = u64::try_from(logged - written_back).unwrap_or(0);
    if !is_busy && pages > length_bytes / page_bytes + in_log {
        let problem = format!("it should have {pages} pages of {page_bytes} bytes, but has {length_bytes} bytes");
        return Err(StoreError::Damaged { problem });
    }
    Ok(length_bytes)
}

fn quick_check(connection: &Connection) -> Result<(), StoreError> {
    let found: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if found == "ok" { Ok(()) } else { Err(StoreError::Damaged { problem: found }) }
}
