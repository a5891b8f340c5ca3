//! What is sent of a request: its plan, made and carried out, and the body that follows from it.

use bytes::Bytes;
use infold_core::Thread;
use infold_core::record::WarningKind;
use infold_core::view::{BlockKind, Edit, Piece, Plan, Reason, Restart};
use infold_wire::request::Request;

use super::Purpose;
use super::cache::State;
use super::identify::Identity;
use super::plan::{Fault, Turn};
use super::snapshot::Facts;
use crate::Engine;

/// What is sent of a request.
pub(super) struct SentPrompt {
    pub(super) body: Bytes,
    pub(super) thread: Thread,
    /// What starts it anew from here, if that is stored.
    pub(super) anew: Option<Restart>,
    pub(super) edits: Vec<Edit>,
    /// What is sent, piece by piece; none if it goes as it came.
    pub(super) pieces: Option<Vec<Piece>>,
    /// Whether the model can read back what is kept elsewhere.
    pub(super) reads_results: bool,
    /// Results that go without their secrets and are otherwise as they came, by their blocks.
    pub(super) scrubbed: Vec<usize>,
    pub(super) warnings: Vec<(WarningKind, String)>,
}

impl Engine {
    /// Plans a request and makes the body that is sent.
    pub(super) async fn make_prompt(&self, turn: &Turn<'_>) -> Result<SentPrompt, Fault> {
        let identity = &turn.identity;
        let slot = self.inner.sessions.of(&identity.who.owner, &identity.session);
        let mut state = slot.state.lock().await;
        let prompt = self.prompt_in(turn, &mut state).await;
        self.inner.sessions.weigh(&slot, &state);
        prompt
    }

    async fn prompt_in(&self, turn: &Turn<'_>, state: &mut State) -> Result<SentPrompt, Fault> {
        let is_held = state.facts.is_some();
        let mut facts = match self.facts_held(&turn.identity, state).await {
            Ok(facts) => facts,
            Err(error) => {
                let held = state.facts.take();
                let prompt = self.prompt_unplanned(turn, state, held.as_ref(), error.into()).await;
                state.facts = held;
                return prompt;
            }
        };
        let started = match facts.is_new && !is_held {
            true => self.start_over_if_lost(turn, state, &mut facts).await,
            false => Ok(()),
        };
        let planned = match started {
            Ok(()) => self.plan_with_notes(turn, state, &mut facts).await,
            Err(fault) => Err(fault),
        };
        let (mut plan, told) = match planned {
            Ok(planned) => planned,
            Err(fault) => {
                let prompt = self.prompt_unplanned(turn, state, Some(&facts), fault).await;
                return prompt;
            }
        };
        self.scrub_words(turn, &mut plan, state, Some(&facts)).await?;
        if turn.purpose == Purpose::Send {
            self.remember_edits(turn, !plan.edits.is_empty(), &mut facts).await;
        }
        let scrubbed = scrubbed(&turn.request, &plan.pieces, &facts);
        // A plan for a count may have decided things that are not stored.
        let is_stored = !std::mem::take(&mut state.has_passing);
        state.facts = is_stored.then_some(facts);
        let mut prompt = SentPrompt { scrubbed, ..SentPrompt::of(turn, plan) };
        prompt.warnings.extend(told.into_iter().map(|text| (WarningKind::PlaceholderWritten, text)));
        Ok(prompt)
    }

    async fn plan_with_notes(
        &self,
        turn: &Turn<'_>,
        state: &mut State,
        facts: &mut Facts,
    ) -> Result<(Plan, Vec<String>), Fault> {
        let plan = self.plan(turn, state, facts).await?;
        if turn.purpose == Purpose::Count {
            return Ok((plan, Vec::new()));
        }
        let told = self.note_placeholders(turn, &plan, facts).await?;
        let is_warned = self.note_budget(turn, &plan, facts).await?;
        if told.is_empty() && !is_warned {
            return Ok((plan, told));
        }
        Ok((self.plan(turn, state, facts).await?, told))
    }

