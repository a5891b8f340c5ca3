//! Shows sessions and branches. Nothing changes, except that overdue branches are folded first, so that nobody is shown
//! a branch as active whose time is over.

use infold_core::{ContextHealth, ContextState, Principal, Session};
use infold_store::{EndedBranches, Target};

use crate::change::ChangeTarget;
use crate::fold::belongs;
use crate::naming::store_target;
use crate::results::may_read;
use crate::{BranchRef, BranchView, Engine, Error, SessionRef, SessionView};

impl Engine {
    /// Shows a branch; `None` if this caller has no such branch. `reader` is the thread that asks, a branch id or
    /// `main`; the session's active one if none is named.
    #[tracing::instrument(skip_all)]
    pub async fn branch(
        &self,
        who: &Principal,
        branch: &BranchRef,
        reader: Option<&str>,
    ) -> Result<Option<BranchView>, Error> {
        let reader = reader.map(|reader| self.thread(reader)).transpose()?;
        let (id, found) = match branch {
            BranchRef::Id { branch, session } => {
                let Ok(id) = self.branch_id(branch) else { return Ok(None) };
                let target = match session {
                    Some(session) => store_target(&who.owner, &ChangeTarget::Session(session.clone())),
                    None => Target::Branch(who.owner.clone(), id.clone()),
                };
                let found = self.find_session(target, EndedBranches::Branch(id.clone())).await?;
                (Some(id), found)
            }
            BranchRef::Active(session) => {
                let target = store_target(&who.owner, &ChangeTarget::Session(session.clone()));
                (None, self.find_session(target, EndedBranches::Nothing).await?)
            }
        };
        let Some(session) = found else { return Ok(None) };
        let id = match (&id, session.active.branch()) {
            (Some(id), _) if belongs(&session, id).is_ok() => id,
            (None, Some(active)) => active,
            _ => return Ok(None),
        };
        let Some(branch) = session.branches.get(id) else { return Ok(None) };
        let may_know = may_read(&session, reader.as_ref().unwrap_or(&session.active), Some(id));
        let end = branch.end.as_ref().filter(|_| may_know);
        let result = end.map(|end| end.result.as_str().to_owned());
        Ok(Some(BranchView { session_id: session.id.clone(), branch: branch.clone(), result }))
    }

    /// Shows a session with its open branches.
    #[tracing::instrument(skip_all)]
    pub async fn session(&self, who: &Principal, session: &SessionRef) -> Result<SessionView, Error> {
        Ok(self.view(self.require_session(who, session, EndedBranches::Nothing).await?))
    }

    /// Shows a session with all its branches.
    #[tracing::instrument(skip_all)]
    pub async fn session_with_branches(&self, who: &Principal, session: &SessionRef) -> Result<SessionView, Error> {
        Ok(self.view(self.require_session(who, session, EndedBranches::All).await?))
    }

    pub(crate) fn view(&self, session: Session) -> SessionView {
        let limits = self.limits();
        SessionView {
            state: ContextState::of(&session, limits),
            health: ContextHealth::of(&session, limits),
            context_limit_tokens: limits.context_limit_tokens,
            session,
        }
    }
}
