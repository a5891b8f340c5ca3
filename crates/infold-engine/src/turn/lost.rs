//! Sessions whose decisions are not in the store although there must have been some: the database was lost, or the
//! client goes on from a copy of another session. A result that was offloaded is then sent as the client has it, and no
//! new decision is improvised; but reasoning after it was made on other bytes.
//!
//! Such a session is restarted once, and that is stored. All later requests then leave out the same reasoning, and keep
//! what was made since.

use infold_core::view::{
    Block, BlockKind, Reason, Restart, ResultBlock, StoredDecisions, ViewPlan, changes_tree, reads_back,
};
use infold_core::{Counter, Mentions, ToolEffect, ToolResult};

use super::cache::SessionCache;
use super::known_session::KnownSession;
use super::prompt::{AgentTurn, PlanningFault};
use super::{Purpose, Shaping};
use crate::Engine;

impl Engine {
    /// Restarts a session that nothing is stored of, if decisions about it are lost. A session that this process has
    /// seen before has lost none.
    pub(super) async fn start_over_if_lost(
        &self,
        turn: &AgentTurn<'_>,
        cache: &mut SessionCache,
        known: &mut KnownSession,
    ) -> Result<(), PlanningFault> {
        if !self.lacks_decisions(turn) {
            return Ok(());
        }
        known.has_edited = true;
        let plan = self.plan_by_transcript(turn)?;
        // Any of the threads may have lost decisions.
        let Some(restart) = plan.restart_here.map(|restart| Restart { root: None, ..restart }) else { return Ok(()) };
        match turn.purpose {
            Purpose::Send => {
                let identity = &turn.identity;
                self.store_restart(&identity.who, &identity.session, restart.clone()).await?;
            }
            Purpose::Count => cache.has_passing = true,
        }
        known.decisions.restarts.push(restart);
        Ok(())
    }

    /// Whether decisions must have been made that are not stored. They must if there is reasoning after a result that
    /// is long enough to be offloaded, or after a script that changed the tree, because what such a script was answered
    /// is in no transcript. Results that were shaped for any other reason than their length cannot be recognised.
    pub(super) fn lacks_decisions(&self, turn: &AgentTurn<'_>) -> bool {
        let blocks = turn.request.blocks();
        let last = blocks.iter().rposition(|block| matches!(block.kind, BlockKind::Reasoning));
        let changes = |block: &Block<'_>| matches!(&block.kind, BlockKind::Call(call) if changes_tree(call));
        if blocks[..last.unwrap_or_default()].iter().any(changes) {
            return true;
        }
        let Some(last) = last.filter(|_| self.inner.settings.turn.shaping == Shaping::On) else { return false };
        let is_reader = |tool: &str| ToolEffect::of(tool) == Some(ToolEffect::Read);
        let mut has_reader = turn.tools.iter().any(|tool| is_reader(tool));
        let counter = self.counter_for(&turn.model());
        for (at, block) in blocks[..last].iter().enumerate() {
            let BlockKind::Result(result) = &block.kind else { continue };
            if has_reader && self.is_long(turn, at, result, counter) {
                return true;
            }
            has_reader |= result.loads.iter().any(|tool| is_reader(tool));
        }
        false
    }

    /// Whether a transcript shows by itself that its model was sent something other than its client sent.
    pub(super) fn shows_folds(&self, turn: &AgentTurn<'_>) -> bool {
        let of_branches = [Reason::Folded, Reason::Isolated, Reason::Brief, Reason::Waiting];
        let has_folded = |plan: ViewPlan| plan.edits.iter().any(|edit| of_branches.contains(&edit.reason));
        self.plan_by_transcript(turn).is_ok_and(has_folded)
    }

    fn plan_by_transcript(&self, turn: &AgentTurn<'_>) -> Result<ViewPlan, PlanningFault> {
        let wanted = turn.view_request();
        Ok(self.plan_view(&wanted, &StoredDecisions::default())?)
    }

    fn is_long(&self, turn: &AgentTurn<'_>, at: usize, result: &ResultBlock<'_>, counter: Counter) -> bool {
        let (tool, arguments) = turn.request.call(&result.call);
        if ToolEffect::of(&tool).is_some() || reads_back(&tool, &arguments) || !turn.request.is_all_text(at) {
            return false;
        }
        let text = turn.request.text_parts(at).join("\n");
        let tool_result = ToolResult { tool: &tool, arguments: &arguments, text: &text };
        self.inner.settings.shape.offloads(&tool_result, &Mentions::default(), counter)
    }
}
