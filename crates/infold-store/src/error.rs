//! What can go wrong in the store. None of it is the caller's to put right except [`StoreError::Moved`],
//! which asks to decide again.

use infold_core::BranchId;
use infold_core::memory::MemoryId;

/// Why the store could not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The session has moved on since the decision was made.
    #[error("the session has moved on: decide again")]
    Moved,
    /// The database already holds as many open branches as it may.
    #[error("the instance has {open_max} open branches, which is its limit")]
    InstanceFull {
        /// How many branches may be open in the database.
        open_max: u64,
    },
    /// The session's owner has as many open branches as leaves room for others.
    #[error("the session's owner has {open} open branches, which is its share")]
    ShareUsed {
        /// How many branches of the owner are open.
        open: u64,
    },
    /// The id of a new branch is already used in another session. Ids are random, so the random source repeats itself.
    #[error("branch id {0} exists already")]
    IdTaken(BranchId),
    /// Another process kept the database locked for too long.
    #[error("the database was locked by another process for too long: try again")]
    Busy,
    /// The disk is full, so nothing was written.
    #[error("the disk that holds the database is full: free some space")]
    DiskFull,
    /// What has to be written at once is longer than an entry of the shared log may be. Nothing was written.
    #[error("{bytes} bytes would have to be written at once, and {bytes_max} is the limit")]
    TooLong {
        /// How long it is.
        bytes: usize,
        /// How long it may be.
        bytes_max: usize,
    },
    /// The database was made by a newer infold.
    #[error("the database has schema {found}, this infold knows up to {known}: use a newer infold")]
    TooNew {
        /// The schema version that the database has.
        found: i64,
        /// The newest schema version that this program knows.
        known: i64,
    },
    /// The files are not ones that infold can work with. Nothing was changed in them.
    #[error("{path} {problem}: {remedy}")]
    Unfit {
        /// The path of the file that is in the way.
        path: String,
        /// What is wrong with it.
        problem: String,
        /// What its owner can do.
        remedy: String,
    },
    /// The database file is damaged.
    #[error("the database is damaged ({problem}): stop infold and put a copy of the database back")]
    Damaged {
        /// What shows it.
        problem: String,
    },
    /// A stored value cannot be decoded.
    #[error("a stored {what} does not read back: {problem}")]
    Unreadable {
        /// The kind of value, as the message names it.
        what: &'static str,
        /// What the decoder reported.
        problem: String,
    },
    /// The database file, or something else that opening it needs, cannot be made or opened.
    #[error("{path}: {problem}")]
    File {
        /// The file's path, or the name of what else is missing.
        path: String,
        /// What the operating system reported.
        problem: String,
    },
    /// The servers that keep the state cannot be reached, or do not agree. Nothing was written.
    #[error("the cluster ({servers}) cannot be reached: {problem}")]
    Unreachable {
        /// The addresses that were tried.
        servers: String,
        /// What the last attempt ended with.
        problem: String,
    },
    /// The servers were sent a write and did not answer. It may be found in the log later.
    #[error("the cluster ({servers}) has not said whether the write is stored: {problem}: look before you repeat it")]
    Unknown {
        /// The addresses that were tried.
        servers: String,
        /// What the last attempt ended with.
        problem: String,
    },
    /// Any other error of SQLite's.
    #[error("database: {0}")]
    Sql(String),
    /// The index of the memories' words is missing or damaged. It can be made anew from the memories.
    #[error("the index of the memories cannot be read ({problem}): `infold memory` makes it anew")]
    NoMemoryIndex {
        /// What SQLite reported.
        problem: String,
    },
    /// An owner has as many memories as may be, and none of them may make room.
    #[error("there are {memories_max} memories, which is the limit: forget some first")]
    MemoriesFull {
        /// How many memories an owner may have.
        memories_max: u64,
    },
    /// The memory that was named is not there, or is another owner's.
    #[error("no memory {0}")]
    UnknownMemory(MemoryId),
    /// The store is shutting down and takes no more work.
    #[error("the store is shutting down")]
    Closed,
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode;
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy,
            Some(ErrorCode::DiskFull) => Self::DiskFull,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Damaged { problem: error.to_string() },
            _ => Self::Sql(error.to_string()),
        }
    }
}
