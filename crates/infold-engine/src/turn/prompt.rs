//! What is sent of a request: its plan is made and carried out, and the body follows from it.
//!
//! Planning is repeated until nothing is left to do: each action changes what is known, and new results are taken in
//! before anything of them is sent. If planning fails, the request is sent as it came (`unplanned.rs`), except if
//! secrets could get out.

use std::borrow::Cow;
use std::panic::AssertUnwindSafe;
use std::time::Instant;

use bytes::Bytes;
use infold_core::record::WarningKind;
use infold_core::view::{
    self, Edit, LastAnswer, PlanAction, RequestKind, Restart, StoredDecisions, ViewPiece, ViewPlan,
};
use infold_core::{ScrubError, Thread};
use infold_wire::request::Request;

use super::cache::SessionCache;
use super::carry_out::Adoption;
use super::identify::Identity;
use super::known_session::KnownSession;
use super::words::{add_scrubbed, scrubbed_results};
use super::{EndedBranch, ModelRequest, Purpose};
use crate::{Engine, Error, Failure};

/// How many rounds of planning a request may take. Each action takes one, and a client's compaction can end as many
/// branches at once as may be open. More rounds mean that something is wrong.
const ROUNDS_MAX: usize = 100;

/// A request that is to be planned.
pub(super) struct AgentTurn<'a> {
    pub(super) request: Request<'a>,
    /// The body as the client sent it, but for secrets beside the texts of results.
    pub(super) body: &'a Bytes,
    pub(super) headers: &'a [(String, String)],
    pub(super) arrived: Instant,
    pub(super) identity: Identity,
    /// Tools that the model can call without loading them first.
    pub(super) tools: Vec<String>,
    /// How the model's last answer in this session ended.
    pub(super) last_answer: LastAnswer,
    pub(super) purpose: Purpose,
}

impl<'a> AgentTurn<'a> {
    pub(super) fn new(
        asked: &'a ModelRequest,
        request: Request<'a>,
        identity: Identity,
        last_answer: LastAnswer,
    ) -> Self {
        let ModelRequest { headers, arrived, purpose, .. } = asked;
        let (body, tools) = (asked.planned_body(), request.tools_in_reach());
        Self { request, body, headers, arrived: *arrived, identity, tools, last_answer, purpose: *purpose }
    }

    /// The request, as the core's planning takes it.
    pub(super) fn view_request(&self) -> view::ViewRequest<'_> {
        view::ViewRequest {
            blocks: self.request.blocks(),
            kind: self.identity.kind,
            tools: &self.tools,
            last_answer: self.last_answer,
            beginning: self.request.beginning(),
            thread: self.identity.thread.clone(),
        }
    }

    /// The model that the request asks for.
    pub(super) fn model(&self) -> Cow<'a, str> {
        self.request.model().unwrap_or_default()
    }
}

/// Why a request could not be planned.
#[derive(Debug)]
pub(super) enum PlanningFault {
    /// Secrets could get out: nothing may be sent.
    Unscrubbed(ScrubError),
    /// Any other reason, by a short name.
    Unplanned(&'static str),
}

impl From<Error> for PlanningFault {
    fn from(error: Error) -> Self {
        match error {
            Error::Failed(failure) => failure.into(),
            Error::Refused(refusal) => Self::Unplanned(refusal.code()),
        }
    }
}

impl From<Failure> for PlanningFault {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Scrubbing(error) => Self::Unscrubbed(error),
            other => {
                tracing::warn!(error = %other, "a request could not be planned");
                Self::Unplanned(other.code())
            }
        }
    }
}

