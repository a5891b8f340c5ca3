//! Lists of sessions, for people and programs that look around.
//!
//! A session is known by its live state, by its requests to models, or by both. Requests are stored longer, and they
//! are all there is of a session that got no answer.

use std::collections::BTreeMap;

use infold_core::record::{MainFill, RequestTotals, SessionOverview};
use infold_core::{Branch, ModelWindows, Principal, Refusal, SessionId};
use infold_store::{SessionQuery, SessionRequests, SessionRow};

use crate::{Engine, Error, SessionRef, SessionView};

/// How many live sessions are read. Any beyond that would seem to be known by their requests alone.
const LIVE_MAX: usize = 10_000;
/// How many characters an abbreviated id needs at least.
const PREFIX_CHARS_MIN: usize = 4;
/// How many sessions an abbreviated id is compared with.
const MATCHES_MAX: usize = 1_000;
/// How many sessions are named in the refusal of an ambiguous id.
const SHOWN_MAX: usize = 8;

/// A session in a list, by whatever is known about it.
#[derive(Debug, Clone)]
pub struct ListedSession {
    /// The session's name, which both sources have in common.
    pub id: SessionId,
    /// The session's live state; `None` if it is known by its requests alone.
    pub live: Option<SessionRow>,
    /// The sums of its requests to models; `None` if there were none.
    pub totals: Option<RequestTotals>,
    /// What its requests show that people recognise it by.
    pub overview: SessionOverview,
}

impl ListedSession {
    /// When something last happened in the session, in milliseconds since 1970.
    pub fn active_at_ms(&self) -> u64 {
        let live_ms = self.live.as_ref().map_or(0, |row| row.session.active_at_ms);
        live_ms.max(self.totals.map_or(0, |totals| totals.last_at_ms))
    }

    /// How full its main thread is; `None` if the proxy has not seen it.
    pub fn main(&self, windows: &ModelWindows) -> Option<MainFill> {
        self.overview.main(windows)
    }
}

impl From<SessionRequests> for ListedSession {
    fn from(requests: SessionRequests) -> Self {
        let SessionRequests { session, totals, overview } = requests;
        Self { id: session, live: None, totals: Some(totals), overview }
    }
}

/// Sums up a session as a list shows it.
fn row(view: &SessionView) -> SessionRow {
    let open: Vec<&Branch> = view.branches().into_iter().filter(|branch| branch.is_open()).collect();
    SessionRow {
        session: view.session.clone(),
        open: open.len() as u64,
        open_tokens: open.iter().map(|branch| branch.used_tokens).sum(),
    }
}

impl Engine {
    /// Lists the caller's live sessions, the most recently active first.
    pub async fn sessions(&self, who: &Principal, offset: usize, limit: usize) -> Result<Vec<SessionRow>, Error> {
        let query = SessionQuery { owner: who.owner.clone(), offset, limit };
        Ok(self.inner.store.sessions(query).await?)
    }

    /// Lists all sessions of the caller, the most recently active first.
    pub async fn listed_sessions(&self, who: &Principal) -> Result<Vec<ListedSession>, Error> {
        self.flush_requests().await;
        let live = self.sessions(who, 0, LIVE_MAX).await?;
        let requests = self.inner.store.session_requests(who.owner.clone(), None).await?;

        let mut known: BTreeMap<SessionId, ListedSession> =
            requests.into_iter().map(ListedSession::from).map(|session| (session.id.clone(), session)).collect();
        for row in live {
            let id = row.session.id.clone();
            let unseen =
                ListedSession { id: id.clone(), live: None, totals: None, overview: SessionOverview::default() };
            known.entry(id).or_insert(unseen).live = Some(row);
        }
        let mut known: Vec<ListedSession> = known.into_values().collect();
        known.sort_by(|a, b| b.active_at_ms().cmp(&a.active_at_ms()).then_with(|| a.id.cmp(&b.id)));
        Ok(known)
    }

    /// Reads one of the caller's sessions by whatever is known about it, with its branches if it is live.
    pub async fn listed_session(
        &self,
        who: &Principal,
        id: &SessionId,
    ) -> Result<(ListedSession, Option<SessionView>), Error> {
        self.flush_requests().await;
        let requests = self.inner.store.session_requests(who.owner.clone(), Some(id.clone())).await?.pop();
        let view = match self.session_with_branches(who, &SessionRef::Id(id.clone())).await {
            Err(Error::Refused(Refusal::SessionNotFound { .. })) if requests.is_some() => None,
            view => Some(view?),
        };
        let unseen =
            || ListedSession { id: id.clone(), live: None, totals: None, overview: SessionOverview::default() };
        let mut known = requests.map_or_else(unseen, ListedSession::from);
        known.live = view.as_ref().map(row);
        Ok((known, view))
    }

    /// Finds the session that the caller names by an id or by its first characters. An id that no session begins with
    /// is returned as it is.
    pub async fn resolve_session(&self, who: &Principal, typed: &str) -> Result<SessionId, Error> {
        let problem = "must be 1 to 128 characters, each one of A-Z a-z 0-9 . _ : -";
        let invalid = |_| Refusal::Invalid { field: "session_id", problem: problem.to_owned() };
        let id = SessionId::parse(typed).map_err(invalid)?;
        if typed.len() < PREFIX_CHARS_MIN {
            return Ok(id);
        }
        self.flush_requests().await;
        let mut matches = self.inner.store.session_names(who.owner.clone(), typed.to_owned(), MATCHES_MAX).await?;
        // In alphabetical order a name comes before those that begin with it, and the sessions of an agent's subagents
        // are named after its own.
        let is_first = |first: &SessionId| matches.iter().all(|other| other.as_str().starts_with(first.as_str()));
        match matches.first() {
            None => Ok(id),
            Some(first) if is_first(first) => Ok(matches.swap_remove(0)),
            Some(_) => {
                matches.truncate(SHOWN_MAX);
                Err(Refusal::SessionAmbiguous { prefix: typed.to_owned(), matches }.into())
            }
        }
    }
}
