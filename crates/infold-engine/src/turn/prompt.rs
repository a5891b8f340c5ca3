//! What is sent of a request: its plan, made and carried out, and the body that follows from it.

use bytes::Bytes;
use infold_core::Thread;
use infold_core::record::WarningKind;
use infold_core::view::{BlockKind, Edit, Reason, Restart, ViewPiece, ViewPlan};
use infold_wire::request::Request;

use super::Purpose;
use super::cache::SessionCache;
use super::identify::Identity;
use super::known_session::KnownSession;
use super::plan::{AgentTurn, PlanningFault};
use crate::Engine;

/// What is sent of a request.
pub(super) struct SentPrompt {
    pub(super) body: Bytes,
    pub(super) thread: Thread,
    /// What starts it anew from here, if that is stored.
    pub(super) anew: Option<Restart>,
    pub(super) edits: Vec<Edit>,
    /// What is sent, piece by piece; none if it goes as it came.
    pub(super) pieces: Option<Vec<ViewPiece>>,
    /// Whether the model can read back what is kept elsewhere.
    pub(super) reads_results: bool,
    /// Results that go without their secrets and are otherwise as they came, by their blocks.
    pub(super) scrubbed: Vec<usize>,
    pub(super) warnings: Vec<(WarningKind, String)>,
}

impl Engine {
    /// Plans a request and makes the body that is sent.
    pub(super) async fn make_prompt(&self, turn: &AgentTurn<'_>) -> Result<SentPrompt, PlanningFault> {
        let identity = &turn.identity;
        let slot = self.inner.sessions.of(&identity.who.owner, &identity.session);
        let mut cache = slot.cache.lock().await;
        let prompt = self.prompt_in(turn, &mut cache).await;
        self.inner.sessions.weigh(&slot, &cache);
        prompt
    }

    async fn prompt_in(&self, turn: &AgentTurn<'_>, cache: &mut SessionCache) -> Result<SentPrompt, PlanningFault> {
        let is_held = cache.known.is_some();
        let mut known = match self.held_session(&turn.identity, cache).await {
            Ok(known) => known,
            Err(error) => {
                let held = cache.known.take();
                let prompt = self.prompt_unplanned(turn, cache, held.as_ref(), error.into()).await;
                cache.known = held;
                return prompt;
            }
        };
        let started = match known.is_new && !is_held {
            true => self.start_over_if_lost(turn, cache, &mut known).await,
            false => Ok(()),
        };
        let planned = match started {
            Ok(()) => self.plan_with_notes(turn, cache, &mut known).await,
            Err(fault) => Err(fault),
        };
        let (mut plan, told) = match planned {
            Ok(planned) => planned,
            Err(fault) => {
                let prompt = self.prompt_unplanned(turn, cache, Some(&known), fault).await;
                return prompt;
            }
        };
        self.scrub_words(turn, &mut plan, cache, Some(&known)).await?;
        if turn.purpose == Purpose::Send {
            self.remember_edits(turn, !plan.edits.is_empty(), &mut known).await;
        }
        let scrubbed = scrubbed(&turn.request, &plan.pieces, &known);
        // A plan for a count may have decided things that are not stored.
        let is_stored = !std::mem::take(&mut cache.has_passing);
        cache.known = is_stored.then_some(known);
        let mut prompt = SentPrompt { scrubbed, ..SentPrompt::of(turn, plan) };
        prompt.warnings.extend(told.into_iter().map(|text| (WarningKind::PlaceholderWritten, text)));
        Ok(prompt)
    }

    async fn plan_with_notes(
        &self,
        turn: &AgentTurn<'_>,
        cache: &mut SessionCache,
        known: &mut KnownSession,
    ) -> Result<(ViewPlan, Vec<String>), PlanningFault> {
        let plan = self.plan(turn, cache, known).await?;
        if turn.purpose == Purpose::Count {
            return Ok((plan, Vec::new()));
        }
        let told = self.note_placeholders(turn, &plan, known).await?;
        let is_warned = self.note_budget(turn, &plan, known).await?;
        if told.is_empty() && !is_warned {
            return Ok((plan, told));
        }
        Ok((self.plan(turn, cache, known).await?, told))
    }

    /// Stores what the next request of this session needs to know. That it could not be stored stops nothing.
    async fn remember_edits(&self, turn: &AgentTurn<'_>, is_edited: bool, known: &mut KnownSession) {
        let Identity { who, session, .. } = &turn.identity;
        if is_edited && !known.has_folded {
            match self.keep_folded(who, session).await {
                Ok(()) => known.has_folded = true,
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
        turn: &AgentTurn<'_>,
        cache: &mut SessionCache,
        known: Option<&KnownSession>,
        fault: PlanningFault,
    ) -> Result<SentPrompt, PlanningFault> {
        let kind = match fault {
            PlanningFault::Unscrubbed(_) => return Err(fault),
            PlanningFault::Unplanned(kind) => kind,
        };
        self.inner.metrics.unplanned(kind);
        let mut plan = self.unplanned(turn, cache, known).await?;
        self.scrub_words(turn, &mut plan, cache, known).await?;
        let mut prompt = SentPrompt::of(turn, plan);
        let warning = format!("the request could not be planned ({kind}) and went as it came");
        prompt.warnings.push((WarningKind::PlanningFailed, warning));
        Ok(prompt)
    }
}

/// The results that a plan sends without their secrets and otherwise as they came.
fn scrubbed(request: &Request<'_>, pieces: &[ViewPiece], known: &KnownSession) -> Vec<usize> {
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
    pub(super) fn all_pieces(&self, request: &Request<'_>) -> Vec<ViewPiece> {
        let all = || (0..request.blocks().len()).map(ViewPiece::Keep).collect();
        self.pieces.clone().unwrap_or_else(all)
    }

    pub(super) fn of(turn: &AgentTurn<'_>, plan: ViewPlan) -> Self {
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
