//! Seeing what a transaction changes, by triggers that exist on the writer's connection alone. They note the keys of rows
//! that are touched; what a row has become is read when the transaction is about to end.

use rusqlite::{Connection, Transaction};

use super::entry::{Cell, LogEntry, TableChange};
use super::tables::{SharedTable, list, shared};
use crate::{StoreError, schema};

/// How many triggers a table has: for rows that are added, edited and removed.
const TRIGGERS_EACH: usize = 3;

/// Notes changes on one connection.
pub(super) struct Capture {
    tables: Vec<Captured>,
}

struct Captured {
    table: SharedTable,
    /// Reads what became of the rows that were noted.
    read: String,
    forget: String,
}

impl Capture {
    /// Begins to note what changes on the connection.
    pub(super) fn install(connection: &Connection) -> Result<Self, StoreError> {
        // Without it a row that an `INSERT OR REPLACE` displaces would go unseen.
        connection.pragma_update(None, "recursive_triggers", "ON")?;
        let tables = shared(connection)?;
        for table in &tables {
            connection.execute_batch(&triggers(table))?;
        }
        Ok(Self { tables: tables.into_iter().map(Captured::new).collect() })
    }

    /// Whether a table was made anew since, so that it has no triggers any more.
    pub(super) fn is_outdated(&self, connection: &Connection) -> Result<bool, StoreError> {
        let sql = "SELECT (SELECT count(*) FROM temp.sqlite_schema WHERE type = 'trigger')";
        let triggers: usize = connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
        Ok(triggers != self.tables.len() * TRIGGERS_EACH)
    }

    /// Returns what the transaction has changed so far, and forgets it. `None` if it is nothing that machines share.
    pub(super) fn take(&self, transaction: &Transaction<'_>) -> Result<Option<LogEntry>, StoreError> {
        let mut entry = LogEntry { schema: schema::KNOWN, tables: Vec::new() };
        // A table that the transaction itself made anew has the same rows on every machine.
        let is_outdated = self.is_outdated(transaction)?;
        for captured in self.tables.iter().filter(|captured| !is_outdated || captured.is_lasting()) {
            if let Some(change) = captured.read(transaction)? {
                transaction.prepare_cached(&captured.forget)?.execute([])?;
                entry.tables.push(change);
            }
        }
        Ok(if entry.tables.is_empty() { None } else { Some(entry) })
    }

    /// Forgets what was noted.
    pub(super) fn forget(&self, transaction: &Transaction<'_>) -> Result<(), StoreError> {
        for captured in &self.tables {
            transaction.prepare_cached(&captured.forget)?.execute([])?;
        }
        Ok(())
    }
}

impl Captured {
    /// Whether the table is one of the schema's own, which are never made anew.
    fn is_lasting(&self) -> bool {
        self.table.source == self.table.target
    }

    fn new(table: SharedTable) -> Self {
        let noted = noted_keys(table.key.len());
        let on: Vec<String> =
            table.key.iter().zip(&noted).map(|(key, noted)| format!("t.\"{key}\" = n.\"{noted}\"")).collect();
        let read = format!(
            "SELECT {}, {} FROM temp.\"changed_{name}\" n LEFT JOIN main.\"{name}\" t ON {}",
            list(&noted, "n."),
            list(&table.columns, "t."),
            on.join(" AND "),
            name = table.source,
        );
        let forget = format!("DELETE FROM temp.\"changed_{}\"", table.source);
        Self { table, read, forget }
    }

    fn read(&self, transaction: &Transaction<'_>) -> Result<Option<TableChange>, StoreError> {
        let key_count = self.table.key.len();
        let (mut gone, mut rows) = (Vec::new(), Vec::new());
        let mut statement = transaction.prepare_cached(&self.read)?;
        let mut found = statement.query([])?;
        while let Some(row) = found.next()? {
            let cells = |from: usize, count: usize| -> rusqlite::Result<Vec<Cell>> {
                (from..from + count).map(|index| Ok(row.get_ref(index)?.into())).collect()
            };
            // A row that is there has its whole key.
            if matches!(row.get_ref(key_count)?, rusqlite::types::ValueRef::Null) {
                gone.push(cells(0, key_count)?);
            } else {
                rows.push(cells(key_count, self.table.columns.len())?);
            }
        }
        if gone.is_empty() && rows.is_empty() {
            return Ok(None);
        }
        let columns = self.table.target_columns.clone();
        Ok(Some(TableChange { table: self.table.target.clone(), columns, key_count, gone, rows }))
    }
}

/// Names of the columns that a key is noted in.
fn noted_keys(count: usize) -> Vec<String> {
    (0..count).map(|index| format!("k{index}")).collect()
}

fn triggers(table: &SharedTable) -> String {
    let name = &table.source;
    let noted = list(&noted_keys(table.key.len()), "");
    // `OR IGNORE` would not do: the statement that the trigger belongs to may say otherwise.
    let note = |row: &str| {
        let key = list(&table.key, row);
        let same: Vec<String> = table
            .key
            .iter()
            .zip(noted_keys(table.key.len()))
            .map(|(key, noted)| format!("\"{noted}\" = {row}\"{key}\""))
            .collect();
        let is_noted = format!("SELECT 1 FROM \"changed_{name}\" WHERE {}", same.join(" AND "));
        format!("INSERT INTO \"changed_{name}\" SELECT {key} WHERE NOT EXISTS ({is_noted});")
    };
    // What a machine has for itself in a shared row is nobody else's business.
    let of = list(&table.columns.iter().filter(|column| *column != "rowid").cloned().collect::<Vec<_>>(), "");
    format!(
        "CREATE TEMP TABLE IF NOT EXISTS \"changed_{name}\" ({noted}, PRIMARY KEY ({noted})) WITHOUT ROWID;
         CREATE TEMP TRIGGER IF NOT EXISTS \"added_{name}\" AFTER INSERT ON main.\"{name}\" BEGIN {added} END;
         CREATE TEMP TRIGGER IF NOT EXISTS \"edited_{name}\" AFTER UPDATE OF {of} ON main.\"{name}\"
         BEGIN {removed} {added} END;
         CREATE TEMP TRIGGER IF NOT EXISTS \"removed_{name}\" AFTER DELETE ON main.\"{name}\" BEGIN {removed} END;",
        added = note("NEW."),
        removed = note("OLD."),
    )
}
