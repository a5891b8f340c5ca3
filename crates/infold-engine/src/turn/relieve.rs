//! Relieves a thread's view of results, because it does not fit (`rescue.rs`) or because its agent asked for it
//! (`lighten.rs`): references replace them, the thread is restarted, and a receipt says so to the model.
//!
//! Must hold: all of it is stored in one transaction, or nothing; only what tools printed leaves the view.

use infold_core::record::{Part, PartKind};
use infold_core::view::{
    self, BlockKind, Burden, Note, OffloadGoal, OffloadedResult, Reason, ReceiptCause, Replacement, Restart,
    ResultBlock, ViewPiece,
};
use infold_core::{Counter, OwnTool, TextSize, Thread, ToolEffect, grouped};
use infold_store::NewBlob;

use super::identify::Identity;
use super::offload::StoredRelief;
use super::prompt::{AgentTurn, SentPrompt};
use super::results::new_result;
use crate::intake::NewResult;
use crate::{Engine, Error, PromptParts};

/// Shorter results are not worth a reference.
const OFFLOADED_BYTES_MIN: usize = 4_096;
/// How many tokens a reference takes, roughly.
const REFERENCE_TOKENS: u64 = 700;

/// Why results are offloaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReliefCause {
    /// The request does not fit the model's window.
    TooLong,
    /// The thread's agent asked for space.
    Asked,
}

