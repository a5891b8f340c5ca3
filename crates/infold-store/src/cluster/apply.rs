//! Writing an entry of the shared log into an index, and noting how far the index has come.

use rusqlite::{OptionalExtension, Transaction, params, params_from_iter};

use super::entry::{Cell, LogEntry, TableChange};
use crate::{StoreError, schema};

/// How far an index has come in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Position {
    /// The sequence of the last entry that it has.
    pub applied: u64,
    /// A hash over all entries up to that one.
    pub chain: [u8; 32],
}

impl Position {
    /// The position before the first entry of a log.
    pub(super) fn start(name: &str) -> Self {
        Self { applied: 0, chain: *blake3::hash(name.as_bytes()).as_bytes() }
    }
}

/// The log that the index is of, and how far it has come. `None` if it is of none yet.
pub(super) fn joined(transaction: &Transaction<'_>) -> Result<Option<(String, Position)>, StoreError> {
    let sql = "SELECT name, applied, chain FROM cluster";
    let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, Position { applied: row.get(1)?, chain: row.get(2)? }));
    Ok(transaction.prepare_cached(sql)?.query_row([], read).optional()?)
}

/// Makes the index one of the log with that name.
pub(super) fn join(transaction: &Transaction<'_>, name: &str, position: &Position) -> Result<(), StoreError> {
    let sql = "INSERT INTO cluster (id, name, applied, chain) VALUES (1, ?1, ?2, ?3)";
    transaction.execute(sql, params![name, position.applied, position.chain])?;
    Ok(())
}

pub(super) fn position(transaction: &Transaction<'_>) -> Result<Position, StoreError> {
    let found = joined(transaction)?.map(|(_, position)| position);
    found.ok_or(StoreError::Unreadable { what: "position in the shared log", problem: "it is missing".to_owned() })
}

pub(super) fn move_to(transaction: &Transaction<'_>, position: &Position) -> Result<(), StoreError> {
    let sql = "UPDATE cluster SET applied = ?1, chain = ?2";
    transaction.prepare_cached(sql)?.execute(params![position.applied, position.chain])?;
    Ok(())
}

/// Writes what an entry changed.
pub(super) fn apply(transaction: &Transaction<'_>, entry: &LogEntry) -> Result<(), StoreError> {
    if entry.schema > schema::KNOWN {
        return Err(StoreError::TooNew { found: entry.schema, known: schema::KNOWN });
    }
    // Rows that refer to each other may come in any order; what has to be there is there at the end.
    transaction.pragma_update(None, "defer_foreign_keys", "ON")?;
    for table in &entry.tables {
        remove(transaction, table)?;
    }
    for table in &entry.tables {
        write(transaction, table)?;
    }
    Ok(())
}

fn remove(transaction: &Transaction<'_>, change: &TableChange) -> Result<(), StoreError> {
    let sql = format!("DELETE FROM main.\"{}\" WHERE {}", change.table, where_key(change));
    let mut statement = transaction.prepare_cached(&sql)?;
    for key in &change.gone {
        statement.execute(params_from_iter(key))?;
    }
    Ok(())
}

/// Changes the rows that are there and adds the others. The key's values come first, so both statements take a row as it is.
fn write(transaction: &Transaction<'_>, change: &TableChange) -> Result<(), StoreError> {
    if change.rows.is_empty() {
        return Ok(());
    }
    let set = assignments(&change.columns[change.key_count..], change.key_count);
    let update = format!("UPDATE main.\"{}\" SET {set} WHERE {}", change.table, where_key(change));
    let places = (1..=change.columns.len()).map(|place| format!("?{place}")).collect::<Vec<_>>().join(", ");
    let columns = super::tables::list(&change.columns, "");
    let insert = format!("INSERT INTO main.\"{}\" ({columns}) VALUES ({places})", change.table);
    for row in &change.rows {
        let changed =
            if set.is_empty() { is_there(transaction, change, row)? } else { run(transaction, &update, row)? };
        if changed == 0 {
            run(transaction, &insert, row)?;
        }
    }
    Ok(())
}

fn run(transaction: &Transaction<'_>, sql: &str, row: &[Cell]) -> Result<usize, StoreError> {
    Ok(transaction.prepare_cached(sql)?.execute(params_from_iter(row))?)
}

/// How many rows have the key: for tables that consist of nothing else.
fn is_there(transaction: &Transaction<'_>, change: &TableChange, row: &[Cell]) -> Result<usize, StoreError> {
    let sql = format!("SELECT count(*) FROM main.\"{}\" WHERE {}", change.table, where_key(change));
    Ok(transaction.prepare_cached(&sql)?.query_row(params_from_iter(row), |found| found.get(0))?)
}

pub(super) fn where_key(change: &TableChange) -> String {
    let key = change.columns.iter().take(change.key_count).enumerate();
    key.map(|(index, column)| format!("\"{column}\" = ?{}", index + 1)).collect::<Vec<_>>().join(" AND ")
}

fn assignments(columns: &[String], before: usize) -> String {
    let columns = columns.iter().enumerate();
    columns.map(|(index, column)| format!("\"{column}\" = ?{}", index + 1 + before)).collect::<Vec<_>>().join(", ")
}
