//! One turn of a conversation: planned, forwarded, put right if the provider refuses what infold can mend, and
//! relayed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::response::Response;
use bytes::Bytes;
use http::StatusCode;
use infold_core::record::WarningKind;
use infold_core::view::{BlockKind, Edit, Piece, Reason, Restart, Side};
use infold_core::{Principal, Thread};
use infold_engine::MadeOf;
use infold_wire::request::{Api, Request};

use crate::identity::Identity;
use crate::metrics::api_name;
use crate::planning::{Fault, Scope, Turn};
use crate::refusal::Refusal;
use crate::send::Outgoing;
use crate::sessions::State;
use crate::trouble::Trouble;
use crate::underway::Underway;
use crate::watch::Ticket;
use crate::{Proxy, sight};

/// A request of a conversation, as it came.
pub(crate) struct Arrival {
    pub(crate) who: Principal,
    pub(crate) api: Api,
    pub(crate) outgoing: Outgoing,
    pub(crate) body: Bytes,
    pub(crate) at: Instant,
}

/// What is sent of a request.
pub(crate) struct View {
    pub(crate) body: Bytes,
    pub(crate) thread: Thread,
    /// What starts it anew from here, if that is stored.
    pub(crate) anew: Option<Restart>,
    pub(crate) edits: Vec<Edit>,
    /// What is sent, piece by piece; none if it goes as it came.
    pub(crate) pieces: Option<Vec<Piece>>,
    /// Whether the model can read back what is kept elsewhere.
    pub(crate) reads_results: bool,
    /// Results that go without their secrets and are otherwise as they came, by their blocks.
    pub(crate) scrubbed: Vec<usize>,
    pub(crate) warnings: Vec<(WarningKind, String)>,
}

impl Proxy {
    /// Answers a turn.
    pub(crate) async fn turn(self: &Arc<Self>, arrival: Arrival) -> Result<Response, Refusal> {
        let api = arrival.api;
        let body = arrival.body.clone();
        let Some(request) = readable(api, &body) else {
            self.metrics.failure("unreadable");
            self.metrics.request(api_name(api), "passed");
            return Ok(self.send(&arrival.outgoing, &body).await?.relayed(None, self.silence()));
        };
        let identity = self.identify(arrival.who.clone(), &arrival.outgoing.headers, &request).await;
        let tools = request.tools_in_reach();
        let last_answer = self.sessions.of(&identity.who.owner, &identity.session).last_answer();
        let scope = Scope::Lasting;
        let turn = Turn { request: &request, body: &body, identity: &identity, tools: &tools, last_answer, scope };

        self.hear_results(&turn);
        let view = match request.previous_response() {
            // What came before is not in it, so there is nothing to plan by.
            Some(_) => View::as_it_came(&body),
            None => self.view(&turn).await.map_err(|fault| self.withheld(&arrival, fault))?,
        };
        let added = arrival.at.elapsed();
        self.metrics.planned(added, body.len(), view.body.len());

        self.forward(&arrival, &turn, view, added).await
    }

    /// Tells the engine which calls are answered: a script that the model does not wait for any more opens nothing.
    fn hear_results(&self, turn: &Turn<'_>) {
        let results = turn.request.blocks().iter().rev().take_while(|block| block.kind.side() == Side::User);
        let calls: Vec<&str> = results
            .filter_map(|block| match &block.kind {
                BlockKind::Result(result) => Some(&*result.call),
                _ => None,
            })
            .collect();
        if !calls.is_empty() {
            self.engine.calls_answered(&turn.identity.who, &turn.identity.session, &calls);
        }
    }

    /// The body that stands for a request when it is only counted.
    pub(crate) async fn counted(&self, arrival: &Arrival) -> Result<Bytes, Refusal> {
        let Some(request) = readable(arrival.api, &arrival.body) else { return Ok(arrival.body.clone()) };
        let identity = self.identify(arrival.who.clone(), &arrival.outgoing.headers, &request).await;
        let tools = request.tools_in_reach();
        let body = &arrival.body;
        let last_answer = self.sessions.of(&identity.who.owner, &identity.session).last_answer();
        let scope = Scope::Passing;
        let turn = Turn { request: &request, body, identity: &identity, tools: &tools, last_answer, scope };
        let view = self.view(&turn).await.map_err(|fault| self.withheld(arrival, fault))?;
        Ok(view.body)
    }

    /// Plans a request and makes the body that is sent.
    pub(crate) async fn view(&self, turn: &Turn<'_>) -> Result<View, Fault> {
        let identity = turn.identity;
        let slot = self.sessions.of(&identity.who.owner, &identity.session);
        let mut state = slot.state.lock().await;
        let view = self.view_in(turn, &mut state).await;
        self.sessions.weigh(&slot, &state);
        view
    }