/// What a view takes in tokens, and what could be offloaded of it.
pub(super) struct Weighed {
    /// Tokens of the whole prompt.
    pub(super) tokens: u64,
    pub(super) pieces: Vec<ViewPiece>,
    /// Tokens of reasoning, which a restart leaves out.
    pub(super) reasoning_tokens: u64,
    /// Tokens of each piece that can be offloaded, 0 for the others.
    freed_tokens: Vec<u64>,
    /// What of the prompt no offloading can make smaller, by what it is.
    fixed_tokens: [(&'static str, u64); 4],
    counter: Counter,
}

/// Results that are to be offloaded.
pub(super) struct Chosen {
    /// The blocks of the results, each with its tokens.
    pub(super) results: Vec<(usize, u64)>,
    /// By how much the view shrinks, roughly.
    pub(super) freed_tokens: u64,
}

impl Engine {
    /// Counts what a view takes in all, and what offloading its results would free.
    pub(super) fn weighed(&self, turn: &AgentTurn<'_>, prompt: &SentPrompt) -> Weighed {
        let counted = self.parts_of(&turn.request, prompt.pieces.as_deref());
        self.weighed_by(turn, prompt, &counted, |piece, _| can_offload(turn, prompt, piece))
    }

    /// The same with parts that are counted, and whatever `can_offload` says may go.
    pub(super) fn weighed_by(
        &self,
        turn: &AgentTurn<'_>,
        prompt: &SentPrompt,
        counted: &PromptParts,
        can_offload: impl Fn(&ViewPiece, &Part) -> bool,
    ) -> Weighed {
        let pieces = prompt.all_pieces(&turn.request);
        let Identity { who, session, .. } = &turn.identity;
        let learnt = self.calibration_in(&who.owner, session, &turn.model());
        let counter = learnt.counter();
        let parts = counted.sent();
        let front = parts.len() - pieces.len();
        let weights = pieces.iter().zip(&parts[front..]);
        let freed_tokens = weights
            .map(|(piece, part)| if can_offload(piece, part) { counter.tokens(&part.size) } else { 0 })
            .collect();
        let of = |kinds: &[PartKind]| tokens_of(parts, kinds, &counter);
        let fixed_tokens = [
            ("the system prompt", of(&[PartKind::System])),
            ("tools", of(&[PartKind::Tool])),
            ("words on the user's side", of(&[PartKind::User])),
            ("the model's words and calls", of(&[PartKind::Assistant, PartKind::Call, PartKind::Reasoning])),
        ];
        let reasoning_tokens = of(&[PartKind::Reasoning]);
        let tokens = learnt.prompt_tokens(counted.sent_tokens(&Counter::new(learnt.family())));
        Weighed { tokens, pieces, reasoning_tokens, freed_tokens, fixed_tokens, counter }
    }

    /// Offloads the chosen results and stores that. Returns whether there were any.
    pub(super) async fn relieve(
        &self,
        turn: &AgentTurn<'_>,
        prompt: &SentPrompt,
        weighed: &Weighed,
        chosen: &Chosen,
        cause: ReliefCause,
    ) -> Result<bool, Error> {
        let Identity { who, session, .. } = &turn.identity;
        let leaving = self.offload(turn, &prompt.thread, chosen, cause).await?;
        let (Some(last), Some(restart)) = (last_result(turn, prompt), prompt.restart.clone()) else { return Ok(false) };
        let results = turn.request.blocks().iter().filter_map(|block| match &block.kind {
            BlockKind::Result(result) => Some(&*result.call),
            _ => None,
        });
        let mut changed = results.filter(|call| leaving.iter().any(|leaving| leaving.call == *call));
        let Some(from) = changed.next().map(str::to_owned) else { return Ok(false) };
        let text = weighed.receipt(&leaving, &reader(turn), cause);
        let (blobs, rewrites) = leaving.into_iter().map(|one| (one.blob, (one.call, one.rewrite))).unzip();
        let restart = Restart { from: Some(from), ..restart };
        let lightened = (cause == ReliefCause::Asked).then(|| prompt.thread.clone());

        let stored = StoredRelief { blobs, rewrites, restart, note: Note { after: last, text }, lightened };
        self.store_relief(who, session, stored).await?;
        Ok(true)
    }

    /// Writes what replaces each of the chosen results when it is offloaded.
    async fn offload(
        &self,
        turn: &AgentTurn<'_>,
        thread: &Thread,
        chosen: &Chosen,
        cause: ReliefCause,
    ) -> Result<Vec<LeavingResult>, Error> {
        let (request, identity) = (&turn.request, &turn.identity);
        let results = chosen.results.iter().filter_map(|(at, tokens)| match &request.blocks()[*at].kind {
            BlockKind::Result(result) => Some((*at, *tokens, result)),
            _ => None,
        });
        let results: Vec<(usize, u64, &ResultBlock<'_>)> = results.collect();
        let new: Vec<NewResult> = results.iter().map(|(at, _, result)| new_result(request, *at, result)).collect();
        let tools: Vec<String> = new.iter().map(|new| new.tool.clone()).collect();
        let reason = match cause {
            ReliefCause::TooLong => Reason::Rescued,
            ReliefCause::Asked => Reason::Lightened,
        };

        let candidate = self.write_references(&identity.who, &identity.session, thread, new).await?;

        let mut leaving = Vec::new();
        for (((at, tokens, result), tool), candidate) in results.into_iter().zip(tools).zip(candidate) {
            let Some(candidate) = candidate else { continue };
            let sent = self.scrub_json(&request.content_of_text(at, &candidate.text), &[]).await?;
            let rewrite = Replacement { content: result.content, sent, reason };
            let (call, handle) = (result.call.clone().into_owned(), candidate.blob.id.to_string());
            let reference = TextSize::of(&candidate.text);
            leaving.push(LeavingResult { call, tool, tokens, reference, handle, blob: candidate.blob, rewrite });
        }
        Ok(leaving)
    }
}

impl Weighed {
    /// Chooses the results that have to go for a goal.
    pub(super) fn chosen(&self, turn: &AgentTurn<'_>, goal: OffloadGoal) -> Chosen {
        let request = turn.view_request();
        let relief = view::relieve(&Burden {
            request: &request,
            pieces: &self.pieces,
            tokens: &self.freed_tokens,
            reference_tokens: REFERENCE_TOKENS,
            goal,
        });
        let tokens_of = |block: &usize| {
            self.pieces.iter().position(|piece| block_of(piece) == Some(*block)).map(|at| self.freed_tokens[at])
        };
        let results = relief.results.iter().map(|block| (*block, tokens_of(block).unwrap_or_default())).collect();
        Chosen { results, freed_tokens: relief.freed_tokens }
    }

    /// Names what no offloading can make smaller, in words.
    pub(super) fn fixed(&self) -> String {
        let [system, tools, user, model] = self.fixed_tokens.map(|(what, tokens)| (what, grouped(tokens)));
        let named = |(what, tokens): (&str, String)| format!("{what} ({tokens})");
        let first = format!("{} ({} tokens)", system.0, system.1);
        format!("{first}, {}, {} and {}", named(tools), named(user), named(model))
    }

    /// Writes the receipt for what was offloaded.
    fn receipt(&self, leaving: &[LeavingResult], reader: &str, cause: ReliefCause) -> String {
        let listed: Vec<OffloadedResult<'_>> = leaving.iter().map(LeavingResult::as_offloaded).collect();
        match cause {
            ReliefCause::TooLong => view::receipt(&listed, reader, ReceiptCause::TooLong),
            ReliefCause::Asked => {
                let before_tokens = self.tokens;
                let written =
                    |after_tokens| view::receipt(&listed, reader, ReceiptCause::Asked { before_tokens, after_tokens });
                let gone_tokens = self.reasoning_tokens + leaving.iter().map(|one| one.tokens).sum::<u64>();
                let references: TextSize = leaving.iter().map(|one| one.reference).sum();
                let rest_tokens = before_tokens.saturating_sub(gone_tokens) + self.counter.tokens(&references);
                // The receipt is in the prompt, too.
                let own_tokens = self.counter.tokens(&TextSize::of(&written(rest_tokens)));
                written(rest_tokens + own_tokens)
            }
        }
    }
}

fn tokens_of(parts: &[Part], kinds: &[PartKind], counter: &Counter) -> u64 {
    let parts = parts.iter().filter(|part| kinds.contains(&part.kind));
    counter.tokens(&parts.map(|part| part.size).sum())
}

/// A result that is offloaded, with what replaces it.
struct LeavingResult {
    call: String,
    tool: String,
    tokens: u64,
    reference: TextSize,
    handle: String,
    blob: NewBlob,
    rewrite: Replacement,
}

impl LeavingResult {
    fn as_offloaded(&self) -> OffloadedResult<'_> {
        OffloadedResult { tool: &self.tool, handle: &self.handle, tokens: self.tokens }
    }
}

/// Whether a piece is a result that can be offloaded: a long one, of text alone, that is sent whole, with or without
/// its secrets.
pub(super) fn can_offload(turn: &AgentTurn<'_>, prompt: &SentPrompt, piece: &ViewPiece) -> bool {
    let request = &turn.request;
    let Some((at, result)) = long_result(turn, prompt, piece) else { return false };
    let bytes = || request.text_parts(at).iter().map(|text| text.len()).sum::<usize>();
    let is_ours = || ToolEffect::of(&request.call(&result.call).0).is_some();
    bytes() >= OFFLOADED_BYTES_MIN && request.is_all_text(at) && !is_ours()
}

/// Whether a piece can probably be offloaded, by a quick check that looks at no text.
pub(super) fn can_probably_offload(turn: &AgentTurn<'_>, prompt: &SentPrompt, piece: &ViewPiece, part: &Part) -> bool {
    let is_ours = || part.name.as_deref().is_some_and(|tool| ToolEffect::of(tool).is_some());
    long_result(turn, prompt, piece).is_some() && !is_ours()
}

/// The result that a piece shows, if it is a long one that is sent whole.
fn long_result<'t>(
    turn: &'t AgentTurn<'_>,
    prompt: &SentPrompt,
    piece: &ViewPiece,
) -> Option<(usize, &'t ResultBlock<'t>)> {
    let (at, sent_bytes) = match piece {
        ViewPiece::Keep(at) => (*at, usize::MAX),
        ViewPiece::Content { block, json } if prompt.scrubbed.contains(block) => (*block, json.len()),
        ViewPiece::Content { .. }
        | ViewPiece::Text { .. }
        | ViewPiece::Words { .. }
        | ViewPiece::Quote { .. }
        | ViewPiece::Say { .. } => return None,
    };
    let BlockKind::Result(result) = &turn.request.blocks()[at].kind else { return None };
    (result.content_bytes.min(sent_bytes) >= OFFLOADED_BYTES_MIN).then_some((at, result))
}

/// The block that a piece is made from.
pub(super) fn block_of(piece: &ViewPiece) -> Option<usize> {
    match piece {
        ViewPiece::Keep(at)
        | ViewPiece::Content { block: at, .. }
        | ViewPiece::Text { block: at, .. }
        | ViewPiece::Words { block: at, .. }
        | ViewPiece::Quote { block: at, .. } => Some(*at),
        ViewPiece::Say { .. } => None,
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
