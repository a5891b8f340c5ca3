//! Checks whether the database is as it should be, for people who ask.

use crate::{Store, StoreError, schema};

/// What a check of the database found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// The schema version that the database has.
    pub schema: i64,
    /// The newest schema version that this program knows.
    pub schema_known: i64,
    /// The version of the SQLite library.
    pub sqlite: String,
    /// SQLite's journal mode; infold sets `wal`.
    pub journal_mode: String,
    /// What SQLite's quick check of the file reports; `ok` is good.
    pub check: String,
    /// How many sessions are stored and have not lapsed.
    pub sessions: u64,
    /// How many branches are open, over all sessions.
    pub open_branches: u64,
    /// How many events of those sessions are stored.
    pub events: u64,
}

impl Store {
    /// Checks the database's structure and counts what is in it.
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
