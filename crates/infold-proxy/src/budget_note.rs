//! Tells a branch, once, that its budget is nearly gone: one that does not return is cut short, and its parent gets
//! a part of what it found.

use infold_core::view::{BlockKind, Note, Plan};
use infold_core::{BranchId, grouped};
use infold_engine::{BudgetUse, Facts};

use crate::Proxy;
use crate::placeholders::{is_of, last_results};
use crate::planning::{Fault, Turn};

impl Proxy {
    /// Puts the warning behind the last result of a branch that has come so far. Whether it did.
    pub(crate) async fn note_budget(&self, turn: &Turn<'_>, plan: &Plan, facts: &mut Facts) -> Result<bool, Fault> {
        let Some(branch) = plan.thread.branch() else { return Ok(false) };
        let telling = telling(branch);
        let Some(after) = last_result(turn, plan) else { return Ok(false) };
        if facts.known.notes.iter().any(|note| note.text.starts_with(&telling)) {
            return Ok(false);
        }
        let (who, session) = (&turn.identity.who, &turn.identity.session);
        let Some(budget) = self.engine.budget_nearly_gone(who, session, branch).await? else { return Ok(false) };

        let note = Note { after, text: words(&telling, budget) };
        self.engine.keep_note(who, session, note.clone()).await?;

        facts.known.notes.push(note);
        Ok(true)
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

/// The call of the last result that is sent, if the model has not seen it yet: nothing is put in front of what it has
/// said already.
fn last_result(turn: &Turn<'_>, plan: &Plan) -> Option<String> {
    let sent = last_results(turn.request).filter(|at| plan.pieces.iter().any(|piece| is_of(piece, *at)));
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