    async fn view_in(&self, turn: &Turn<'_>, state: &mut State) -> Result<View, Fault> {
        let is_held = state.facts.is_some();
        let mut facts = match self.facts(turn.identity, state).await {
            Ok(facts) => facts,
            Err(error) => {
                let held = state.facts.take();
                let view = self.view_unplanned(turn, state, held.as_ref(), error.into()).await;
                state.facts = held;
                return view;
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
                let view = self.view_unplanned(turn, state, Some(&facts), fault).await;
                return view;
            }
        };
        self.scrub_words(turn, &mut plan, state, Some(&facts)).await?;
        if turn.scope == Scope::Lasting {
            self.remember(turn, !plan.edits.is_empty(), &mut facts).await;
        }
        let scrubbed = scrubbed(turn.request, &plan.pieces, &facts);
        // A plan for a count may have decided things that are not stored.
        let is_stored = !std::mem::take(&mut state.has_passing);
        state.facts = is_stored.then_some(facts);
        let mut view = View { scrubbed, ..View::of(turn, plan) };
        view.warnings.extend(told.into_iter().map(|text| (WarningKind::PlaceholderWritten, text)));
        Ok(view)
    }

    async fn plan_with_notes(
        &self,
        turn: &Turn<'_>,
        state: &mut State,
        facts: &mut infold_engine::Facts,
    ) -> Result<(infold_core::view::Plan, Vec<String>), Fault> {
        let plan = self.plan(turn, state, facts).await?;
        if turn.scope == Scope::Passing {
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
    async fn remember(&self, turn: &Turn<'_>, is_edited: bool, facts: &mut infold_engine::Facts) {
        let Identity { who, session, .. } = turn.identity;
        if is_edited && !facts.has_folded {
            match self.engine.keep_folded(who, session).await {
                Ok(()) => facts.has_folded = true,
                Err(error) => tracing::warn!(%error, "that a session was edited could not be stored"),
            }
        }
    }

    /// Remembers how a conversation goes whose client gives no ids, so that its next request is known by that. It is
    /// done while the provider is at work: nobody should wait for the disk because of it.
    async fn remember_conversation(&self, identity: &Identity) {
        let Identity { who, session, digest, .. } = identity;
        if let Some(digest) = digest
            && let Err(error) = self.engine.keep_chain(who, *digest, session).await
        {
            tracing::warn!(%error, "a conversation could not be remembered");
        }
    }

    /// The request as it came, as far as that is safe.
    async fn view_unplanned(
        &self,
        turn: &Turn<'_>,
        state: &mut State,
        facts: Option<&infold_engine::Facts>,
        fault: Fault,
    ) -> Result<View, Fault> {
        let kind = match fault {
            Fault::Unscrubbed(_) => return Err(fault),
            Fault::Unplanned(kind) => kind,
        };
        self.metrics.failure(kind);
        let mut plan = self.unplanned(turn, state, facts).await?;
        self.scrub_words(turn, &mut plan, state, facts).await?;
        let mut view = View::of(turn, plan);
        let warning = format!("the request could not be planned ({kind}) and went as it came");
        view.warnings.push((WarningKind::PlanningFailed, warning));
        Ok(view)
    }

    fn withheld(&self, arrival: &Arrival, fault: Fault) -> Refusal {
        let reason = match fault {
            Fault::Unscrubbed(reason) => reason,
            Fault::Unplanned(kind) => kind.to_owned(),
        };
        self.metrics.failure("unscrubbed");
        self.metrics.request(api_name(arrival.api), "refused");
        let message = format!(
            "infold could not search this request's tool results for secrets, so it sent nothing: {reason}. Try again; \
             if it stays so, raise scrub.timeout_ms in infold's settings, or see `infold doctor`"
        );
        Refusal::new(arrival.outgoing.provider, StatusCode::SERVICE_UNAVAILABLE, "scrubbing_failed", message)
    }

    /// Sends a view, and what mends it if the provider refuses it for something that can be mended.
    async fn forward(
        self: &Arc<Self>,
        arrival: &Arrival,
        turn: &Turn<'_>,
        mut view: View,
        added: Duration,
    ) -> Result<Response, Refusal> {
        if let Some(tokens) = self.overflow(arrival, turn, &view) {
            match self.rescued(turn, &view, Some(tokens)).await {
                Ok(mended) => view = mended,
                Err(reason) => view.warnings.push((WarningKind::Loop, reason)),
            }
        }
        // A request that goes on from what its provider holds shows only its end: no plan could be made of it.
        let is_whole = turn.request.previous_response().is_none();
        let mut mended = Vec::new();
        let mut underway = Underway::new(Arc::clone(self));
        loop {
            underway.begin(self.ticket(arrival, turn, &view, added));
            let sending = self.send(&arrival.outgoing, &view.body);
            // While the provider is at work there is time to look at what it was sent.
            let remembering = async {
                if is_whole && mended.is_empty() {
                    self.remember_conversation(turn.identity).await;
                }
            };
            let looking = async {
                underway.looked_at(self.made_of(turn.request, &view), &view.body);
                is_whole && !mended.iter().any(Trouble::is_too_long) && self.may_be_rescued(turn, &view)
            };
            let (answered, (), may_be_rescued) = tokio::join!(sending, remembering, looking);
            let answered = match answered {
                Ok(answered) => answered,
                Err(refusal) => {
                    self.metrics.request(api_name(arrival.api), "unanswered");
                    underway.refused(&refusal);
                    return Err(refusal);
                }
            };
            let answered = if is_whole && mended.len() < 2 { answered.told(self.silence()).await } else { answered };
            let hold = Duration::from_millis(self.settings.hold_ms);
            let answered = if may_be_rescued { answered.opened(arrival.api, hold).await } else { answered };
            let trouble = answered.trouble.filter(|trouble| !mended.contains(trouble));
            if answered.head.status.is_success() && trouble.is_none() && mended.is_empty() {
                self.sessions.of(&turn.identity.who.owner, &turn.identity.session).fits();
            }
            if let Some(trouble) = trouble
                && let Some(remedy) = self.remedy(turn, &mut view, trouble).await
            {
                self.metrics.repeated(trouble.name());
                mended.push(trouble);
                view = remedy;
                continue;
            }
            self.metrics.request(api_name(arrival.api), if view.edits.is_empty() { "as_it_came" } else { "edited" });
            if answered.repeated > 0 {
                let words = format!("it was sent {} times until an answer came", answered.repeated + 1);
                view.warnings.push((WarningKind::Retried, words));
            }
            let watch = underway.answered(view.warnings, arrival.api, &answered);
            return Ok(answered.relayed(watch, self.silence()));
        }
    }

    /// What mends a view that its provider refuses, if something does. Why nothing does is told with the view.
    async fn remedy(&self, turn: &Turn<'_>, view: &mut View, trouble: Trouble) -> Option<View> {
        match trouble {
            Trouble::TooLong { window_tokens } => match self.rescued(turn, view, window_tokens).await {
                Ok(mended) => Some(mended),
                Err(reason) => {
                    view.warnings.push((WarningKind::Loop, reason));
                    None
                }
            },
            Trouble::Reasoning => self.restarted(turn, view).await,
        }
    }

    /// What is known of a request before it is sent.
    fn ticket(&self, arrival: &Arrival, turn: &Turn<'_>, view: &View, added: Duration) -> Ticket {
        let identity = turn.identity;
        let model = turn.request.model().unwrap_or_default().into_owned();
        Ticket {
            who: identity.who.clone(),
            session: identity.session.clone(),
            agent: identity.agent.clone(),
            thread: view.thread.clone(),
            api: api_name(arrival.api),
            window_tokens: self.settings.window_asked_for(&model, &arrival.outgoing.headers),
            model,
            kind: identity.kind,
            client: identity.client_name(),
            made_of: MadeOf::default(),
            edits: view.edits.clone(),
            warnings: view.warnings.clone(),
            arrived: arrival.at,
            added,
            slot: self.sessions.of(&identity.who.owner, &identity.session),
            digest: None,
        }
    }

    fn made_of(&self, request: &Request<'_>, view: &View) -> MadeOf {
        sight::made_of(&self.engine, request, view.pieces.as_deref())
    }

    pub(crate) fn silence(&self) -> Duration {
        Duration::from_millis(self.settings.silence_timeout_ms)
    }
}

/// The request, if it can be read.
fn readable(api: Api, body: &Bytes) -> Option<Request<'_>> {
    Request::read(api, body)
        .map_err(|error| tracing::debug!(%error, "a request could not be read, and goes as it came"))
        .ok()
}

/// The results that a plan sends without their secrets and otherwise as they came.
fn scrubbed(request: &Request<'_>, pieces: &[Piece], facts: &infold_engine::Facts) -> Vec<usize> {
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

impl View {
    fn as_it_came(body: &Bytes) -> Self {
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
    pub(crate) fn all_pieces(&self, request: &Request<'_>) -> Vec<Piece> {
        let all = || (0..request.blocks().len()).map(Piece::Keep).collect();
        self.pieces.clone().unwrap_or_else(all)
    }

    pub(crate) fn of(turn: &Turn<'_>, plan: infold_core::view::Plan) -> Self {
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
