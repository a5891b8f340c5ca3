//! Requests that the model cannot take: too long for its window, or with reasoning that it refuses.
//!
//! A rescue offloads the largest results, in whole rounds and the newest last ([`view::overflow`]), until the rest fits
//! with room to go on; the person's words stay. Either remedy restarts the thread without its reasoning and is stored,
//! so that every later request goes on from it. A rescue that would not help is not made: the client then gets the
//! provider's own refusal.

use infold_core::record::{Part, PartKind, WarningKind};
use infold_core::view::{
    self, BlockKind, Edit, Note, OffloadedResult, Overflow, Reason, Replacement, Restart, ResultBlock, ViewPiece,
};
use infold_core::{Counter, OwnTool, Thread, ToolEffect, grouped};
use infold_store::NewBlob;
use infold_wire::request::Api;

use super::Prepared;
use super::identify::Identity;
use super::offload::StoredRescue;
use super::prompt::AgentTurn;
use super::prompt::SentPrompt;
use super::results::new_result;
use crate::intake::NewResult;
use crate::{Engine, Error};

/// Shorter results are not worth a reference.
const OFFLOADED_BYTES_MIN: usize = 4_096;
/// How many tokens a reference takes, roughly.
const REFERENCE_TOKENS: u64 = 700;
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
        let weighed = self.weighed(turn, prompt, &model);
        let before_tokens = weighed.tokens;
        let settings = &self.inner.settings.turn;
        // If the provider has refused it, it does not fit, whatever infold's own count says.
        let window_tokens = window_tokens.unwrap_or_else(|| settings.windows.tokens_of(&model)).min(before_tokens);
        let room_tokens = window_tokens - settings.reserve_tokens.min(window_tokens / RESERVE_SHARE);
        let chosen = weighed.chosen(turn, room_tokens, window_tokens);
        let fixed = weighed.fixed;
        if chosen.is_empty() {
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
        let done = self.rescue(turn, prompt, &chosen).await;
        if !done.map_err(|error| format!("it does not fit and could not be rescued: {error}"))? {
            return Err(format!("it does not fit, and nothing could be offloaded; what cannot shrink is {fixed}"));
        }
        let (before, window) = (grouped(before_tokens), grouped(window_tokens));
        let words = format!("{before} tokens did not fit {window}; results were offloaded (rescue {rescues})");
        let again = self.plan_again(turn, (WarningKind::Rescued, words)).await;
        again.ok_or_else(|| "it could not be planned again after a rescue".to_owned())
    }

    /// Offloads results and stores that. Returns whether there were any.
    async fn rescue(&self, turn: &AgentTurn<'_>, prompt: &SentPrompt, chosen: &[(usize, u64)]) -> Result<bool, Error> {
        let Identity { who, session, .. } = &turn.identity;
        let offloaded = self.offload(turn, &prompt.thread, chosen).await?;
        let (Some(last), Some(restart)) = (last_result(turn, prompt), prompt.restart.clone()) else { return Ok(false) };
        let results = turn.request.blocks().iter().filter_map(|block| match &block.kind {
            BlockKind::Result(result) => Some(&*result.call),
            _ => None,
        });
        let mut changed = results.filter(|call| offloaded.iter().any(|offloaded| offloaded.call == *call));
        let Some(from) = changed.next().map(str::to_owned) else { return Ok(false) };
        let text = view::receipt(&offloaded.iter().map(RescuedResult::as_offloaded).collect::<Vec<_>>(), &reader(turn));
        let (blobs, rewrites) = offloaded.into_iter().map(|one| (one.blob, (one.call, one.rewrite))).unzip();
        let restart = Restart { from: Some(from), ..restart };
        let note = Note { after: last, text };

        let rescue = StoredRescue { blobs, rewrites, restart, note };
        self.store_rescue(who, session, rescue).await?;
        Ok(true)
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
    async fn plan_again(&self, turn: &AgentTurn<'_>, warning: (WarningKind, String)) -> Option<SentPrompt> {
        let mut prompt = self.make_prompt(turn).await.ok()?;
        prompt.warnings.push(warning);
        Some(prompt)
    }

    /// Counts what a view takes in all, and what offloading each of its pieces would free.
    fn weighed(&self, turn: &AgentTurn<'_>, prompt: &SentPrompt, model: &str) -> Weighed {
        let request = &turn.request;
        let pieces = prompt.all_pieces(request);
        let counted = self.parts_of(request, Some(&pieces));
        let Identity { who, session, .. } = &turn.identity;
        let learnt = self.calibration_in(&who.owner, session, model);
        let counter = learnt.counter();
        let parts = counted.sent();
        let front = parts.len() - pieces.len();
        let can_offload = |piece: &ViewPiece| can_offload(turn, prompt, piece);
        let weights = pieces.iter().zip(&parts[front..]);
        let freed_tokens =
            weights.map(|(piece, part)| if can_offload(piece) { counter.tokens(&part.size) } else { 0 }).collect();
        let fixed = fixed(parts, &counter);
        let tokens = learnt.prompt_tokens(counted.sent_tokens(&Counter::new(learnt.family())));
        Weighed { tokens, fixed, pieces, freed_tokens }
    }

    /// Writes what replaces each of these results when it is offloaded.
    async fn offload(
        &self,
        turn: &AgentTurn<'_>,
        thread: &Thread,
        chosen: &[(usize, u64)],
    ) -> Result<Vec<RescuedResult>, Error> {
        let (request, identity) = (&turn.request, &turn.identity);
        let results = chosen.iter().filter_map(|(at, tokens)| match &request.blocks()[*at].kind {
            BlockKind::Result(result) => Some((*at, *tokens, result)),
            _ => None,
        });
        let results: Vec<(usize, u64, &ResultBlock<'_>)> = results.collect();
        let new: Vec<NewResult> = results.iter().map(|(at, _, result)| new_result(request, *at, result)).collect();
        let tools: Vec<String> = new.iter().map(|new| new.tool.clone()).collect();

        let candidate = self.write_references(&identity.who, &identity.session, thread, new).await?;

        let mut offloaded = Vec::new();
        for (((at, tokens, result), tool), candidate) in results.into_iter().zip(tools).zip(candidate) {
            let Some(candidate) = candidate else { continue };
            let sent = self.scrub_json(&request.content_of_text(at, &candidate.text), &[]).await?;
            let rewrite = Replacement { content: result.content, sent, reason: Reason::Rescued };
            let (call, handle) = (result.call.clone().into_owned(), candidate.blob.id.to_string());
            offloaded.push(RescuedResult { call, tool, tokens, handle, blob: candidate.blob, rewrite });
        }
        Ok(offloaded)
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
        warnings: prompt.warnings.clone(),
        over: None,
    })
}

