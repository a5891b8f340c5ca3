//! The logs of infold's own agent: what was said and done in its sessions, record by record. What a record means is the
//! agent's; that it was scrubbed is the type's.
//!
//! What must hold: an append names how many records the log had when it was decided on, and is refused if it has others by
//! now; a log has no gaps.

use infold_core::view::ScrubbedJson;
use infold_core::{Owner, SessionId};
use rusqlite::{Transaction, params};

use crate::codec::Payload;
use crate::{SessionKey, Store, StoreError};

/// How many sessions a list of logs has at most.
const LISTED_MAX: usize = 1_000;

/// A record of an agent's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogRecord {
    /// Its place in the log, counted from 1.
    pub seq: u64,
    /// When it was appended, in milliseconds since 1970.
    pub at_ms: u64,
    /// What it says, as JSON.
    pub json: String,
}

/// The log of a session in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedLog {
    /// The session.
    pub session: SessionId,
    /// How many records the log has.
    pub records: u64,
    /// When the last one was appended, in milliseconds since 1970.
    pub last_at_ms: u64,
    /// The first record, as JSON.
    pub first: String,
}

impl Store {
    /// Appends records to the log of a session that exists. Refused with [`StoreError::Moved`] if the log does not have
    /// `decided_on` records. They are on disk when this returns.
    #[tracing::instrument(skip_all)]
    pub async fn append_log(
        &self,
        session: SessionKey,
        decided_on: u64,
        at_ms: u64,
        records: Vec<ScrubbedJson>,
    ) -> Result<(), StoreError> {
        self.inner.writer.run(move |transaction| append(transaction, &session, (decided_on, at_ms), &records)).await
    }

    /// Reads the records of a log behind a place, at most `limit`, in order.
    pub async fn agent_log(
        &self,
        session: SessionKey,
        behind: u64,
        limit: usize,
    ) -> Result<Vec<LogRecord>, StoreError> {
        self.fresh().await?;
        self.read(move |transaction| {
            let mut statement = transaction.prepare_cached(
                "SELECT seq, at, payload FROM agent_log WHERE session_id = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3",
            )?;
            let rows = statement.query_map(params![session.as_text(), behind, limit], |row| {
                let Payload(json) = row.get(2)?;
                Ok(LogRecord { seq: row.get(0)?, at_ms: row.get(1)?, json })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
        .await
    }

    /// Lists an owner's sessions that have a log, the most recent first.
    pub async fn agent_logs(&self, owner: Owner) -> Result<Vec<ListedLog>, StoreError> {
        self.read(move |transaction| {
            let mut statement = transaction.prepare_cached(
                "SELECT sessions.name, last.seq, last.at, first.payload FROM sessions
                 JOIN agent_log AS first ON first.session_id = sessions.id AND first.seq = 1
                 JOIN agent_log AS last ON last.session_id = sessions.id
                     AND last.seq = (SELECT max(seq) FROM agent_log WHERE session_id = sessions.id)
                 WHERE sessions.owner = ?1 ORDER BY last.at DESC LIMIT ?2",
            )?;
            let mut rows = statement.query(params![owner.as_str(), LISTED_MAX])?;
            let mut logs = Vec::new();
            while let Some(row) = rows.next()? {
                let name: String = row.get(0)?;
                let session = SessionId::parse(&name).map_err(|_| StoreError::Unreadable {
                    what: "session",
                    problem: "it has no valid name".to_owned(),
                })?;
                let Payload(first) = row.get(3)?;
                logs.push(ListedLog { session, records: row.get(1)?, last_at_ms: row.get(2)?, first });
            }
            Ok(logs)
        })
        .await
    }
}

fn append(
    transaction: &Transaction<'_>,
    session: &SessionKey,
    (decided_on, at_ms): (u64, u64),
    records: &[ScrubbedJson],
) -> Result<(), StoreError> {
    let key = session.as_text();
    let last: u64 = transaction
        .prepare_cached("SELECT coalesce(max(seq), 0) FROM agent_log WHERE session_id = ?1")?
        .query_row([&key], |row| row.get(0))?;
    if last != decided_on {
        return Err(StoreError::Moved);
    }
    let mut insert =
        transaction.prepare_cached("INSERT INTO agent_log (session_id, seq, at, payload) VALUES (?1, ?2, ?3, ?4)")?;
    for (seq, record) in (decided_on + 1..).zip(records) {
        let json = String::from_utf8_lossy(record.bytes()).into_owned();
        insert.execute(params![key, seq, at_ms, Payload(json)])?;
    }
    transaction
        .prepare_cached("UPDATE sessions SET active_at = max(active_at, ?2) WHERE id = ?1")?
        .execute(params![key, at_ms])?;
    Ok(())
}

#[cfg(test)]
mod tests;
