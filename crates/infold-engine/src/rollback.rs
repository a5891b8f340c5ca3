//! Rolls back to a branch.

use infold_core::{BranchId, Command, ContextState, Decision, Event, Principal, Refusal, Session};
use infold_store::{EndedBranches, Loaded};

use crate::change::{Absent, ChangeTarget, Proposal, SessionChange};
use crate::fold::belongs;
use crate::notices::notices;
use crate::{Engine, Error, Restore, RollBack, RolledBack, shown};

impl Engine {
    /// Opens a branch again as it was at its last turn, and discards what was opened since; or only says what that
    /// would lead to.
    #[tracing::instrument(skip_all)]
    pub async fn roll_back(&self, who: &Principal, request: RollBack) -> Result<RolledBack, Error> {
        let to = self.branch_id(&request.to)?;
        let print = ("rollback", &request.session, &request.to, request.restore);
        let key = self.key(request.idempotency_key.as_deref(), &print)?;
        let change = SessionChange {
            owner: who.owner.clone(),
            target: ChangeTarget::Session(request.session.clone()),
            ended: EndedBranches::Since(to.clone()),
            absent: Absent::Refuse(Refusal::BranchNotFound { branch: shown(&request.to) }),
            key,
        };
        let command = Command::RollBack { to: to.clone() };

        match request.restore {
            Restore::Yes => {
                let propose = |loaded: &Loaded| {
                    belongs(&loaded.session, &to)?;
                    Ok(Proposal::telling(&loaded.session.active, command.clone()))
                };
                self.change(&change, propose, |before, decision| Ok(self.rolled_back(&to, before, decision))).await
            }
            Restore::No => {
                let session = self.require_session(who, &request.session, EndedBranches::Since(to.clone())).await?;
                belongs(&session, &to)?;
                let decision = infold_core::decide(&session, &[command], self.rules(), self.now_ms())?;
                Ok(RolledBack { notices: Vec::new(), ..self.rolled_back(&to, &session, &decision) })
            }
        }
    }

    fn rolled_back(&self, to: &BranchId, before: &Session, decision: &Decision) -> RolledBack {
        let discarded: Vec<BranchId> = decision
            .events
            .iter()
            .find_map(|event| match event {
                Event::RolledBack { discarded, .. } => Some(discarded.clone()),
                _ => None,
            })
            .unwrap_or_default();
        let used = |id: &BranchId| before.branches.get(id).map_or(0, |branch| branch.used_tokens);
        RolledBack {
            session_id: decision.after.id.clone(),
            to: to.clone(),
            generation: decision.after.branches.get(to).map_or(0, |branch| branch.generation),
            tokens_recovered: discarded.iter().map(used).sum(),
            discarded,
            state: ContextState::of(&decision.after, self.limits()),
            notices: notices(before, &before.active),
        }
    }
}