/// Whether a rescue could offload anything of a request, by a quick check.
pub(super) fn may_be_rescued(prepared: &Prepared<'_>) -> bool {
    let Prepared { turn, prompt, .. } = prepared;
    prompt.reads_results && prompt.all_pieces(&turn.request).iter().any(|piece| can_offload(turn, prompt, piece))
}

/// Whether a piece is a result that can be offloaded: a long one, of text alone, that is sent whole, with or without
/// its secrets.
fn can_offload(turn: &AgentTurn<'_>, prompt: &SentPrompt, piece: &ViewPiece) -> bool {
    let request = &turn.request;
    let (at, sent_bytes) = match piece {
        ViewPiece::Keep(at) => (*at, usize::MAX),
        ViewPiece::Content { block, json } if prompt.scrubbed.contains(block) => (*block, json.len()),
        ViewPiece::Content { .. }
        | ViewPiece::Text { .. }
        | ViewPiece::Words { .. }
        | ViewPiece::Quote { .. }
        | ViewPiece::Say { .. } => {
            return false;
        }
    };
    let BlockKind::Result(result) = &request.blocks()[at].kind else { return false };
    let bytes = || request.text_parts(at).iter().map(|text| text.len()).sum::<usize>();
    let is_long = result.content_bytes.min(sent_bytes) >= OFFLOADED_BYTES_MIN && bytes() >= OFFLOADED_BYTES_MIN;
    let is_ours = || ToolEffect::of(&request.call(&result.call).0).is_some();
    is_long && request.is_all_text(at) && !is_ours()
}