/// What is sent of a request.
pub(super) struct SentPrompt {
    pub(super) body: Bytes,
    pub(super) thread: Thread,
    /// The restart that would restart the thread from here, if it were stored.
    pub(super) restart: Option<Restart>,
    pub(super) edits: Vec<Edit>,
    /// What is sent, piece by piece; `None` if the client's bytes are sent.
    pub(super) pieces: Option<Vec<ViewPiece>>,
    /// Whether the model can read offloaded results back.
    pub(super) reads_results: bool,
    /// Blocks of results that are sent without their secrets and otherwise unchanged.
    pub(super) scrubbed: Vec<usize>,
    /// Whether the thread's agent has asked for space.
    pub(super) is_to_lighten: bool,
    pub(super) warnings: Vec<(WarningKind, String)>,
    /// The branch whose thread it is, if that has ended and its client does not know.
    pub(super) over: Option<EndedBranch>,
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
        let (mut plan, warnings) = match planned {
            Ok(planned) => planned,
            Err(fault) => {
                let prompt = self.prompt_unplanned(turn, cache, Some(&known), fault).await;
                return prompt;
            }
        };
        self.scrub_words(turn, &mut plan, cache, Some(&known)).await?;
        if turn.purpose == Purpose::Send && !plan.edits.is_empty() && !known.has_edited {
            self.remember_edited(turn, &mut known).await;
        }
        let scrubbed = scrubbed_results(&turn.request, &plan.pieces, &known);
        let over = EndedBranch::of(&turn.identity.thread, &known.decisions);
        let is_to_lighten = is_asked_for_space(turn, &plan, &known);
        // A plan for a count may rest on decisions that are not stored.
        let is_stored = !std::mem::take(&mut cache.has_passing);
        cache.known = is_stored.then_some(known);
        let mut prompt = SentPrompt { scrubbed, is_to_lighten, over, ..SentPrompt::of(turn, plan) };
        prompt.warnings.extend(warnings.into_iter().map(|text| (WarningKind::PlaceholderWritten, text)));
        Ok(prompt)
    }

    async fn plan_with_notes(
        &self,
        turn: &AgentTurn<'_>,
        cache: &mut SessionCache,
        known: &mut KnownSession,
    ) -> Result<(ViewPlan, Vec<String>), PlanningFault> {
        let plan = self.plan(turn, cache, known).await?;
        let plan = self.restart_after_unplanned(turn, cache, known, plan).await?;
        if turn.purpose == Purpose::Count {
            return Ok((plan, Vec::new()));
        }
        let warnings = self.note_placeholders(turn, &plan, known).await?;
        let is_warned = self.note_budget(turn, &plan, known).await?;
        let is_noted = self.note_context_use(turn, &plan, known).await?;
        if warnings.is_empty() && !is_warned && !is_noted {
            return Ok((plan, warnings));
        }
        Ok((self.plan(turn, cache, known).await?, warnings))
    }

    /// Stores that requests of this session are edited. A failure to store it stops nothing.
    async fn remember_edited(&self, turn: &AgentTurn<'_>, known: &mut KnownSession) {
        let Identity { who, session, .. } = &turn.identity;
        match self.store_edited(who, session).await {
            Ok(()) => known.has_edited = true,
            Err(error) => tracing::warn!(%error, "that a session was edited could not be stored"),
        }
    }

    /// Remembers the prefix of a conversation whose client gives no ids, so that its next request is identified by it.
    /// This is done while the provider is at work, so that nobody waits for the disk.
    pub(super) async fn remember_conversation(&self, identity: &Identity) {
        let Identity { who, session, digest, .. } = identity;
        if let Some(digest) = digest
            && let Err(error) = self.store_conversation(who, *digest, session).await
        {
            tracing::warn!(%error, "a conversation could not be remembered");
        }
    }

    /// Decides what is sent of a request. A panic in planning becomes an error, because the request can be sent without
    /// a plan.
    pub(super) fn plan_view(
        &self,
        request: &view::ViewRequest<'_>,
        known: &StoredDecisions,
    ) -> Result<ViewPlan, Failure> {
        let plan = || view::plan(request, known, self.id_key(), &self.inner.scrubber);
        std::panic::catch_unwind(AssertUnwindSafe(plan)).map_err(|_| Failure::Planning)
    }

    /// Returns what is known about a session, up to date. If reading fails, what was held stays held.
    pub(super) async fn held_session(
        &self,
        identity: &Identity,
        cache: &mut SessionCache,
    ) -> Result<KnownSession, Error> {
        match cache.known.take() {
            Some(mut known) => match self.refresh(&identity.who, &identity.session, &mut known).await {
                Ok(()) => Ok(known),
                Err(error) => {
                    cache.known = Some(known);
                    Err(error)
                }
            },
            None => self.known_session(&identity.who, &identity.session).await,
        }
    }

    /// Plans a request until nothing is left to do for it.
    pub(super) async fn plan(
        &self,
        turn: &AgentTurn<'_>,
        cache: &mut SessionCache,
        known: &mut KnownSession,
    ) -> Result<ViewPlan, PlanningFault> {
        let mut done: Vec<PlanAction> = Vec::new();
        for _ in 0..ROUNDS_MAX {
            let wanted = turn.view_request();
            let plan = self.plan_view(&wanted, &known.decisions)?;

            let actions = plan.actions.iter().filter(|_| turn.purpose == Purpose::Send);
            let new: Vec<PlanAction> = actions.filter(|action| !done.contains(action)).cloned().collect();
            if let Some(action) = new.into_iter().next() {
                // Each kind of action is one change of the session, and is stored (`carry_out`).
                self.act(turn, action.clone(), known).await?;
                done.push(action);
                continue;
            }
            if self.examine_results(turn, &plan, cache, known).await? {
                continue;
            }
            return Ok(plan);
        }
        Err(PlanningFault::Unplanned("unsettled"))
    }

    async fn act(&self, turn: &AgentTurn<'_>, action: PlanAction, known: &mut KnownSession) -> Result<(), Error> {
        let (who, session) = (&turn.identity.who, &turn.identity.session);
        *known = match action {
            PlanAction::Interrupt { branch, place } => self.interrupt(who, session, &branch, place).await?,
            PlanAction::End { branch, place } => self.end_at(who, session, &branch, place).await?,
            PlanAction::Reopen(branch) => self.reopen(who, session, &branch).await?,
            PlanAction::Adopt { branch, parent, opening } => {
                let adoption = Adoption { branch, parent, opening };
                self.adopt(who, session, adoption).await?
            }
            PlanAction::Lose(branch) => self.lose(who, session, &branch).await?,
            PlanAction::Restart(restart) => self.store_restart(who, session, restart).await?,
            PlanAction::Continue(place) => self.store_continued(who, session, place).await?,
            PlanAction::Remember(answers) => self.store_answers(who, session, answers).await?,
        };
        Ok(())
    }
}

/// Whether the agent of the thread that a request is sent in has asked for space.
pub(super) fn is_asked_for_space(turn: &AgentTurn<'_>, plan: &ViewPlan, known: &KnownSession) -> bool {
    turn.identity.kind == RequestKind::Turn && known.to_lighten.contains(&plan.thread)
}

impl SentPrompt {
    /// Adds blocks that were scrubbed before the request was planned.
    pub(super) fn add_scrubbed(&mut self, blocks: usize) {
        add_scrubbed(&mut self.edits, blocks);
    }

    /// What is sent, piece by piece, even if nothing was edited.
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
            restart: plan.restart_here,
            edits: plan.edits,
            pieces: is_edited.then_some(plan.pieces),
            reads_results: plan.reads_results,
            scrubbed: Vec::new(),
            is_to_lighten: false,
            warnings: Vec::new(),
            over: None,
        }
    }
}
