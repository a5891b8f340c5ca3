//! The database, looked at from outside while daemons work on it. Nothing is ever written.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;

/// What every packed text begins with.
const PACKED: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// A connection that can only read.
pub struct Database {
    connection: Connection,
}

impl Database {
    /// Opens the database in a data folder for reading.
    pub fn look(data: &Path) -> Result<Self> {
        let path = data.join("infold.db");
        let connection = Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_ONLY)
            .with_context(|| format!("cannot look into {}", path.display()))?;
        connection.busy_timeout(super::PATIENCE)?;
        Ok(Self { connection })
    }

    /// A number that a query gives.
    pub fn number(&self, sql: &str) -> Result<i64> {
        Ok(self.connection.query_row(sql, [], |row| row.get(0))?)
    }

    /// A JSON text that a query gives for `key`.
    pub fn json(&self, sql: &str, key: &str) -> Result<Value> {
        let text: String = self.connection.query_row(sql, [key], |row| row.get(0)).with_context(|| key.to_owned())?;
        Ok(serde_json::from_str(&text)?)
    }

    /// Rows of texts that a query gives, each joined by spaces.
    pub fn rows(&self, sql: &str) -> Result<Vec<String>> {
        let mut statement = self.connection.prepare(sql)?;
        let columns = statement.column_count();
        let mut rows = statement.query([])?;
        let mut texts = Vec::new();
        while let Some(row) = rows.next()? {
            let values: Result<Vec<String>> = (0..columns).map(|at| shown(row.get_ref(at)?)).collect();
            texts.push(values?.join(" "));
        }
        Ok(texts)
    }

    /// Everything that is stored, table by table and row by row, with packed texts unpacked. What a check of readiness
    /// counts up is left out: anybody may ask for that.
    pub fn contents(&self) -> Result<BTreeMap<String, Vec<String>>> {
        let tables = self.rows("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")?;
        tables
            .into_iter()
            .map(|table| {
                let columns = if table == "instance" { "id, secret, learnt, floor" } else { "*" };
                let rows = self.rows(&format!("SELECT {columns} FROM \"{table}\""))?;
                Ok((table, rows))
            })
            .collect()
    }
}

fn shown(value: ValueRef<'_>) -> Result<String> {
    Ok(match value {
        ValueRef::Null => "NULL".to_owned(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
        ValueRef::Blob(bytes) if bytes.starts_with(PACKED) => {
            String::from_utf8_lossy(&zstd::stream::decode_all(bytes)?).into_owned()
        }
        ValueRef::Blob(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
    })
}
