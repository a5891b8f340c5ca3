//! Requests that the model cannot take: too long for its window, or with reasoning that it refuses.
//!
//! A rescue offloads the largest results (`relieve.rs`), in whole rounds and the newest last, until the rest fits with
//! room to go on; the person's words stay. Either remedy restarts the thread without its reasoning and is stored, so
//! that every later request goes on from it. A rescue that would not help is not made: the client then gets the
//! provider's own refusal.

use infold_core::record::WarningKind;
use infold_core::view::{BlockKind, Edit, OffloadGoal, Reason, ViewPiece};
use infold_core::{Counter, grouped};
use infold_wire::request::Api;

use super::Prepared;
use super::identify::Identity;
use super::prompt::AgentTurn;
use super::prompt::SentPrompt;
use super::relieve::{ReliefCause, can_offload};
use crate::Engine;

/// How often a session is rescued in a row. After that something else must be wrong.
const RESCUES_MAX: u32 = 5;
/// At most this fraction of a window is left free: one third.
const RESERVE_SHARE: u64 = 3;

impl Engine {
    /// The window that a request does not fit by infold's own count, if infold should decide that. Anthropic's API
    /// refuses too long requests without charging for them, and only it knows which window an account has.
    pub(super) fn overflow(&self, prepared: &Prepared<'_>) -> Option<u64> {
        let Prepared { turn, prompt, .. } = prepared;
        if turn.request.api() == Api::Messages || !prepared.is_whole() {
            return None;
        }
        let model = turn.model();
        // Only the provider knows whether this account has the largest window; what is longer than that fits no
        // account.
        let window_tokens = self.inner.settings.turn.windows.largest_tokens_of(&model);
        // Few texts have more than one token for two bytes, and counting takes time.
        if (prompt.body.len() as u64) < window_tokens * 2 {
            return None;
        }
        let parts = self.parts_of(&turn.request, prompt.pieces.as_deref());
        let Identity { who, session, .. } = &turn.identity;
        let learnt = self.calibration_in(&who.owner, session, &model);
        let prompt_tokens = learnt.prompt_tokens(parts.sent_tokens(&Counter::new(learnt.family())));
        (prompt_tokens > window_tokens).then_some(window_tokens)
    }

    /// Makes a prompt that fits by offloading results, or says why that is not possible.
    pub(super) async fn rescue_prompt(
        &self,
        prepared: &Prepared<'_>,
        window_tokens: Option<u64>,
    ) -> Result<SentPrompt, String> {
        let Prepared { turn, prompt, slot, .. } = prepared;
        if !prompt.reads_results {
            return Err("it does not fit, and its model could not read back what would be offloaded".to_owned());
        }
        let model = turn.model();
        let weighed = self.weighed(turn, prompt);
        let before_tokens = weighed.tokens;
        let settings = &self.inner.settings.turn;
        // If the provider has refused it, it does not fit, whatever infold's own count says.
        let window_tokens = window_tokens.unwrap_or_else(|| settings.windows.tokens_of(&model)).min(before_tokens);
        let room_tokens = window_tokens - settings.reserve_tokens.min(window_tokens / RESERVE_SHARE);
        let goal = OffloadGoal::Fit { excess_tokens: before_tokens.saturating_sub(room_tokens) };
        let chosen = weighed.chosen(turn, goal);
        let fixed = weighed.fixed();
        if chosen.results.is_empty() || before_tokens.saturating_sub(chosen.freed_tokens) > window_tokens {
            tracing::warn!(before_tokens, window_tokens, "a session cannot be made to fit");
            return Err(format!("it does not fit, and no rescue would help; what cannot shrink is {fixed}"));
        }
        let rescues = slot.rescue();
        if rescues > RESCUES_MAX {
            tracing::warn!(rescues, before_tokens, window_tokens, "a session does not fit however often it is rescued");
            return Err(format!(
                "rescued {RESCUES_MAX} times in a row and it still does not fit; what cannot shrink is {fixed}"
            ));
        }
        let done = self.relieve(turn, prompt, &weighed, &chosen, ReliefCause::TooLong).await;
        if !done.map_err(|error| format!("it does not fit and could not be rescued: {error}"))? {
            return Err(format!("it does not fit, and nothing could be offloaded; what cannot shrink is {fixed}"));
        }
        let (before, window) = (grouped(before_tokens), grouped(window_tokens));
        let words = format!("{before} tokens did not fit {window}; results were offloaded (rescue {rescues})");
        let again = self.plan_again(turn, (WarningKind::Rescued, words)).await;
        again.ok_or_else(|| "it could not be planned again after a rescue".to_owned())
    }

    /// Makes a prompt without the reasoning that the provider refused.
    pub(super) async fn restart_prompt(&self, prepared: &Prepared<'_>) -> Option<SentPrompt> {
        let Prepared { turn, prompt, .. } = prepared;
        let identity = &turn.identity;
        let Some(restart) = prompt.restart.clone() else { return without_reasoning(turn, prompt) };
        if let Err(error) = self.store_restart(&identity.who, &identity.session, restart).await {
            tracing::warn!(%error, "a new start could not be stored");
            return without_reasoning(turn, prompt);
        }
        let words = "the provider refused the reasoning in it, so it went again without".to_owned();
        let again = self.plan_again(turn, (WarningKind::ReasoningRefused, words)).await;
        again.filter(|again| again.body != prompt.body).or_else(|| without_reasoning(turn, prompt))
    }

    /// Plans a request again, with what was stored meanwhile.
    pub(super) async fn plan_again(&self, turn: &AgentTurn<'_>, warning: (WarningKind, String)) -> Option<SentPrompt> {
        let mut prompt = self.make_prompt(turn).await.ok()?;
        prompt.warnings.push(warning);
        Some(prompt)
    }
}

/// Leaves the reasoning out of a view, if no plan does so.
fn without_reasoning(turn: &AgentTurn<'_>, prompt: &SentPrompt) -> Option<SentPrompt> {
    let blocks = turn.request.blocks();
    let is_reasoning =
        |piece: &ViewPiece| matches!(piece, ViewPiece::Keep(at) if matches!(blocks[*at].kind, BlockKind::Reasoning));
    let before = prompt.all_pieces(&turn.request);
    let pieces: Vec<ViewPiece> = before.iter().filter(|piece| !is_reasoning(piece)).cloned().collect();
    let dropped = before.len() - pieces.len();
    if dropped == 0 {
        return None;
    }
    let mut edits = prompt.edits.clone();
    edits.push(Edit { reason: Reason::Reasoning, blocks: dropped });
    Some(SentPrompt {
        body: turn.request.apply(&pieces).into(),
        thread: prompt.thread.clone(),
        restart: prompt.restart.clone(),
        edits,
        pieces: Some(pieces),
        reads_results: prompt.reads_results,
        scrubbed: prompt.scrubbed.clone(),
        is_to_lighten: prompt.is_to_lighten,
        warnings: prompt.warnings.clone(),
        over: None,
    })
}

/// Whether a rescue could offload anything of a request, by a quick check.
pub(super) fn may_be_rescued(prepared: &Prepared<'_>) -> bool {
    let Prepared { turn, prompt, .. } = prepared;
    prompt.reads_results && prompt.all_pieces(&turn.request).iter().any(|piece| can_offload(turn, prompt, piece))
}
