//! Folds a branch by a return: the branch ends, and its message goes to its parent.

use infold_core::{
    BranchId, Command, ContextHealth, ContextState, Decision, EndReason, Event, Field, Principal, Refusal, Scrubbed,
    Session, Thread,
};
use infold_store::EndedBranches;

use crate::change::{Absent, ChangeTarget, Proposal, SessionChange};
use crate::notices::notices;
use crate::observe::exhausted_by;
use crate::{BranchRef, Engine, Error, Failure, FoldBranch, Folded, Teaching, shown};

/// What has to be equal for two returns to be the same call.
#[derive(serde::Serialize)]
struct FoldPrint<'a> {
    verb: &'static str,
    branch: &'a BranchRef,
    message: &'a str,
    failed: bool,
    #[serde(skip_serializing_if = "Teaching::is_nothing")]
    teaching: &'a Teaching,
}

impl Engine {
    /// Ends a sub-task and hands its message to its parent. Open branches below it are folded first.
    #[tracing::instrument(skip_all)]
    pub async fn fold_branch(&self, who: &Principal, request: FoldBranch) -> Result<Folded, Error> {
        let message = Field::MESSAGE.clean(&request.message)?;
        let print = FoldPrint {
            verb: "fold",
            branch: &request.branch,
            message: &request.message,
            failed: request.outcome == infold_core::ReturnOutcome::Failed,
            teaching: &request.teaching,
        };
        let key = self.key(request.idempotency_key.as_deref(), &print)?;
        let (branch, change) = self.fold_change(who, &request.branch, key)?;
        let [message] = self.scrub([message]).await?;
        let lessons = self.lessons_of(&request.teaching, request.outcome).await?;
        let lessons_kept = lessons.as_ref().map_or(0, |said| said.lessons.len() as u64);

        let propose = |loaded: &infold_store::Loaded| {
            if let Some(id) = &branch {
                belongs(&loaded.session, id)?;
            }
            let command = Command::Fold { branch: branch.clone(), message: message.clone(), outcome: request.outcome };
            // The answer reaches the parent, because the parent goes on from here.
            let parent = parent_of(&loaded.session, branch.as_ref());
            let mut proposal = Proposal { lessons: lessons.clone(), ..Proposal::telling(&parent, command) };
            // A branch that was cut short may still return, as long as that was not reported to its parent.
            proposal.commands.reverse();
            // If the message is too much for the parent's budget, the parent folds too, and this answer says so.
            proposal.commands.extend(parent.branch().map(|id| Command::MarkEndReported { branch: id.clone() }));
            Ok(proposal)
        };
        let answer = |before: &Session, decision: &Decision| {
            Ok(Folded { lessons_kept, ..self.folded(&message, before, decision)? })
        };
        self.change(&change, propose, answer).await
    }

    fn fold_change(
        &self,
        who: &Principal,
        branch: &BranchRef,
        key: Option<(String, [u8; 32])>,
    ) -> Result<(Option<BranchId>, SessionChange), Error> {
        let owner = who.owner.clone();
        let (id, target, ended, absent) = match branch {
            BranchRef::Id { branch, session } => {
                let id = self.branch_id(branch)?;
                let absent = Absent::Refuse(Refusal::BranchNotFound { branch: shown(branch) });
                let target = match session {
                    Some(session) => ChangeTarget::Session(session.clone()),
                    None => ChangeTarget::Branch(id.clone()),
                };
                (Some(id.clone()), target, EndedBranches::Branch(id), absent)
            }
            BranchRef::Active(session) => {
                let absent = Absent::Refuse(Refusal::SessionNotFound { session: session.describe() });
                (None, ChangeTarget::Session(session.clone()), EndedBranches::Nothing, absent)
            }
        };
        Ok((id, SessionChange { owner, target, ended, absent, key }))
    }

    fn folded(&self, message: &Scrubbed, before: &Session, decision: &Decision) -> Result<Folded, Failure> {
        let after = &decision.after;
        let (mut returned, mut folded_with_it) = (None, Vec::new());
        for event in &decision.events {
            let (branch, reason) = match event {
                Event::BranchEnded { branch, reason, .. } => (branch, *reason),
                Event::ResultAmended { branch, .. } => (branch, EndReason::Returned),
                _ => continue,
            };
            match reason {
                EndReason::Returned | EndReason::ReportedFailure => returned = after.branches.get(branch),
                EndReason::ParentReturning => folded_with_it.push(branch.clone()),
                // The message may have used up the budget of the branch above.
                EndReason::BudgetExhausted
                | EndReason::TimedOut
                | EndReason::SessionEnded
                | EndReason::SessionEndTimeout
                | EndReason::RolledBack
                | EndReason::Interrupted
                | EndReason::OpeningLost => {}
            }
        }
        let ended = returned.and_then(|branch| Some((branch, branch.end.as_ref()?)));
        let (branch, end) = ended.ok_or(Failure::Undecided("the branch that returned"))?;
        Ok(Folded {
            session_id: after.id.clone(),
            branch_id: branch.id.clone(),
            parent: branch.parent.clone(),
            status: branch.status,
            folded_at_ms: end.at_ms,
            message: message.as_str().to_owned(),
            tokens_used: branch.used_tokens,
            tokens_saved: branch.used_tokens.saturating_sub(end.result_tokens),
            operations: branch.operations,
            secrets_scrubbed: message.secrets(),
            lessons_kept: 0,
            summary_redacted: message.is_only_placeholders(),
            folded_with_it,
            state: ContextState::of(after, self.limits()),
            health: ContextHealth::of(after, self.limits()),
            notices: notices(before, &branch.parent)
                .into_iter()
                .filter(|notice| notice.branch_id != branch.id)
                .chain(exhausted_by(decision))
                .collect(),
        })
    }
}

/// The thread that a branch hands its message to; by default that of the active branch.
fn parent_of(session: &Session, branch: Option<&BranchId>) -> Thread {
    let branch = branch.or(session.active.branch()).and_then(|id| session.branches.get(id));
    branch.map_or(Thread::Main, |branch| branch.parent.clone())
}

/// Refuses a branch that is named together with a session and is not that session's.
pub(crate) fn belongs(session: &Session, branch: &BranchId) -> Result<(), Refusal> {
    if session.branches.contains_key(branch) {
        return Ok(());
    }
    Err(Refusal::BranchNotFound { branch: branch.to_string() })
}
