//! Lists of sessions, the most recently active first.

use infold_core::{Owner, Session, SessionId};
use rusqlite::params;

use crate::codec::column;
use crate::requests::parse_session_id;
use crate::{Store, StoreError};

/// Selects sessions for a list.
#[derive(Debug, Clone)]
pub struct SessionQuery {
    /// Only this owner's sessions.
    pub owner: Owner,
    /// How many of the most recently active sessions to skip.
    pub offset: usize,
    /// How many sessions to return at most.
    pub limit: usize,
}

/// A session in a list. Its branches are counted, not loaded.
#[derive(Debug, Clone)]
pub struct SessionRow {
    /// The session as it is stored, without its branches.
    pub session: Session,
    /// How many of its branches are open.
    pub open: u64,
    /// How many tokens its open branches have used.
    pub open_tokens: u64,
}

impl Store {
    /// Lists the names of sessions that begin with `prefix`, in alphabetical order. Lapsed sessions are among them if
    /// rows of their requests are still stored.
    pub async fn session_names(
        &self,
        owner: Owner,
        prefix: String,
        limit: usize,
    ) -> Result<Vec<SessionId>, StoreError> {
        self.read(move |transaction| {
            let mut statement = transaction.prepare_cached(
                "SELECT name FROM sessions WHERE owner = ?1 AND substr(name, 1, length(?2)) = ?2
                 UNION SELECT session FROM request_totals WHERE owner = ?1 AND substr(session, 1, length(?2)) = ?2
                 ORDER BY 1 LIMIT ?3",
            )?;
            let mut rows = statement.query(params![owner.as_str(), prefix, limit])?;
            let mut names = Vec::new();
            while let Some(row) = rows.next()? {
                names.push(parse_session_id(row.get(0)?)?);
            }
            Ok(names)
        })
        .await
    }

    /// Lists sessions, the most recently active first.
    pub async fn sessions(&self, query: SessionQuery) -> Result<Vec<SessionRow>, StoreError> {
        self.read(move |transaction| {
            let mut statement = transaction.prepare_cached(
                "SELECT sessions.state, count(branches.id), coalesce(sum(branches.state ->> 'used_tokens'), 0)
                 FROM sessions LEFT JOIN branches ON branches.session_id = sessions.id AND branches.open = 1
                 WHERE owner = ?1 GROUP BY sessions.id ORDER BY active_at DESC, sessions.id LIMIT ?2 OFFSET ?3",
            )?;
            let mut rows = statement.query(params![query.owner.as_str(), query.limit, query.offset])?;
            let mut sessions = Vec::new();
            while let Some(row) = rows.next()? {
                sessions.push(SessionRow {
                    session: column(row, 0, "session")?,
                    open: row.get(1)?,
                    open_tokens: row.get(2)?,
                });
            }
            Ok(sessions)
        })
        .await
    }
}