/// The block that a piece is made from.
fn block_of(piece: &ViewPiece) -> Option<usize> {
    match piece {
        ViewPiece::Keep(at)
        | ViewPiece::Content { block: at, .. }
        | ViewPiece::Text { block: at, .. }
        | ViewPiece::Words { block: at, .. }
        | ViewPiece::Quote { block: at, .. } => Some(*at),
        ViewPiece::Say { .. } => None,
    }
}

/// What a view takes in tokens, and what could be offloaded of it.
struct Weighed {
    tokens: u64,
    /// A text that names what no rescue can make smaller.
    fixed: String,
    pieces: Vec<ViewPiece>,
    /// Tokens of each piece that can be offloaded, 0 for the others.
    freed_tokens: Vec<u64>,
}

impl Weighed {
    /// Chooses the results that have to go so that the rest fits with room to go on, with their tokens. Empty if it
    /// would not fit even without them.
    fn chosen(&self, turn: &AgentTurn<'_>, room_tokens: u64, window_tokens: u64) -> Vec<(usize, u64)> {
        let request = turn.view_request();
        let excess_tokens = self.tokens.saturating_sub(room_tokens);
        let relief = view::overflow(&Overflow {
            request: &request,
            pieces: &self.pieces,
            tokens: &self.freed_tokens,
            reference_tokens: REFERENCE_TOKENS,
            excess_tokens,
        });
        if self.tokens.saturating_sub(relief.freed_tokens) > window_tokens {
            return Vec::new();
        }
        let tokens_of = |block: &usize| {
            self.pieces.iter().position(|piece| block_of(piece) == Some(*block)).map(|at| self.freed_tokens[at])
        };
        relief.results.iter().map(|block| (*block, tokens_of(block).unwrap_or_default())).collect()
    }
}

/// Describes what no rescue can make smaller, in words.
fn fixed(parts: &[Part], counter: &Counter) -> String {
    let of = |kinds: &[PartKind]| {
        let parts = parts.iter().filter(|part| kinds.contains(&part.kind));
        grouped(counter.tokens(&parts.map(|part| part.size).sum()))
    };
    format!(
        "the system prompt ({} tokens), tools ({}), words on the user's side ({}) and the model's words and calls ({})",
        of(&[PartKind::System]),
        of(&[PartKind::Tool]),
        of(&[PartKind::User]),
        of(&[PartKind::Assistant, PartKind::Call, PartKind::Reasoning]),
    )
}

struct RescuedResult {
    call: String,
    tool: String,
    tokens: u64,
    handle: String,
    blob: NewBlob,
    rewrite: Replacement,
}

impl RescuedResult {
    fn as_offloaded(&self) -> OffloadedResult<'_> {
        OffloadedResult { tool: &self.tool, handle: &self.handle, tokens: self.tokens }
    }
}

/// The id of the call whose result is the last one in a view: that is how far its thread has got.
fn last_result(turn: &AgentTurn<'_>, prompt: &SentPrompt) -> Option<String> {
    let result = |piece: &ViewPiece| -> Option<&ResultBlock<'_>> {
        match &turn.request.blocks()[block_of(piece)?].kind {
            BlockKind::Result(result) => Some(result),
            _ => None,
        }
    };
    let pieces = prompt.all_pieces(&turn.request);
    pieces.iter().rev().find_map(result).map(|result| result.call.clone().into_owned())
}

/// The name of the tool that reads results back, as the client spells it.
fn reader(turn: &AgentTurn<'_>) -> String {
    let is_reader = |tool: &&str| ToolEffect::of(tool) == Some(ToolEffect::Read);
    let loaded = turn.request.blocks().iter().filter_map(|block| match &block.kind {
        BlockKind::Result(result) => result.loads.iter().map(|tool| &**tool).find(is_reader),
        _ => None,
    });
    let mut tools = turn.tools.iter().map(String::as_str).filter(is_reader).chain(loaded);
    tools.next().unwrap_or(OwnTool::ReadResult.name()).to_owned()
}
