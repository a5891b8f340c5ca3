//! An entry of the shared log: the rows that one transaction changed, as they are after it.
//!
//! An entry names the columns that it has, so that a newer infold, whose tables have more of them, can still apply it.

use rusqlite::ToSql;
use rusqlite::types::{ToSqlOutput, ValueRef};
use serde::{Deserialize, Serialize};

use crate::StoreError;

/// The first byte of an entry: how the rest is written.
const FORMAT: u8 = 1;
/// zstd's level. Entries are small, and somebody waits for them.
const LEVEL: i32 = 1;
/// The longest entry that is written and read, in bytes, before it is packed.
const BYTES_MAX: usize = 512 * 1024 * 1024;
/// The same, packed: what cannot be packed becomes a little longer.
pub(super) const PACKED_BYTES_MAX: usize = BYTES_MAX + BYTES_MAX / 64;

/// What one transaction changed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct LogEntry {
    /// The schema of the database that it was made on.
    pub schema: i64,
    /// The changes, table by table.
    pub tables: Vec<TableChange>,
}

/// What changed in one table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct TableChange {
    /// The table that the rows are written to.
    pub table: String,
    /// The names of the columns. The first ones are the key.
    pub columns: Vec<String>,
    /// How many columns the key has.
    pub key_count: usize,
    /// Keys of rows that are gone.
    pub gone: Vec<Vec<Cell>>,
    /// Rows that are new or changed.
    pub rows: Vec<Vec<Cell>>,
}

/// A value in a row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Cell {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    Blob(Vec<u8>),
}

impl Cell {
    /// About how long the value is.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Null | Self::Integer(_) | Self::Real(_) => size_of::<i64>(),
            Self::Text(text) => text.len(),
            Self::Blob(bytes) => bytes.len(),
        }
    }
}

impl From<ValueRef<'_>> for Cell {
    fn from(value: ValueRef<'_>) -> Self {
        match value {
            ValueRef::Null => Self::Null,
            ValueRef::Integer(number) => Self::Integer(number),
            ValueRef::Real(number) => Self::Real(number),
            // Everything that is stored as text came from a `String`.
            ValueRef::Text(text) => Self::Text(String::from_utf8_lossy(text).into_owned()),
            ValueRef::Blob(bytes) => Self::Blob(bytes.to_vec()),
        }
    }
}

impl ToSql for Cell {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Integer(number) => ValueRef::Integer(*number),
            Self::Real(number) => ValueRef::Real(*number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

impl LogEntry {
    pub(super) fn encode(&self) -> Result<Vec<u8>, StoreError> {
        let plain = postcard::to_stdvec(self).map_err(|error| unreadable(&error))?;
        if plain.len() > BYTES_MAX {
            return Err(StoreError::TooLong { bytes: plain.len(), bytes_max: BYTES_MAX });
        }
        let packed = zstd::bulk::compress(&plain, LEVEL).map_err(|error| unreadable(&error))?;
        let mut bytes = Vec::with_capacity(packed.len() + 9);
        bytes.push(FORMAT);
        bytes.extend((plain.len() as u64).to_be_bytes());
        bytes.extend(packed);
        Ok(bytes)
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, StoreError> {
        let Some((&[FORMAT, ref length @ ..], packed)) = bytes.split_first_chunk::<9>() else {
            return Err(unreadable(&"it is cut short, or a newer infold has written it"));
        };
        let length = usize::try_from(u64::from_be_bytes(*length)).unwrap_or(usize::MAX);
        if length > BYTES_MAX {
            return Err(unreadable(&format!("it has {length} bytes; {BYTES_MAX} is the limit")));
        }
        let plain = zstd::bulk::decompress(packed, length).map_err(|error| unreadable(&error))?;
        postcard::from_bytes(&plain).map_err(|error| unreadable(&error))
    }
}

/// One row as bytes, for hashing.
pub(super) fn encode_row(cells: &[Cell]) -> Result<Vec<u8>, StoreError> {
    postcard::to_stdvec(cells).map_err(|error| unreadable(&error))
}

fn unreadable(problem: &dyn std::fmt::Display) -> StoreError {
    StoreError::Unreadable { what: "entry of the shared log", problem: problem.to_string() }
}
