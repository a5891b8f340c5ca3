//! Notes about what is nearly used up: a branch's budget, and the model's window. A branch that does not return in time
//! is cut short, and its parent gets only a part of what it found.

use infold_core::view::{self, BlockKind, Note, RequestKind, ViewPiece, ViewPlan};
use infold_core::{BranchId, Counter, OwnTool, Principal, SessionId, grouped};
use infold_store::{EndedBranches, SessionKey, Target};

use super::ContextNotes;
use super::known_session::KnownSession;
use super::listen::asks_for_long_window;
use super::placeholders::{is_of, last_results};
use super::prompt::{AgentTurn, PlanningFault, is_asked_for_space};
use crate::{Engine, Error};

/// From how much of its window on a model gets a note, in percent.
const NOTED_PERCENT_MIN: u64 = 80;
/// How many percent further the next note comes.
const NOTED_STEP_PERCENT: u64 = 5;
/// How a note about the window begins.
const CONTEXT_USED: &str = "[Context: ";

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

    /// Puts behind the last result how much of its window a model has used, if it can ask for space. Returns whether it
    /// did: once from 80 % on, and once for each further 5 %, until results leave the thread.
    pub(super) async fn note_context_use(
        &self,
        turn: &AgentTurn<'_>,
        plan: &ViewPlan,
        known: &mut KnownSession,
    ) -> Result<bool, PlanningFault> {
        let is_wanted = self.inner.settings.turn.context_notes == ContextNotes::On
            && turn.identity.kind == RequestKind::Turn
            && !is_asked_for_space(turn, plan, known)
            && can_ask_for_space(turn, plan);
        let Some(after) = last_result(turn, plan).filter(|_| is_wanted) else { return Ok(false) };
        let percent = self.used_percent(turn, plan);
        if percent < NOTED_PERCENT_MIN || noted_step(turn, plan, known).is_some_and(|noted| step(percent) <= noted) {
            return Ok(false);
        }

        let text = format!(
            "{CONTEXT_USED}{percent}% used. You can call compact_context to free space before continuing with large \
             operations.]"
        );
        let note = Note { after, text };
        self.store_note(&turn.identity.who, &turn.identity.session, note.clone()).await?;

        known.decisions.notes.push(note);
        Ok(true)
    }

    /// How much of the model's window a thread has used: by the provider's count of its last request, else by infold's
    /// of this one.
    fn used_percent(&self, turn: &AgentTurn<'_>, plan: &ViewPlan) -> u64 {
        let (who, session) = (&turn.identity.who, &turn.identity.session);
        let model = turn.model();
        let slot = self.inner.sessions.of(&who.owner, session);
        let used_tokens = slot.figures(&plan.thread).used_tokens.unwrap_or_else(|| {
            let parts = self.parts_of(&turn.request, Some(&plan.pieces));
            let learnt = self.calibration_in(&who.owner, session, &model);
            learnt.prompt_tokens(parts.sent_tokens(&Counter::new(learnt.family())))
        });
        let windows = &self.inner.settings.turn.windows;
        let window_tokens = match asks_for_long_window(turn.headers) {
            true => windows.largest_tokens_of(&model),
            false => windows.tokens_of(&model),
        };
        let window_tokens = windows.proven_tokens(&model, window_tokens, used_tokens);
        used_tokens.saturating_mul(100).checked_div(window_tokens).unwrap_or(0)
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

/// How many steps beyond the first a share of the window is.
fn step(percent: u64) -> u64 {
    percent.saturating_sub(NOTED_PERCENT_MIN) / NOTED_STEP_PERCENT
}

/// The last step that the model got a note of in this view, since results were last offloaded from it.
fn noted_step(turn: &AgentTurn<'_>, plan: &ViewPlan, known: &KnownSession) -> Option<u64> {
    let blocks = turn.request.blocks();
    let is_in_view = |note: &&Note| {
        let is_after = |at: usize| matches!(&blocks[at].kind, BlockKind::Result(result) if result.call == note.after);
        (0..blocks.len()).any(|at| is_after(at) && plan.pieces.iter().any(|piece| is_of(piece, at)))
    };
    let since = known.decisions.notes.iter().rev().filter(is_in_view).take_while(|note| !view::is_receipt(&note.text));
    let noted = since.filter_map(|note| note.text.strip_prefix(CONTEXT_USED)?.split_once('%')?.0.parse().ok());
    noted.map(step).max()
}

/// Whether the model can call `compact_context`: the client lists it, or a result in this view loaded it.
fn can_ask_for_space(turn: &AgentTurn<'_>, plan: &ViewPlan) -> bool {
    let asks = |tool: &str| OwnTool::spelled(tool) == Some(OwnTool::CompactContext);
    let loads_it = |piece: &ViewPiece| match piece {
        ViewPiece::Keep(at) | ViewPiece::Content { block: at, .. } => match &turn.request.blocks()[*at].kind {
            BlockKind::Result(result) => result.loads.iter().any(|tool| asks(tool)),
            _ => false,
        },
        ViewPiece::Text { .. } | ViewPiece::Words { .. } | ViewPiece::Quote { .. } | ViewPiece::Say { .. } => false,
    };
    turn.tools.iter().any(|tool| asks(tool)) || plan.pieces.iter().any(loads_it)
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
