//! Snapshots: what a session is resumed from after a compaction. A session has at most one, the newest.

use rusqlite::{OptionalExtension, params};

use crate::{SessionKey, Store, StoreError};

/// What a session is resumed from after a compaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The messages, as the engine serialised them.
    pub messages: String,
    /// How many tokens the messages have.
    pub token_count: u64,
}

impl Store {
    /// Stores a snapshot and replaces the session's previous one.
    pub async fn save_snapshot(&self, session: SessionKey, snapshot: Snapshot) -> Result<(), StoreError> {
        let work = move |transaction: &rusqlite::Transaction<'_>| {
            transaction
                .prepare_cached(
                    "INSERT INTO session_snapshots (session_id, messages, token_count) VALUES (?1, ?2, ?3)
                     ON CONFLICT (session_id) DO UPDATE
                     SET messages = ?2, token_count = ?3, created_at = datetime('now')",
                )?
                .execute(params![session.as_text(), snapshot.messages, snapshot.token_count])?;
            Ok(())
        };
        self.inner.writer.run(work).await
    }

    /// Reads the newest snapshot; `None` if the session has none.
    pub async fn snapshot(&self, session: SessionKey) -> Result<Option<Snapshot>, StoreError> {
        self.fresh().await?;
        self.read(move |transaction| {
            let found = transaction
                .prepare_cached("SELECT messages, token_count FROM session_snapshots WHERE session_id = ?1")?
                .query_row([session.as_text()], |row| Ok(Snapshot { messages: row.get(0)?, token_count: row.get(1)? }))
                .optional()?;
            Ok(found)
        })
        .await
    }
}
