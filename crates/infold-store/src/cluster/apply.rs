//! Writing an entry of the shared log into an index, and noting how far the index has come.

use rusqlite::{OptionalExtension, Transaction, params, params_from_iter};

use super::entry::{Cell, LogEntry, TableChange};
use super::tables;
use crate::{StoreError, schema};

/// What SQLite says of a row that may not be there beside another.
const CONSTRAINT: &str = "constraint failed";

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

    /// Whether this is the chain as a message of the log has it.
    pub(super) fn has_chain(&self, written: &str) -> bool {
        blake3::Hash::from_bytes(self.chain).to_hex().as_str() == written
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

/// Writes what an entry of the log changed, on a connection that does not mind foreign keys: what goes because of them is in the
/// entry.
pub(super) fn apply(transaction: &Transaction<'_>, entry: &LogEntry) -> Result<(), StoreError> {
    transaction.execute_batch("SAVEPOINT entry")?;
    if let Err(error) = write_rows(transaction, entry) {
        if !matches!(&error, StoreError::Sql(problem) if problem.contains(CONSTRAINT)) {
            return Err(error);
        }
        // Rows that have exchanged what may be there once cannot be changed one after the other.
        transaction.execute_batch("ROLLBACK TO entry")?;
        write_rows_anew(transaction, entry)?;
    }
    Ok(transaction.execute_batch("RELEASE entry")?)
}

/// Writes rows over those that are there.
pub(super) fn write_rows(transaction: &Transaction<'_>, entry: &LogEntry) -> Result<(), StoreError> {
    if entry.schema > schema::KNOWN {
        return Err(StoreError::TooNew { found: entry.schema, known: schema::KNOWN });
    }
    // Rows that refer to each other may come in any order; what has to be there is there at the end.
    transaction.pragma_update(None, "defer_foreign_keys", "ON")?;
    for table in &entry.tables {
        remove(transaction, table, &table.gone)?;
    }
    for table in &entry.tables {
        write(transaction, table)?;
    }
    Ok(())
}

/// Removes all rows that an entry names, and adds those that it has.
fn write_rows_anew(transaction: &Transaction<'_>, entry: &LogEntry) -> Result<(), StoreError> {
    // What a machine has for itself in a row must stay.
    let (kept, tables): (Vec<_>, Vec<_>) = entry.tables.iter().partition(|table| tables::has_own_columns(&table.table));
    for table in &tables {
        let keys: Vec<Vec<Cell>> = table.rows.iter().map(|row| row[..table.key_count].to_vec()).collect();
        remove(transaction, table, &table.gone)?;
        remove(transaction, table, &keys)?;
    }
    for table in kept.into_iter().chain(tables) {
        write(transaction, table)?;
    }
    Ok(())
}

fn remove(transaction: &Transaction<'_>, change: &TableChange, keys: &[Vec<Cell>]) -> Result<(), StoreError> {
    let sql = format!("DELETE FROM main.\"{}\" WHERE {}", change.table, where_key(change));
    let mut statement = transaction.prepare_cached(&sql)?;
    for key in keys {
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
    let columns = tables::list(&change.columns, "");
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
