//! What clients say on their own account: secrets are taken out of it, too. A client attaches files, and it tells a
//! whole conversation to have it summarised; both hold what tools printed, in all but name. What a person types
//! goes as typed.

use std::borrow::Cow;
use std::sync::Arc;

use infold_core::transcript::Voice;
use infold_core::view::{self, BlockKind, Edit, LastAnswer, Reason, RequestKind, TranscriptStart, ViewPiece, ViewPlan};
use infold_core::{ScrubError, Thread};
use infold_wire::Told;

use super::cache::SessionCache;
use super::known_session::KnownSession;
use super::prompt::{AgentTurn, PlanningFault};
use crate::intake::withheld;
use crate::{Engine, Failure};

impl Engine {
    /// Takes the secrets out of what the client says in a plan, and folded work out of a conversation that it tells.
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
            match plan.edits.iter_mut().find(|edit| edit.reason == Reason::Scrubbed) {
                Some(edit) => edit.blocks += changed,
                None => plan.edits.push(Edit { reason: Reason::Scrubbed, blocks: changed }),
            }
        }
        Ok(())
    }

    /// What is sent of a client's words; none if that is what it said. What was found is held, because it is the same
    /// in every request.
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
        let told = match turn.identity.kind {
            RequestKind::Compaction => self.retold(&said, known),
            RequestKind::Turn | RequestKind::Side => None,
        };
        let wanted = told.map_or(Cow::Borrowed(&*said), Cow::Owned);
        let text = match self.scrub([wanted.clone().into_owned()]).await {
            Ok([scrubbed]) => scrubbed.into_string(),
            Err(ScrubError::TooLarge { bytes, bytes_max }) => withheld(bytes, bytes_max),
            Err(error) => return Err(Failure::Scrubbing(error).into()),
        };
        if text == *said {
            cache.clean.insert(key);
            return Ok(None);
        }
        let text: Arc<str> = text.into();
        cache.words.insert(key, Arc::clone(&text));
        Ok(Some(text))
    }

    /// A conversation that is told as one text, without the work of branches that have folded; none if the text tells
    /// none. What was decided by force is known by the ids of calls, which are not in it: that is told whole.
    fn retold(&self, text: &str, known: Option<&KnownSession>) -> Option<String> {
        let told = Told::read(text)?;
        let blocks = told.blocks();
        let request = view::ViewRequest {
            blocks: &blocks,
            kind: RequestKind::Compaction,
            tools: &[],
            last_answer: LastAnswer::Ended,
            beginning: TranscriptStart::Words,
        };
        let plan = self.plan_view(&request, &known?.decisions).ok()?;
        (plan.thread == Thread::Main).then(|| told.write(&plan.pieces))
    }
}

/// Whether a block is what the client says on its own account, or the conversation that it tells.
fn is_the_clients(turn: &AgentTurn<'_>, at: usize) -> bool {
    match &turn.request.blocks()[at].kind {
        BlockKind::Instruction | BlockKind::User { voice: Voice::Client } | BlockKind::Attachment => true,
        BlockKind::User { voice: Voice::Person } => {
            turn.identity.kind == RequestKind::Compaction && turn.request.tells_conversation(at)
        }
        BlockKind::Assistant
        | BlockKind::Reasoning
        | BlockKind::Call(_)
        | BlockKind::Result(_)
        | BlockKind::Other { .. } => false,
    }
}
