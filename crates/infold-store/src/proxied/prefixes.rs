//! Sessions of clients that give no ids: they are found by how their conversations begin.

use infold_core::{Owner, SessionId};
use rusqlite::{OptionalExtension, params};

use crate::load::session_key;
use crate::{SessionKey, Store, StoreError};

/// How many prefixes are stored of one session. Each request repeats all shorter prefixes, so only a client that goes
/// back far needs an old one.
const PER_SESSION_MAX: usize = 64;

impl Store {
    /// Finds the session that the longest stored one of these prefixes belongs to. `digests` begins with the shortest.
    pub async fn find_by_prefix(&self, owner: Owner, digests: Vec<[u8; 32]>) -> Result<Option<SessionId>, StoreError> {
        self.fresh().await?;
        self.read_little(move |transaction| {
            for digest in digests.iter().rev() {
                let found = transaction
                    .prepare_cached(
                        "SELECT sessions.owner, sessions.name FROM chains JOIN sessions ON sessions.id = session_id
                         WHERE digest = ?1",
                    )?
                    .query_row([of_owner(&owner, digest)], |row| Ok((row.get(0)?, row.get(1)?)))
                    .optional()?;
                if let Some(found) = found {
                    return Ok(Some(session_key(found)?.id));
                }
            }
            Ok(None)
        })
        .await
    }

    /// Stores how a conversation of a session begins. Returns whether it did: a session that is not stored cannot be
    /// found again.
    pub async fn store_prefix(&self, key: SessionKey, digest: [u8; 32]) -> Result<bool, StoreError> {
        let text = key.as_text();
        if self.revision(key.clone()).await?.is_none() {
            return Ok(false);
        }
        let digest = of_owner(&key.owner, &digest);
        self.inner
            .writer
            .run(move |transaction| {
                let inserted = transaction
                    .prepare_cached(
                        "INSERT INTO chains (digest, session_id) SELECT ?1, id FROM sessions WHERE id = ?2
                         ON CONFLICT (digest) DO UPDATE SET session_id = ?2",
                    )?
                    .execute(params![digest, text])?;
                transaction
                    .prepare_cached(
                        "DELETE FROM chains WHERE session_id = ?1 AND rowid <= (
                             SELECT rowid FROM chains WHERE session_id = ?1 ORDER BY rowid DESC LIMIT 1 OFFSET ?2)",
                    )?
                    .execute(params![text, PER_SESSION_MAX])?;
                Ok(inserted > 0)
            })
            .await
    }
}

/// Adds the owner to a digest, because somebody else's conversation may begin with the same words.
fn of_owner(owner: &Owner, digest: &[u8; 32]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(owner.as_str().as_bytes()).update(b"/").update(digest);
    hasher.finalize().into()
}
