//! Finds a session to look at it. First its agents' pending words are stored and what is overdue in it is folded, so
//! that nobody sees a branch as open whose time is over.

use infold_core::{Principal, Refusal, Session, SessionId};
use infold_store::{EndedBranches, Load, Target};
use serde::de::DeserializeOwned;

use crate::change::{ATTEMPTS_MAX, ChangeTarget, SessionChange, repeated_answer};
use crate::naming::{check_project, store_target};
use crate::{Engine, Error, Failure, SessionRef};

impl Engine {
    /// Loads a session to look at it, after folding what is overdue in it.
    pub(crate) async fn find_session(&self, target: Target, ended: EndedBranches) -> Result<Option<Session>, Error> {
        for _ in 0..ATTEMPTS_MAX {
            let (target, ended) = (target.clone(), ended.clone());
            let load = Load { target, ended, rate_back: 0, reply_key: None, counted: Vec::new() };
            let Some(loaded) = self.inner.store.load(load).await? else { return Ok(None) };
            if !self.bring_up_to_date(&loaded.session, self.now_ms()).await? {
                return Ok(Some(loaded.session));
            }
        }
        Err(Failure::Contended.into())
    }

    /// Finds the session that a branch belongs to; `None` if this caller has no such branch.
    pub async fn session_of_branch(&self, who: &Principal, branch: &str) -> Result<Option<SessionId>, Error> {
        let Ok(id) = self.branch_id(branch) else { return Ok(None) };
        let target = Target::Branch(who.owner.clone(), id);
        let load = Load { target, ended: EndedBranches::Nothing, rate_back: 0, reply_key: None, counted: Vec::new() };
        // A branch stays in its session: if this machine knows of it, nobody else has to be asked.
        let known = self.inner.store.load_known(load.clone()).await?;
        let found = if known.is_some() { known } else { self.inner.store.load(load).await? };
        Ok(found.map(|loaded| loaded.session.id))
    }

    /// Loads a session, or refuses if this caller has none such.
    pub(crate) async fn require_session(
        &self,
        who: &Principal,
        session: &SessionRef,
        ended: EndedBranches,
    ) -> Result<Session, Error> {
        let target = store_target(&who.owner, &ChangeTarget::Session(session.clone()));
        let found = self.find_session(target, ended).await?;
        let found = found.ok_or_else(|| Refusal::SessionNotFound { session: session.describe() })?;
        check_project(session, &found)?;
        Ok(found)
    }

    /// The answer that this change got before, if it is repeated. Callers ask when the work is too much to do twice.
    pub(crate) async fn answered<T: DeserializeOwned>(&self, change: &SessionChange) -> Result<Option<T>, Error> {
        let load = Load {
            target: store_target(&change.owner, &change.target),
            ended: EndedBranches::Nothing,
            rate_back: 0,
            reply_key: change.key.as_ref().map(|(key, _)| key.clone()),
            counted: Vec::new(),
        };
        match self.inner.store.load(load).await? {
            Some(loaded) => repeated_answer(&loaded, change),
            None => Ok(None),
        }
    }
}
