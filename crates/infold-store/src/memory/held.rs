//! Text of memories that live sessions hold: their logs are never changed, so it stays until they lapse.

use infold_core::memory::MemoryId;
use infold_core::{BranchId, Owner, SessionId};
use rusqlite::{Transaction, params};

use crate::StoreError;
use crate::codec::to_json;
use crate::requests::parse_session_id;

/// When the text that a session holds goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextLapse {
    /// When nobody has used the session for as long as live sessions are kept.
    WithLiveSessions,
    /// When nobody has used it for as long as ended branches are kept: a client's transcript refers to it.
    WithArchive,
}

/// A session that still holds text of memories that were forgotten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldText {
    /// The session.
    pub session: SessionId,
    /// The branch whose opening quotes it; `None` where the session's own log has the work that it was learnt from.
    pub branch: Option<BranchId>,
    /// When the session was used last, in milliseconds since 1970.
    pub active_at_ms: u64,
    /// After which time it lapses.
    pub lapse: TextLapse,
}

const COLUMNS: &str = "sessions.name, sessions.active_at, substr(sessions.name, 1, length(?3)) = ?3
     OR EXISTS (SELECT 1 FROM proxied WHERE proxied.session_id = sessions.id)";

/// Live sessions with branches whose openings quote any of these memories.
pub(super) fn in_openings(
    transaction: &Transaction<'_>,
    owner: &Owner,
    ids: &[MemoryId],
) -> Result<Vec<HeldText>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS}, branch FROM memory_shown JOIN branches ON branches.id = branch
         JOIN sessions ON sessions.id = branches.session_id
         WHERE memory_shown.owner = ?1 AND EXISTS (SELECT 1 FROM json_each(memories) AS given
             JOIN json_each(?2) AS gone ON given.value ->> 'id' = gone.value)
         ORDER BY memory_shown.at, branch"
    );
    read(transaction, &sql, owner, &to_json("memories", &ids)?)
}

/// Those of these sessions that are live: their logs have what was said in the branches that were learnt from.
pub(super) fn in_logs(
    transaction: &Transaction<'_>,
    owner: &Owner,
    sessions: &[SessionId],
) -> Result<Vec<HeldText>, StoreError> {
    let sql = format!(
        "SELECT {COLUMNS}, NULL FROM sessions WHERE owner = ?1 AND name IN (SELECT value FROM json_each(?2)) ORDER BY name"
    );
    let names: Vec<&str> = sessions.iter().map(SessionId::as_str).collect();
    read(transaction, &sql, owner, &to_json("sessions", &names)?)
}

fn read(transaction: &Transaction<'_>, sql: &str, owner: &Owner, list: &str) -> Result<Vec<HeldText>, StoreError> {
    let mut statement = transaction.prepare_cached(sql)?;
    let mut rows = statement.query(params![owner.as_str(), list, SessionId::RESCUED])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let stays_long: bool = row.get(2)?;
        found.push(HeldText {
            session: parse_session_id(row.get(0)?)?,
            active_at_ms: row.get(1)?,
            lapse: if stays_long { TextLapse::WithArchive } else { TextLapse::WithLiveSessions },
            branch: row.get::<_, Option<String>>(3)?.map(BranchId::from_stored),
        });
    }
    Ok(found)
}
