//! What can go wrong in the store. None of it is the caller's to put right except [`StoreError::Moved`],
//! which asks to decide again.

use infold_core::BranchId;

/// What can go wrong in the store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The session has moved on since the decision was made.
    #[error("the session has moved on: decide again")]
    Moved,
    /// The database has its share of open branches.
    #[error("the instance has {open_max} open branches, which is its limit")]
    InstanceFull {
        /// How many may be open.
        open_max: u64,
    },
    /// The id is taken, which for a random one means that the random source repeats itself.
    #[error("branch id {0} exists already")]
    IdTaken(BranchId),
    /// Another process kept the database locked for too long.
    #[error("the database was locked by another process for too long: try again")]
    Busy,
    /// No space is left.
    #[error("the disk that holds the database is full: free some space")]
    DiskFull,
    /// The database was made by a newer infold.
    #[error("the database has schema {found}, this infold knows up to {known}: use a newer infold")]
    TooNew {
        /// The database's schema.
        found: i64,
        /// The newest one that is known.
        known: i64,
    },
    /// A row does not read back.
    #[error("a stored {what} does not read back: {problem}")]
    Unreadable {
        /// What kind of row.
        what: &'static str,
        /// What the reader said.
        problem: String,
    },
    /// The database file cannot be made or opened.
    #[error("{path}: {problem}")]
    File {
        /// The file.
        path: String,
        /// What the system said.
        problem: String,
    },
    /// Whatever else SQLite says.
    #[error("database: {0}")]
    Sql(String),
    /// The store is shutting down.
    #[error("the store is shutting down")]
    Closed,
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode;
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy,
            Some(ErrorCode::DiskFull) => Self::DiskFull,
            _ => Self::Sql(error.to_string()),
        }
    }
}
