//! Whether the database is as it should be, for people who ask.

use crate::{Store, StoreError, schema};

/// The state of a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// Its schema.
    pub schema: i64,
    /// The newest schema that is known.
    pub schema_known: i64,
    /// SQLite's version.
    pub sqlite: String,
    /// How it is journalled.
    pub journal_mode: String,
    /// What a quick check of its structure said; `ok` is good.
    pub check: String,
    /// Sessions in it.
    pub sessions: u64,
    /// Open branches in it.
    pub open_branches: u64,
    /// Events in it.
    pub events: u64,
}

impl Store {
    /// Looks the database over.
    pub async fn health(&self) -> Result<Health, StoreError> {
        self.read(|transaction| {
            let text = |sql: &str| transaction.query_row(sql, [], |row| row.get::<_, String>(0));
            let number = |sql: &str| transaction.query_row(sql, [], |row| row.get::<_, u64>(0));
            Ok(Health {
                schema: transaction.pragma_query_value(None, "user_version", |row| row.get(0))?,
                schema_known: schema::KNOWN,
                sqlite: text("SELECT sqlite_version()")?,
                journal_mode: text("PRAGMA journal_mode")?,
                check: text("PRAGMA quick_check(1)")?,
                sessions: number("SELECT count(*) FROM sessions")?,
                open_branches: number("SELECT count(*) FROM branches WHERE open = 1")?,
                events: number("SELECT count(*) FROM events")?,
            })
        })
        .await
    }
}
