//! Which tables machines share, and how their rows are named. What the schema says decides: a table is shared unless it is
//! listed here as a machine's own.

use rusqlite::Connection;

use super::entry::Cell;
use crate::StoreError;

/// Tables that each machine has for itself: what it measured, the servers that it runs, and how far it has read.
const OWN: [&str; 8] = [
    "calibration",
    "cluster",
    "gateway_approvals",
    "gateway_calls",
    "gateway_definitions",
    "gateway_servers",
    "request_totals",
    "requests",
];
/// Columns of shared tables that each machine has for itself.
const OWN_COLUMNS: [(&str, &str); 2] = [(FIRST, "secret"), (FIRST, "touched")];
/// The index of memories' words. Its rows are seen where SQLite keeps them, and written through the index.
const WORDS: (&str, &str) = ("memory_words_content", "memory_words");

/// The table with the row that every database begins with.
pub(super) const FIRST: &str = "instance";

/// A table that machines share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SharedTable {
    /// Where its rows are read and seen to change.
    pub source: String,
    /// Where they are written.
    pub target: String,
    /// The columns that name a row, in the source.
    pub key: Vec<String>,
    /// All columns of the source, the key's first.
    pub columns: Vec<String>,
    /// The same columns as the target calls them.
    pub target_columns: Vec<String>,
}

/// Lists the shared tables of a database, in the order of their names.
pub(super) fn shared(connection: &Connection) -> Result<Vec<SharedTable>, StoreError> {
    let sql = "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' ORDER BY name";
    let mut statement = connection.prepare(sql)?;
    let names = statement.query_map([], |row| row.get(0))?;
    let mut shared = Vec::new();
    for named in names {
        let name: String = named?;
        if !name.starts_with("sqlite_") && !OWN.contains(&name.as_str()) {
            shared.push(describe(connection, &name)?);
        }
    }
    shared.extend(words(connection)?);
    Ok(shared)
}

/// Whether machines have something for themselves in a shared table's rows.
pub(super) fn has_own_columns(table: &str) -> bool {
    OWN_COLUMNS.iter().any(|(of, _)| *of == table)
}

struct TableColumn {
    name: String,
    kind: String,
    /// Its place in the primary key, from 1; 0 if it is not part of it.
    in_key: u32,
}

fn columns(connection: &Connection, table: &str) -> Result<Vec<TableColumn>, StoreError> {
    let mut statement = connection.prepare("SELECT name, type, pk FROM pragma_table_info(?1) ORDER BY cid")?;
    let found = statement
        .query_map([table], |row| Ok(TableColumn { name: row.get(0)?, kind: row.get(1)?, in_key: row.get(2)? }))?;
    Ok(found.collect::<Result<_, _>>()?)
}

fn describe(connection: &Connection, table: &str) -> Result<SharedTable, StoreError> {
    let has_no_rowid: bool = connection
        .prepare_cached("SELECT wr FROM pragma_table_list WHERE schema = 'main' AND name = ?1")?
        .query_row([table], |row| row.get(0))?;
    let mut found = columns(connection, table)?;
    found.retain(|column| !OWN_COLUMNS.contains(&(table, column.name.as_str())));
    let mut in_key: Vec<&TableColumn> = found.iter().filter(|column| column.in_key > 0).collect();
    in_key.sort_by_key(|column| column.in_key);
    let is_row_number = matches!(in_key.as_slice(), [only] if only.kind == "INTEGER");
    // A table with another key, or none, has row numbers beside its columns. They are the same on every machine.
    let key: Vec<String> = if has_no_rowid || is_row_number {
        in_key.iter().map(|column| column.name.clone()).collect()
    } else {
        vec!["rowid".to_owned()]
    };
    let others = found.into_iter().map(|column| column.name).filter(|name| !key.contains(name));
    let columns: Vec<String> = key.iter().cloned().chain(others).collect();
    Ok(SharedTable {
        source: table.to_owned(),
        target: table.to_owned(),
        target_columns: columns.clone(),
        key,
        columns,
    })
}

/// The index of memories' words; `None` if it is damaged, until it is made anew.
fn words(connection: &Connection) -> Result<Option<SharedTable>, StoreError> {
    let (source, target) = WORDS;
    let is_there = "SELECT EXISTS (SELECT 1 FROM main.sqlite_schema WHERE name = ?1)";
    for name in [source, target] {
        if !connection.prepare_cached(is_there)?.query_row([name], |row| row.get::<_, bool>(0))? {
            return Ok(None);
        }
    }
    let named = |table: &str| -> Result<Vec<String>, StoreError> {
        Ok(columns(connection, table)?.into_iter().map(|column| column.name).collect())
    };
    let Ok(fields) = named(target) else { return Ok(None) };
    let target_columns = std::iter::once("rowid".to_owned()).chain(fields).collect();
    Ok(Some(SharedTable {
        source: source.to_owned(),
        target: target.to_owned(),
        key: vec!["id".to_owned()],
        columns: named(source)?,
        target_columns,
    }))
}

/// Whether no shared table has a row, apart from the one that every database begins with.
pub(super) fn is_empty(connection: &Connection) -> Result<bool, StoreError> {
    for table in shared(connection)?.iter().filter(|table| table.source != FIRST) {
        let sql = format!("SELECT EXISTS (SELECT 1 FROM main.\"{}\")", table.source);
        if connection.query_row(&sql, [], |row| row.get(0))? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Changes nothing, in a way that an entry comes of it.
pub(super) fn touch(connection: &Connection) -> Result<(), StoreError> {
    connection.execute("UPDATE instance SET floor = floor", [])?;
    Ok(())
}

/// Removes all shared rows, apart from the one that every database begins with.
pub(super) fn clear(connection: &Connection) -> Result<(), StoreError> {
    // Rows that refer to each other may go in any order.
    connection.pragma_update(None, "defer_foreign_keys", "ON")?;
    for table in shared(connection)?.iter().filter(|table| table.source != FIRST) {
        connection.execute(&format!("DELETE FROM main.\"{}\"", table.target), [])?;
    }
    Ok(())
}

/// Writes names as SQL does, with commas between them and something before each.
pub(super) fn list(names: &[String], before: &str) -> String {
    names.iter().map(|name| format!("{before}\"{name}\"")).collect::<Vec<_>>().join(", ")
}

/// Hashes all shared rows, in the order of their keys.
pub(super) fn digest(connection: &Connection) -> Result<String, StoreError> {
    let mut hasher = blake3::Hasher::new();
    for table in shared(connection)? {
        let sql = format!(
            "SELECT {} FROM main.\"{}\" ORDER BY {}",
            list(&table.columns, ""),
            table.source,
            list(&table.key, "")
        );
        hasher.update(table.source.as_bytes());
        let mut statement = connection.prepare(&sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let cells: Vec<Cell> = (0..table.columns.len())
                .map(|index| Ok(row.get_ref(index)?.into()))
                .collect::<rusqlite::Result<_>>()?;
            hasher.update(&super::entry::encode_row(&cells)?);
        }
    }
    Ok(hasher.finalize().to_hex().to_string())
}
