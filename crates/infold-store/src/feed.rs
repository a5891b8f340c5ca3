//! Events in the order in which they were recorded, for readers that follow along. A reader remembers the id of the
//! last event that it has seen and goes on from there. Ids only grow, across processes too, because commits do not
//! overlap.

use infold_core::{Event, Owner, SessionId};
use rusqlite::{OptionalExtension, Row, params};

use crate::codec::{Payload, from_json};
use crate::load::session_key;
use crate::{SessionKey, Store, StoreError};

/// An event with where and when it was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedEvent {
    /// Position in the feed, which spans all sessions.
    pub id: u64,
    /// The session it happened to.
    pub session: SessionKey,
    /// Position in that session's log, counted from 1.
    pub version: u64,
    /// When the event was recorded, in milliseconds since 1970.
    pub at_ms: u64,
    /// The event itself, as the core decided it.
    pub event: Event,
}

/// Selects events of the feed.
#[derive(Debug, Clone)]
pub struct FeedQuery {
    /// Only events of this owner's sessions.
    pub owner: Owner,
    /// Only events of this session; `None` means all sessions.
    pub session: Option<SessionId>,
    /// Only events with a larger id than this one.
    pub after: u64,
    /// How many events to return at most.
    pub limit: usize,
}

pub(crate) const COLUMNS: &str = "events.id, sessions.owner, sessions.name, events.version, events.at, events.payload";

pub(crate) fn recorded(row: &Row<'_>) -> Result<RecordedEvent, StoreError> {
    let payload: Payload = row.get(5)?;
    Ok(RecordedEvent {
        id: row.get(0)?,
        session: session_key((row.get(1)?, row.get(2)?))?,
        version: row.get(3)?,
        at_ms: row.get(4)?,
        event: from_json("event", &payload.0)?,
    })
}

impl Store {
    /// Lists events after a position in the feed, oldest first.
    pub async fn events(&self, query: FeedQuery) -> Result<Vec<RecordedEvent>, StoreError> {
        self.read(move |transaction| {
            let by_session = "events.session_id = ?4 AND";
            let filter = if query.session.is_some() { by_session } else { "?4 IS NULL AND" };
            let sql = format!(
                "SELECT {COLUMNS} FROM events JOIN sessions ON sessions.id = events.session_id
                 WHERE {filter} events.id > ?1 AND sessions.owner = ?2 ORDER BY events.id LIMIT ?3"
            );
            let session = query.session.map(|id| SessionKey { owner: query.owner.clone(), id }.as_text());
            let mut statement = transaction.prepare_cached(&sql)?;
            let mut rows = statement.query(params![query.after, query.owner.as_str(), query.limit, session])?;
            let mut events = Vec::new();
            while let Some(row) = rows.next()? {
                events.push(recorded(row)?);
            }
            Ok(events)
        })
        .await
    }

    /// Lists events of all owners after a position in the feed, oldest first.
    pub async fn all_events(&self, after: u64, limit: usize) -> Result<Vec<RecordedEvent>, StoreError> {
        self.read(move |transaction| {
            let sql = format!(
                "SELECT {COLUMNS} FROM events JOIN sessions ON sessions.id = events.session_id
                 WHERE events.id > ?1 ORDER BY events.id LIMIT ?2"
            );
            let mut statement = transaction.prepare_cached(&sql)?;
            let mut rows = statement.query(params![after, limit])?;
            let mut events = Vec::new();
            while let Some(row) = rows.next()? {
                events.push(recorded(row)?);
            }
            Ok(events)
        })
        .await
    }

    /// Reads a session's whole log, oldest first; `None` if its payloads are longer than `bytes_max` together.
    pub async fn log(&self, session: SessionKey, bytes_max: usize) -> Result<Option<Vec<Event>>, StoreError> {
        self.read(move |transaction| {
            let mut statement =
                transaction.prepare_cached("SELECT payload FROM events WHERE session_id = ?1 ORDER BY version")?;
            let mut rows = statement.query([session.as_text()])?;
            let (mut events, mut bytes) = (Vec::new(), 0);
            while let Some(row) = rows.next()? {
                let payload: Payload = row.get(0)?;
                bytes += payload.0.len();
                if bytes > bytes_max {
                    return Ok(None);
                }
                events.push(from_json("event", &payload.0)?);
            }
            Ok(Some(events))
        })
        .await
    }

    /// Reads one event of a session's log by its version; `None` if the log has none there.
    pub async fn event(&self, session: SessionKey, version: u64) -> Result<Option<Event>, StoreError> {
        self.read(move |transaction| {
            let payload: Option<Payload> = transaction
                .prepare_cached("SELECT payload FROM events WHERE session_id = ?1 AND version = ?2")?
                .query_row(params![session.as_text(), version], |row| row.get(0))
                .optional()?;
            payload.map(|payload| from_json("event", &payload.0)).transpose()
        })
        .await
    }

    /// The id of the newest event in the feed.
    pub async fn newest_event(&self) -> Result<u64, StoreError> {
        self.read(|transaction| {
            let newest =
                transaction.prepare_cached("SELECT id - 1 FROM next_event")?.query_row([], |row| row.get(0))?;
            Ok(newest)
        })
        .await
    }
}
