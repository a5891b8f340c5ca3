//! Ends a session: its branches are folded one by one, deepest first, within a bounded time.

use std::time::Duration;

use infold_core::{
    Branch, BranchId, Command, ContextState, Decision, EndReason, Event, Principal, Refusal, Session, Thread,
};
use infold_store::{EndedBranches, Loaded};
use tokio_util::sync::CancellationToken;

use crate::change::{Absent, ChangeTarget, Proposal, SessionChange};
use crate::notices::notices;
use crate::{EndProgress, EndSession, Engine, Error, SessionEnded, SessionRef};

impl Engine {
    /// Ends a session. Branches that are still open when the time is over count as failed. If the caller cancels, what
    /// was folded so far stays folded, and the session goes on.
    #[tracing::instrument(skip_all)]
    pub async fn end_session(
        &self,
        who: &Principal,
        request: EndSession,
        cancel: &CancellationToken,
        mut progress: impl FnMut(EndProgress),
    ) -> Result<SessionEnded, Error> {
        let key = self.key(request.idempotency_key.as_deref(), &("end", &request.session))?;
        let change = self.end_change(who, &request.session, key);
        let deadline_ms = self.now_ms() + self.limits().session_end_ms;
        let open = match self.session(who, &request.session).await {
            Ok(view) if view.session.ended_at_ms.is_none() => leaves_first(&view.session),
            Ok(_) => Vec::new(),
            Err(error) => return Err(error),
        };
        let total = open.len() as u64;
        for (folded, branch) in (1..).zip(&open) {
            if cancel.is_cancelled() {
                return Err(Refusal::Cancelled.into());
            }
            if self.now_ms() >= deadline_ms {
                break;
            }
            let left = Duration::from_millis(deadline_ms.saturating_sub(self.now_ms()));
            match tokio::time::timeout(left, self.fold_one(&change, branch)).await {
                Ok(outcome) => outcome?,
                // Ending the session finds out whether the branch has folded, and leaves it as it is then.
                Err(_elapsed) => break,
            }
            progress(EndProgress { folded, total });
        }
        let propose = |_: &Loaded| Ok(Proposal::telling(&Thread::Main, Command::EndSession));
        self.change(&change, propose, |before, decision| Ok(self.ended(&open, before, decision))).await
    }

    /// Cuts branches short that nobody goes on with, because their session went back to before they were opened. Their
    /// parents get no notice, and nothing is learnt from them. Those that are over stay as they are. Returns those that
    /// were open, the deepest first.
    #[tracing::instrument(skip_all)]
    pub async fn abandon_branches(
        &self,
        who: &Principal,
        session: &SessionRef,
        branches: &[BranchId],
    ) -> Result<Vec<BranchId>, Error> {
        let view = self.session(who, session).await?;
        let open: Vec<BranchId> = leaves_first(&view.session).into_iter().filter(|id| branches.contains(id)).collect();
        let change = self.end_change(who, session, None);
        for branch in &open {
            let propose = |_: &Loaded| {
                let cut_short = Command::CutShort { branch: branch.clone(), reason: EndReason::Interrupted };
                Ok(Proposal::of(vec![cut_short, Command::MarkEndReported { branch: branch.clone() }]))
            };
            self.change(&change, propose, |_, _| Ok(())).await?;
        }
        Ok(open)
    }

    fn end_change(&self, who: &Principal, session: &SessionRef, key: Option<(String, [u8; 32])>) -> SessionChange {
        SessionChange {
            owner: who.owner.clone(),
            target: ChangeTarget::Session(session.clone()),
            ended: EndedBranches::Nothing,
            absent: Absent::Refuse(Refusal::SessionNotFound { session: session.describe() }),
            key,
        }
    }

    async fn fold_one(&self, change: &SessionChange, branch: &BranchId) -> Result<(), Error> {
        let change = SessionChange { key: None, ..change.clone() };
        let propose = |_: &Loaded| {
            let commands = vec![Command::CutShort { branch: branch.clone(), reason: EndReason::SessionEnded }];
            Ok(Proposal::of(commands))
        };
        self.change(&change, propose, |_, _| Ok(())).await
    }

    /// Builds the answer. `open` are the branches that were open at the beginning. Those that are not open at the end
    /// have folded, even if the answer to that came too late.
    fn ended(&self, open: &[BranchId], before: &Session, decision: &Decision) -> SessionEnded {
        let is_open = |id: &BranchId| before.branches.get(id).is_some_and(Branch::is_open);
        let failed = decision
            .events
            .iter()
            .filter_map(|event| match event {
                Event::BranchEnded { branch, reason: EndReason::SessionEndTimeout, .. } => Some(branch.clone()),
                _ => None,
            })
            .collect();
        SessionEnded {
            session_id: decision.after.id.clone(),
            folded: open.iter().filter(|id| !is_open(id)).cloned().collect(),
            failed,
            ended_at_ms: decision.after.ended_at_ms.unwrap_or(0),
            state: ContextState::of(&decision.after, self.limits()),
            notices: notices(before, &Thread::Main),
        }
    }
}

fn leaves_first(session: &Session) -> Vec<BranchId> {
    let mut open: Vec<_> = session.open().map(|branch| (branch.depth, branch.ordinal, branch.id.clone())).collect();
    open.sort();
    open.into_iter().rev().map(|(_, _, id)| id).collect()
}
