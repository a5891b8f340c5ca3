//! Lists of sessions, for people and programs that look around.
//!
//! A session is known by its live state, by its requests to models, or by both. Requests are kept longer, and they
//! are all there is of a session that got no answer.

use std::collections::BTreeMap;

use infold_core::record::{MainFill, RequestTotals, SessionOverview};
use infold_core::{Branch, ModelWindows, Principal, Refusal, SessionId};
use infold_store::{SessionQuery, SessionRequests, SessionRow};

use crate::{Engine, Error, SessionRef, SessionView};

/// Live sessions that are looked at. One that is passed over would seem to be known by its requests alone.
const LIVE_MAX: usize = 10_000;
/// Fewest characters that may stand for a whole id.
const PREFIX_CHARS_MIN: usize = 4;
/// Most sessions that an id is compared with.
const MATCHES_MAX: usize = 1_000;
/// Most sessions that an ambiguous id is said to mean.
const SHOWN_MAX: usize = 8;

/// A session, as far as it is known.
#[derive(Debug, Clone)]
pub struct ListedSession {
    /// Its name.
    pub id: SessionId,
    /// Its live state; none if it is known by its requests alone.
    pub live: Option<SessionRow>,
    /// What its requests to models add up to; none if there were none.
    pub totals: Option<RequestTotals>,
    /// What its requests show of it.
    pub overview: SessionOverview,
}

impl ListedSession {
    /// When something last happened.
    pub fn active_at_ms(&self) -> u64 {
        let live_ms = self.live.as_ref().map_or(0, |row| row.session.active_at_ms);
        live_ms.max(self.totals.map_or(0, |totals| totals.last_at_ms))
    }

    /// How full its main thread is, if the proxy has seen it.
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

/// A session at a glance.
fn row(view: &SessionView) -> SessionRow {
    let open: Vec<&Branch> = view.branches().into_iter().filter(|branch| branch.is_open()).collect();
    SessionRow {
        session: view.session.clone(),
        open: open.len() as u64,
        open_tokens: open.iter().map(|branch| branch.used_tokens).sum(),
    }
}

impl Engine {
    /// The caller's live sessions, newest activity first.
    pub async fn sessions(&self, who: &Principal, offset: usize, limit: usize) -> Result<Vec<SessionRow>, Error> {
        let query = SessionQuery { owner: who.owner.clone(), offset, limit };
        Ok(self.inner.store.sessions(query).await?)
    }

    /// All sessions of the caller, newest activity first.
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

    /// One of the caller's sessions, as far as it is known, and with its branches if it lives.
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

    /// The session that the caller means by an id or by its first characters. An id that nothing begins with is
    /// given back as it is.
    pub async fn session_meant(&self, who: &Principal, typed: &str) -> Result<SessionId, Error> {
        let problem = "must be 1 to 128 characters, each one of A-Z a-z 0-9 . _ : -";
        let invalid = |_| Refusal::Invalid { field: "session_id", problem: problem.to_owned() };
        let id = SessionId::parse(typed).map_err(invalid)?;
        if typed.len() < PREFIX_CHARS_MIN {
            return Ok(id);
        }
        self.flush_requests().await;
        let mut matches = self.inner.store.session_names(who.owner.clone(), typed.to_owned(), MATCHES_MAX).await?;
        // In alphabetical order a name comes in front of those that begin with it: the sessions of an agent's
        // subagents are named after its own.
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
