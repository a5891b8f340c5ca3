//! Takes secrets out of what clients say on their own account. A client attaches files, and it flattens a whole
//! conversation into one text to have it summarised; both hold what tools printed. What a person types is sent as
//! typed.

use std::borrow::Cow;
use std::sync::Arc;

use infold_core::transcript::Voice;
use infold_core::view::{
    self, BlockKind, Edit, LastAnswer, Reason, RequestKind, ThreadSource, TranscriptStart, ViewPiece, ViewPlan,
};
use infold_core::{Scrubbed, Thread};
use infold_wire::FlattenedConversation;
use infold_wire::request::Request;

use super::cache::SessionCache;
use super::known_session::KnownSession;
use super::prompt::{AgentTurn, PlanningFault};
use crate::{Engine, Failure};

impl Engine {
    /// Takes the secrets out of what the client says in a plan, and folded work out of a conversation that it has
    /// flattened.
    pub(super) async fn scrub_words(
        &self,
        turn: &AgentTurn<'_>,
        plan: &mut ViewPlan,
        cache: &mut SessionCache,
        known: Option<&KnownSession>,
    ) -> Result<(), PlanningFault> {
        let mut changed = 0;
        for piece in &mut plan.pieces {
            let ViewPiece::Keep(at) = *piece else { continue };
            if !is_the_clients(turn, at) {
                continue;
            }
            if let Some(text) = self.scrubbed_words(turn, at, cache, known).await? {
                *piece = ViewPiece::Words { block: at, text: text.to_string() };
                changed += 1;
            }
        }
        if changed > 0 {
            add_scrubbed(&mut plan.edits, changed);
        }
        Ok(())
    }

    /// What is sent of a client's words; `None` if they are unchanged. The outcome is held, because it is the same in
    /// every request.
    async fn scrubbed_words(
        &self,
        turn: &AgentTurn<'_>,
        at: usize,
        cache: &mut SessionCache,
        known: Option<&KnownSession>,
    ) -> Result<Option<Arc<str>>, PlanningFault> {
        let key = turn.request.blocks()[at].key;
        if cache.clean.contains(&key) {
            return Ok(None);
        }
        if let Some(text) = cache.words.get(&key) {
            return Ok(Some(Arc::clone(text)));
        }
        let said = turn.request.words(at);
        let flattened = match turn.identity.kind {
            RequestKind::Compaction => self.without_folded_work(&said, known),
            RequestKind::Turn | RequestKind::Side => None,
        };
        let wanted = flattened.map_or(Cow::Borrowed(&*said), Cow::Owned);
        let scrubbed = self.scrub_or_withhold(vec![wanted.into_owned()]).await.map_err(Failure::Scrubbing)?;
        let text = Scrubbed::join(&scrubbed.iter().collect::<Vec<_>>(), "\n").into_string();
        if text == *said {
            cache.clean.insert(key);
            return Ok(None);
        }
        let text: Arc<str> = text.into();
        cache.words.insert(key, Arc::clone(&text));
        Ok(Some(text))
    }

    /// Removes the work of folded branches from a conversation that is flattened into one text; `None` if the text is
    /// no such conversation. Forced folds are found by the ids of calls, which are not in the text, so their branches
    /// stay whole.
    fn without_folded_work(&self, text: &str, known: Option<&KnownSession>) -> Option<String> {
        let flattened = FlattenedConversation::read(text)?;
        let blocks = flattened.blocks();
        let request = view::ViewRequest {
            blocks: &blocks,
            kind: RequestKind::Compaction,
            tools: &[],
            last_answer: LastAnswer::Ended,
            beginning: TranscriptStart::Words,
            thread: ThreadSource::Transcript,
        };
        let plan = self.plan_view(&request, &known?.decisions).ok()?;
        (plan.thread == Thread::Main).then(|| flattened.write(&plan.pieces))
    }
}

/// The results that a plan sends without their secrets and otherwise unchanged.
pub(super) fn scrubbed_results(request: &Request<'_>, pieces: &[ViewPiece], known: &KnownSession) -> Vec<usize> {
    let is_scrubbed = |at: usize| match &request.blocks()[at].kind {
        BlockKind::Result(result) => {
            let rewrite = known.decisions.rewrites.get(&*result.call);
            rewrite.is_some_and(|rewrite| rewrite.content == result.content && rewrite.reason == Reason::Scrubbed)
        }
        _ => false,
    };
    let rewritten = pieces.iter().filter_map(|piece| match piece {
        ViewPiece::Content { block, .. } => Some(*block),
        ViewPiece::Keep(_)
        | ViewPiece::Text { .. }
        | ViewPiece::Words { .. }
        | ViewPiece::Quote { .. }
        | ViewPiece::Say { .. } => None,
    });
    rewritten.filter(|at| is_scrubbed(*at)).collect()
}

/// Adds blocks to those that were scrubbed.
pub(super) fn add_scrubbed(edits: &mut Vec<Edit>, blocks: usize) {
    match edits.iter_mut().find(|edit| edit.reason == Reason::Scrubbed) {
        Some(edit) => edit.blocks += blocks,
        None => edits.push(Edit { reason: Reason::Scrubbed, blocks }),
    }
}

/// Whether a block is what the client says on its own account, or a conversation that it has flattened.
fn is_the_clients(turn: &AgentTurn<'_>, at: usize) -> bool {
    match &turn.request.blocks()[at].kind {
        BlockKind::Instruction | BlockKind::User { voice: Voice::Client } | BlockKind::Attachment => true,
        BlockKind::User { voice: Voice::Person } => {
            turn.identity.kind == RequestKind::Compaction && turn.request.asks_for_compaction(at)
        }
        BlockKind::Assistant
        | BlockKind::Reasoning
        | BlockKind::Call(_)
        | BlockKind::Result(_)
        | BlockKind::Other { .. } => false,
    }
}
