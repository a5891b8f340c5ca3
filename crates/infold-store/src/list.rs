//! Sessions at a glance, newest activity first.

use infold_core::{Owner, Session, SessionId};
use rusqlite::params;

use crate::codec::column;
use crate::requests::named;
use crate::{Store, StoreError};

/// Which sessions are wanted.
#[derive(Debug, Clone)]
pub struct SessionQuery {
    /// Whose.
    pub owner: Owner,
    /// How many to pass over.
    pub offset: usize,
    /// At most how many.
    pub limit: usize,
}

/// A session at a glance. Its branches are not loaded.
#[derive(Debug, Clone)]
pub struct SessionRow {
    /// The session.
    pub session: Session,
    /// Its open branches.
    pub open: u64,
    /// Tokens of its open branches.
    pub open_tokens: u64,
}

impl Store {
    /// Names of sessions that begin with a text, in alphabetical order: of those that live and of those of which only
    /// requests are kept.
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
                names.push(named(row.get(0)?)?);
            }
            Ok(names)
        })
        .await
    }

    /// Sessions, newest activity first.
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