    /// Stores what the next request of this session needs to know. That it could not be stored stops nothing.
    async fn remember_edits(&self, turn: &Turn<'_>, is_edited: bool, facts: &mut Facts) {
        let Identity { who, session, .. } = &turn.identity;
        if is_edited && !facts.has_folded {
            match self.keep_folded(who, session).await {
                Ok(()) => facts.has_folded = true,
                Err(error) => tracing::warn!(%error, "that a session was edited could not be stored"),
            }
        }
    }

    /// Remembers how a conversation goes whose client gives no ids, so that its next request is known by that. It is
    /// done while the provider is at work: nobody should wait for the disk because of it.
    pub(super) async fn remember_conversation(&self, identity: &Identity) {
        let Identity { who, session, digest, .. } = identity;
        if let Some(digest) = digest
            && let Err(error) = self.keep_chain(who, *digest, session).await
        {
            tracing::warn!(%error, "a conversation could not be remembered");
        }
    }

    /// The request as it came, as far as that is safe.
    async fn prompt_unplanned(
        &self,
        turn: &Turn<'_>,
        state: &mut State,
        facts: Option<&Facts>,
        fault: Fault,
    ) -> Result<SentPrompt, Fault> {
        let kind = match fault {
            Fault::Unscrubbed(_) => return Err(fault),
            Fault::Unplanned(kind) => kind,
        };
        self.inner.metrics.unplanned(kind);
        let mut plan = self.unplanned(turn, state, facts).await?;
        self.scrub_words(turn, &mut plan, state, facts).await?;
        let mut prompt = SentPrompt::of(turn, plan);
        let warning = format!("the request could not be planned ({kind}) and went as it came");
        prompt.warnings.push((WarningKind::PlanningFailed, warning));
        Ok(prompt)
    }
}

/// The results that a plan sends without their secrets and otherwise as they came.
fn scrubbed(request: &Request<'_>, pieces: &[Piece], facts: &Facts) -> Vec<usize> {
    let is_scrubbed = |at: usize| match &request.blocks()[at].kind {
        BlockKind::Result(result) => {
            let rewrite = facts.known.rewrites.get(&*result.call);
            rewrite.is_some_and(|rewrite| rewrite.content == result.content && rewrite.reason == Reason::Scrubbed)
        }
        _ => false,
    };
    let rewritten = pieces.iter().filter_map(|piece| match piece {
        Piece::Content { block, .. } => Some(*block),
        Piece::Keep(_) | Piece::Text { .. } | Piece::Words { .. } | Piece::Quote { .. } | Piece::Say { .. } => None,
    });
    rewritten.filter(|at| is_scrubbed(*at)).collect()
}

impl SentPrompt {
    pub(super) fn as_it_came(body: &Bytes) -> Self {
        Self {
            body: body.clone(),
            thread: Thread::Main,
            anew: None,
            edits: Vec::new(),
            pieces: None,
            reads_results: false,
            scrubbed: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// What is sent, piece by piece.
    pub(super) fn all_pieces(&self, request: &Request<'_>) -> Vec<Piece> {
        let all = || (0..request.blocks().len()).map(Piece::Keep).collect();
        self.pieces.clone().unwrap_or_else(all)
    }

    pub(super) fn of(turn: &Turn<'_>, plan: Plan) -> Self {
        let is_edited = !plan.edits.is_empty();
        let body = if is_edited { turn.request.apply(&plan.pieces).into() } else { turn.body.clone() };
        Self {
            body,
            thread: plan.thread,
            anew: plan.anew,
            edits: plan.edits,
            pieces: is_edited.then_some(plan.pieces),
            reads_results: plan.reads_results,
            scrubbed: Vec::new(),
            warnings: Vec::new(),
        }
    }
}
