//! Answers to calls with an idempotency key, for calls that are repeated.

use rusqlite::{Transaction, params};

use crate::StoreError;

/// An answer that is stored so that a repeated call with the same idempotency key gets it again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The idempotency key that the caller chose.
    pub key: String,
    /// A hash of the request. It distinguishes a repeated call from another call that reuses the key by mistake.
    pub fingerprint: [u8; 32],
    /// The answer, as the engine serialised it.
    pub answer: String,
}

pub(crate) fn write(transaction: &Transaction<'_>, key: &str, reply: &Reply) -> Result<(), StoreError> {
    let inserted = transaction
        .prepare_cached("INSERT OR IGNORE INTO replies (session_id, key, fingerprint, answer) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![key, reply.key, reply.fingerprint, reply.answer])?;
    // Another call with this key was stored first: loading the session again finds its answer.
    if inserted == 1 { Ok(()) } else { Err(StoreError::Moved) }
}
