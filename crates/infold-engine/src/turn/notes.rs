//! Warns a branch, once, that its budget is nearly used up. A branch that does not return in time is cut short, and its
//! parent gets only a part of what it found.

use infold_core::view::{BlockKind, Note, ViewPlan};
use infold_core::{BranchId, Principal, SessionId, grouped};
use infold_store::{EndedBranches, SessionKey, Target};

use super::known_session::KnownSession;
use super::placeholders::{is_of, last_results};
use super::prompt::{AgentTurn, PlanningFault};
use crate::{Engine, Error};

/// How much of its budget a branch has used.
struct BudgetUse {
    used_tokens: u64,
    budget_tokens: u64,
}

impl Engine {
    /// Puts the warning behind the last result of a branch that has used most of its budget. Returns whether it did.
    pub(super) async fn note_budget(
        &self,
        turn: &AgentTurn<'_>,
        plan: &ViewPlan,
        known: &mut KnownSession,
    ) -> Result<bool, PlanningFault> {
        let Some(branch) = plan.thread.branch() else { return Ok(false) };
        let telling = telling(branch);
        let Some(after) = last_result(turn, plan) else { return Ok(false) };
        if known.decisions.notes.iter().any(|note| note.text.starts_with(&telling)) {
            return Ok(false);
        }
        let (who, session) = (&turn.identity.who, &turn.identity.session);
        let Some(budget) = self.budget_nearly_gone(who, session, branch).await? else { return Ok(false) };

        let note = Note { after, text: words(&telling, budget) };
        self.store_note(who, session, note.clone()).await?;

        known.decisions.notes.push(note);
        Ok(true)
    }

    /// How much of its budget an open branch has used, if that is enough for a warning.
    async fn budget_nearly_gone(
        &self,
        who: &Principal,
        session: &SessionId,
        branch: &BranchId,
    ) -> Result<Option<BudgetUse>, Error> {
        let key = SessionKey { owner: who.owner.clone(), id: session.clone() };
        let session = self.find_session(Target::Session(key), EndedBranches::Nothing).await?;
        let branch = session.as_ref().and_then(|session| session.branches.get(branch));
        Ok(branch
            .filter(|branch| branch.warned && branch.is_open())
            .map(|branch| BudgetUse { used_tokens: branch.budget_used_tokens(), budget_tokens: branch.budget_tokens }))
    }
}

/// How the warning begins. A branch gets it once.
fn telling(branch: &BranchId) -> String {
    format!("[infold: branch {branch} has used ")
}

fn words(telling: &str, budget: BudgetUse) -> String {
    format!(
        "{telling}{} of its {} tokens. Finish and call branch_return now, with what you have: when the budget is gone, \
         the branch is cut short and its parent gets only a part of your words.]",
        grouped(budget.used_tokens),
        grouped(budget.budget_tokens)
    )
}

/// The call of the last result that is sent, if the model has not seen that result yet: a note is never put in front of
/// what the model has said already.
fn last_result(turn: &AgentTurn<'_>, plan: &ViewPlan) -> Option<String> {
    let sent = last_results(&turn.request).filter(|at| plan.pieces.iter().any(|piece| is_of(piece, *at)));
    sent.last().and_then(|at| match &turn.request.blocks()[at].kind {
        BlockKind::Result(result) => Some(result.call.clone().into_owned()),
        BlockKind::Instruction
        | BlockKind::User { .. }
        | BlockKind::Assistant
        | BlockKind::Reasoning
        | BlockKind::Attachment
        | BlockKind::Call(_)
        | BlockKind::Other { .. } => None,
    })
}
