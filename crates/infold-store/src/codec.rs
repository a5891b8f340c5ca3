//! How values become columns: JSON as text, and long JSON compressed.

use std::cell::RefCell;

use rusqlite::types::{FromSql, FromSqlResult, ToSqlOutput, Value, ValueRef};
use rusqlite::{Row, ToSql};
use serde::Serialize;
use serde::de::DeserializeOwned;
use zstd::bulk::Compressor;

use crate::StoreError;

/// Shorter payloads are stored as plain text, because compressing them would not pay.
const COMPRESS_BYTES_MIN: usize = 1024;
const COMPRESSION_LEVEL: i32 = 3;
/// What is no longer than this is compressed by a packer that its thread keeps: making one takes longer than using it. It
/// takes memory by the longest text that it has seen.
const SHORT_BYTES_MAX: usize = 16 << 10;
/// Bounds how many bytes a compressed value may unpack to.
const UNPACKED_BYTES_MAX: usize = 256 << 20;

thread_local! {
    static SHORT_PACKER: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
}

pub(crate) fn to_json<T: Serialize>(what: &'static str, value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Unreadable { what, problem: error.to_string() })
}

pub(crate) fn from_json<T: DeserializeOwned>(what: &'static str, json: &str) -> Result<T, StoreError> {
    serde_json::from_str(json).map_err(|error| StoreError::Unreadable { what, problem: error.to_string() })
}

pub(crate) fn column<T: DeserializeOwned>(row: &Row<'_>, index: usize, what: &'static str) -> Result<T, StoreError> {
    from_json(what, row.get_ref(index)?.as_str().map_err(rusqlite::Error::from)?)
}

pub(crate) fn pack(bytes: &[u8]) -> Result<Vec<u8>, StoreError> {
    let packed = if bytes.len() <= SHORT_BYTES_MAX {
        SHORT_PACKER.with_borrow_mut(|packer| match packer {
            Some(packer) => packer.compress(bytes),
            None => packer.insert(Compressor::new(COMPRESSION_LEVEL)?).compress(bytes),
        })
    } else {
        zstd::bulk::compress(bytes, COMPRESSION_LEVEL)
    };
    packed.map_err(|error| StoreError::Unreadable { what: "compressed text", problem: error.to_string() })
}

pub(crate) fn unpack(packed: &[u8]) -> Result<Vec<u8>, StoreError> {
    unpack_at_most(packed, UNPACKED_BYTES_MAX)
}

fn unpack_at_most(packed: &[u8], bytes_max: usize) -> Result<Vec<u8>, StoreError> {
    let unreadable = |problem: String| StoreError::Unreadable { what: "compressed text", problem };
    let mut bytes = Vec::new();
    let reader = zstd::stream::read::Decoder::new(packed).map_err(|error| unreadable(error.to_string()))?;
    // One byte more shows that there would have been more.
    let mut bounded = std::io::Read::take(reader, bytes_max as u64 + 1);
    std::io::Read::read_to_end(&mut bounded, &mut bytes).map_err(|error| unreadable(error.to_string()))?;
    if bytes.len() > bytes_max {
        return Err(unreadable(format!("it has more than {bytes_max} bytes")));
    }
    Ok(bytes)
}

pub(crate) fn unpack_text(packed: &[u8]) -> Result<String, StoreError> {
    String::from_utf8(unpack(packed)?)
        .map_err(|error| StoreError::Unreadable { what: "compressed text", problem: error.to_string() })
}

/// A text in a column: plain if it is short, a compressed BLOB if it is long.
pub(crate) struct Payload(pub(crate) String);

impl ToSql for Payload {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        if self.0.len() < COMPRESS_BYTES_MIN {
            return self.0.to_sql();
        }
        let packed =
            pack(self.0.as_bytes()).map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
        Ok(ToSqlOutput::Owned(Value::Blob(packed)))
    }
}

impl FromSql for Payload {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        match value {
            ValueRef::Blob(packed) => {
                unpack_text(packed).map(Self).map_err(|error| rusqlite::types::FromSqlError::Other(Box::new(error)))
            }
            other => other.as_str().map(|text| Self(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests;
