//! Pacing: how much of a tool's result a thread is shown, so that the thread lasts.
//!
//! A thread is to last a number of turns between two compactions, and something of its window is kept free for each turn
//! that is still to come. What is left beyond that is there for whole files and long output; once it is taken, only short
//! results are shown whole, and the others become references. All of it follows from the thread as it is, so a session
//! that is resumed goes on as it would have.
//!
//! What must hold: a part that a call names (`read` with a range, `read_result`) is always shown, up to a bound, and never
//! becomes a reference: whoever follows a reference gets to read. What people say is not bounded here.

use infold_core::{CompactionThresholds, ContextBudget, Thread};
use infold_engine::ResultRoom;

use crate::agent::CodingAgent;
use crate::own_tools;
use crate::session::{OpenCall, ThreadState};
use crate::tools::LocalTool;

#[cfg(test)]
mod tests;

/// What is kept free for each turn to come: a reference, a call and a few words.
const TURN_PERMILLE: u64 = 12;
/// What a part that a call names may take of the window, however little room there is.
const PART_PERMILLE: u64 = 20;
/// Bytes of a token, fewer than most text has.
const TOKEN_BYTES: u64 = 3;
/// Bytes of a part that are shown in any window.
const PART_BYTES_MIN: usize = 4_096;
/// What is said behind a part: which lines it has, and how to read on.
const PART_FRAME_BYTES: usize = 200;
/// What is shown of a result that is offloaded in any case, where there is room.
const REFERENCE_BYTES: usize = 10_000;
/// Results up to this length are shown whole in any case, so that there is nothing to measure.
const SHORT_BYTES: usize = 2_048;

impl CodingAgent {
    /// How much of a result its thread has room for.
    pub(crate) async fn room_for(&self, thread: &Thread, call: &OpenCall, text: &str) -> ResultRoom {
        let is_paced = self.setup.limits.compaction_turns > 0;
        if !is_paced || text.len() <= SHORT_BYTES || names_part(call) || own_tools::is_own(&call.tool) {
            return ResultRoom::Usual;
        }
        let is_whole = text.len() <= self.setup.limits.part_bytes_max;
        let shown_bytes = if is_whole { text.len() } else { REFERENCE_BYTES.min(text.len()) };
        let tokens = self.setup.model.counter.count(&text[..text.floor_char_boundary(shown_bytes)]);
        if tokens <= self.room_tokens(thread).await { ResultRoom::Usual } else { ResultRoom::Tight }
    }

    /// Bytes of a part that a call names.
    pub(crate) async fn part_bytes(&self, thread: &Thread) -> usize {
        let limits = &self.setup.limits;
        let least_tokens = limits.context_budget_tokens * PART_PERMILLE / 1_000;
        let bytes = self.room_tokens(thread).await.max(least_tokens).saturating_mul(TOKEN_BYTES);
        let bytes_max = limits.part_bytes_max.saturating_sub(PART_FRAME_BYTES).max(PART_FRAME_BYTES);
        usize::try_from(bytes).unwrap_or(usize::MAX).max(PART_BYTES_MIN).min(bytes_max)
    }

    /// What is said behind a reference to a file: by which parts it is read. Other references say so themselves.
    pub(crate) async fn how_to_read(&self, thread: &Thread, call: &OpenCall, text: &str) -> String {
        if LocalTool::named(&call.tool) != Some(LocalTool::Read) {
            return String::new();
        }
        let total = text.lines().count().max(1);
        let fitting = (self.part_bytes(thread).await * total / text.len().max(1)).max(1);
        format!("\n[`read` with offset and limit shows it in parts: about {fitting} of its {total} lines fit in one]")
    }

    /// Tokens that results may take, beside what is kept free.
    async fn room_tokens(&self, thread: &Thread) -> u64 {
        let limits = &self.setup.limits;
        // Instructions and tools were counted with the last request; a run that begins with open calls has sent none yet.
        let counted = self.run_state().fixed_tokens;
        let fixed_tokens = match counted {
            Some(tokens) => tokens,
            None => self.measure(thread, &self.front().await).fixed_tokens(),
        };
        let budget = ContextBudget {
            system_prompt_tokens: fixed_tokens,
            conversation_tokens: self.entry_tokens(thread).iter().sum(),
            ..ContextBudget::new(limits.context_budget_tokens, limits.max_output_tokens)
        };
        let turns_left = self.with_thread(thread, |thread| turns_left(thread, limits.compaction_turns));
        room_tokens(&budget, &limits.thresholds, turns_left)
    }
}

/// Whether a call says which part of a file it wants to see.
pub(crate) fn names_part(call: &OpenCall) -> bool {
    let names = |field: &str| call.arguments.get(field).is_some_and(|value| !value.is_null());
    LocalTool::named(&call.tool) == Some(LocalTool::Read) && (names("offset") || names("limit"))
}

/// Turns that a thread still is to last.
fn turns_left(thread: &ThreadState, compaction_turns: u64) -> u64 {
    let since = thread.turns.saturating_sub(thread.compacted_at.last().copied().unwrap_or(0));
    compaction_turns.saturating_sub(since)
}

/// Tokens until a thread is compacted, without what is kept free for the turns that it still is to last.
fn room_tokens(budget: &ContextBudget, thresholds: &CompactionThresholds, turns_left: u64) -> u64 {
    let free = thresholds.compact_at_tokens(budget).saturating_sub(budget.used_tokens());
    let kept_free = budget.effective_window().saturating_mul(TURN_PERMILLE).saturating_mul(turns_left) / 1_000;
    free.saturating_sub(kept_free)
}
