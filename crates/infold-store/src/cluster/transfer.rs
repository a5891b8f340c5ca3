//! Copying everything that machines share from one store to another: from a machine's own file into the shared log, or back.
//!
//! Rows that the other store has already are passed over, so a copy that was cut off goes on where it was.

use rusqlite::{Transaction, params_from_iter};
use tokio::sync::mpsc;

use super::apply;
use super::entry::{Cell, LogEntry, TableChange};
use super::tables::{self, SharedTable, list};
use crate::{Store, StoreError, schema};

/// How much is copied at once, in rows and bytes, about.
const ROWS_AT_ONCE: usize = 500;
const BYTES_AT_ONCE: usize = 4 * 1024 * 1024;
/// How many batches may wait to be written.
const BATCHES_WAITING: usize = 2;

/// What a copy did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Copied {
    /// How many rows were looked at.
    pub rows: u64,
    /// How many of them the other store lacked.
    pub written: u64,
    /// The hash over all shared rows, which both stores have now.
    pub digest: String,
}

impl Store {
    /// Copies everything that machines share into another store, and compares the two. `said` learns how many rows were
    /// done so far. Nobody may write to either store meanwhile.
    pub async fn copy_shared_to(&self, other: &Self, said: impl Fn(u64)) -> Result<Copied, StoreError> {
        if self.secret() != other.secret() {
            return Err(differs("has another key", "copy infold.key first: `infold store key`"));
        }
        self.check_has_all_rows_of(other).await?;
        let (batches, mut waiting) = mpsc::channel(BATCHES_WAITING);
        let reading = self.read(move |transaction| send_rows(transaction, &batches));
        // Whoever reads waits no longer once this has failed.
        let writing = async move {
            let mut copied = Copied::default();
            while let Some(batch) = waiting.recv().await {
                copied.rows += batch.rows.len() as u64;
                copied.written += other.inner.writer.run(move |transaction| write_missing(transaction, &batch)).await?;
                said(copied.rows);
            }
            Ok(copied)
        };
        let (read, written): (Result<(), StoreError>, Result<Copied, StoreError>) = tokio::join!(reading, writing);
        let copied = written?;
        read?;
        let (here, there) = (self.shared_digest().await?, other.shared_digest().await?);
        if here != there {
            return Err(differs("differs from what was copied", "stop every infold that uses either, and copy again"));
        }
        Ok(Copied { digest: here, ..copied })
    }

    /// Refuses another store that has something that this one has not, or has otherwise: it would be written over.
    async fn check_has_all_rows_of(&self, other: &Self) -> Result<(), StoreError> {
        let (batches, mut waiting) = mpsc::channel(BATCHES_WAITING);
        let reading = other.read(move |transaction| send_rows(transaction, &batches));
        let comparing = async move {
            while let Some(batch) = waiting.recv().await {
                let table = batch.table.clone();
                let here = self.read(move |transaction| missing(transaction, &batch)).await?;
                // The row that every database begins with says how far others have come.
                if table != tables::FIRST && !here.is_empty() {
                    let remedy = "copy into one that has nothing: another store.nats.stream, or another data folder";
                    return Err(differs(&format!("has something of its own ({table})"), remedy));
                }
            }
            Ok(())
        };
        let (read, compared): (Result<(), StoreError>, Result<(), StoreError>) = tokio::join!(reading, comparing);
        compared?;
        read
    }
}

fn differs(problem: &str, remedy: &str) -> StoreError {
    StoreError::Unfit { path: "the other store".to_owned(), problem: problem.to_owned(), remedy: remedy.to_owned() }
}

pub(super) fn send_rows(transaction: &Transaction<'_>, batches: &mpsc::Sender<TableChange>) -> Result<(), StoreError> {
    let mut shared = tables::shared(transaction)?;
    // What others refer to comes before what refers to it.
    let references = |table: &SharedTable| -> Result<u64, StoreError> {
        let sql = "SELECT count(*) FROM pragma_foreign_key_list(?1)";
        Ok(transaction.query_row(sql, [&table.source], |row| row.get(0))?)
    };
    let counted: Vec<u64> = shared.iter().map(references).collect::<Result<_, _>>()?;
    let mut order: Vec<(u64, SharedTable)> = counted.into_iter().zip(shared.drain(..)).collect();
    order.sort_by_key(|(references, _)| *references);
    for (_, table) in order {
        send_table(transaction, &table, batches)?;
    }
    Ok(())
}

fn send_table(
    transaction: &Transaction<'_>,
    table: &SharedTable,
    batches: &mpsc::Sender<TableChange>,
) -> Result<(), StoreError> {
    let (columns, key) = (list(&table.columns, ""), list(&table.key, ""));
    let mut statement =
        transaction.prepare(&format!("SELECT {columns} FROM main.\"{}\" ORDER BY {key}", table.source))?;
    let mut rows = statement.query([])?;
    let (mut batch, mut bytes) = (Vec::new(), 0);
    loop {
        let row = rows.next()?;
        let is_full = batch.len() >= ROWS_AT_ONCE || bytes >= BYTES_AT_ONCE;
        if (row.is_none() || is_full) && !batch.is_empty() {
            let change = TableChange {
                table: table.target.clone(),
                columns: table.target_columns.clone(),
                key_count: table.key.len(),
                gone: Vec::new(),
                rows: std::mem::take(&mut batch),
            };
            bytes = 0;
            batches.blocking_send(change).map_err(|_| StoreError::Closed)?;
        }
        let Some(row) = row else { return Ok(()) };
        let cells: Vec<Cell> =
            (0..table.columns.len()).map(|index| Ok(row.get_ref(index)?.into())).collect::<rusqlite::Result<_>>()?;
        bytes += cells.iter().map(Cell::bytes).sum::<usize>();
        batch.push(cells);
    }
}

/// Writes the rows that are not there, or are different. Returns how many that were.
fn write_missing(transaction: &Transaction<'_>, batch: &TableChange) -> Result<u64, StoreError> {
    let rows = missing(transaction, batch)?;
    let count = rows.len() as u64;
    let change = TableChange { rows, ..batch.clone() };
    apply::write_rows(transaction, &LogEntry { schema: schema::KNOWN, tables: vec![change] })?;
    Ok(count)
}

/// The rows of a batch that are not there, or are different.
fn missing(transaction: &Transaction<'_>, batch: &TableChange) -> Result<Vec<Vec<Cell>>, StoreError> {
    let sql =
        format!("SELECT {} FROM main.\"{}\" WHERE {}", list(&batch.columns, ""), batch.table, apply::where_key(batch));
    let mut missing = Vec::new();
    for row in &batch.rows {
        let mut statement = transaction.prepare_cached(&sql)?;
        let mut found = statement.query(params_from_iter(&row[..batch.key_count]))?;
        let there: Option<Vec<Cell>> = match found.next()? {
            Some(found) => {
                Some((0..row.len()).map(|index| Ok(found.get_ref(index)?.into())).collect::<rusqlite::Result<_>>()?)
            }
            None => None,
        };
        if there.as_ref() != Some(row) {
            missing.push(row.clone());
        }
    }
    Ok(missing)
}
