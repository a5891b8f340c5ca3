//! The plan of one request: what is decided, done and stored before it can be sent.
//!
//! Planning is repeated until nothing is left to be done: each action changes what is known, and results that
//! are seen for the first time are taken in before anything of them is sent. What goes wrong here lets the
//! request go on as it came ([`Engine::unplanned`]), except where secrets could get out.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::time::Instant;

use bytes::Bytes;
use infold_core::Thread;
use infold_core::view::{self, BlockKind, Edit, LastAnswer, PlanAction, Reason, StoredDecisions, ViewPiece, ViewPlan};
use infold_wire::request::Request;

use super::cache::SessionCache;
use super::carry_out::Adoption;
use super::identify::Identity;
use super::known_session::KnownSession;
use super::{ModelRequest, Purpose};
use crate::{Engine, Error, Failure};

/// How often a request is planned again before something must be wrong. Each action takes a round, and a client's
/// compaction can end as many branches at once as may be open.
const ROUNDS_MAX: usize = 100;

/// A request that is to be planned.
pub(super) struct AgentTurn<'a> {
    pub(super) request: Request<'a>,
    /// The client's own bytes.
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
        let ModelRequest { body, headers, arrived, purpose, .. } = asked;
        let tools = request.tools_in_reach();
        Self { request, body, headers, arrived: *arrived, identity, tools, last_answer, purpose: *purpose }
    }

    /// What is to be planned.
    pub(super) fn wanted(&self) -> view::ViewRequest<'_> {
        view::ViewRequest {
            blocks: self.request.blocks(),
            kind: self.identity.kind,
            tools: &self.tools,
            last_answer: self.last_answer,
            beginning: self.request.beginning(),
        }
    }

    /// The model that it asks for.
    pub(super) fn model(&self) -> Cow<'a, str> {
        self.request.model().unwrap_or_default()
    }
}

/// Why there is no plan.
#[derive(Debug)]
pub(super) enum PlanningFault {
    /// Secrets could get out: nothing may be sent.
    Unscrubbed(String),
    /// Anything else, by a word for it.
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
            Failure::Scrubbing(error) => Self::Unscrubbed(error.to_string()),
            other => {
                tracing::warn!(error = %other, "a request could not be planned");
                Self::Unplanned(other.code())
            }
        }
    }
}

impl Engine {
    /// Decides what is sent of a request. A fault in planning is an error and not a panic, because the request goes on
    /// without a plan then.
    pub(super) fn plan_view(
        &self,
        request: &view::ViewRequest<'_>,
        known: &StoredDecisions,
    ) -> Result<ViewPlan, Failure> {
        let plan = || view::plan(request, known, self.id_key(), &self.inner.scrubber);
        std::panic::catch_unwind(AssertUnwindSafe(plan)).map_err(|_| Failure::Planning)
    }

    /// Brings what is known of a session up to date. Where that fails, what was held stays held.
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

    /// Plans a request until nothing is left to be done for it.
    pub(super) async fn plan(
        &self,
        turn: &AgentTurn<'_>,
        cache: &mut SessionCache,
        known: &mut KnownSession,
    ) -> Result<ViewPlan, PlanningFault> {
        let mut done: Vec<PlanAction> = Vec::new();
        for _ in 0..ROUNDS_MAX {
            let wanted = turn.wanted();
            let plan = self.plan_view(&wanted, &known.decisions)?;

            let actions = plan.actions.iter().filter(|_| turn.purpose == Purpose::Send);
            let new: Vec<PlanAction> = actions.filter(|action| !done.contains(action)).cloned().collect();
            if let Some(action) = new.into_iter().next() {
                self.act(turn, action.clone(), known).await?;
                done.push(action);
                continue;
            }
            if self.look_at_results(turn, &plan, cache, known).await? {
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
            PlanAction::Reopen { branch } => self.reopen(who, session, &branch).await?,
            PlanAction::Adopt { branch, parent, opening } => {
                let adoption = Adoption { branch, parent, opening };
                self.adopt(who, session, adoption).await?
            }
            PlanAction::Lose { branch } => self.lose(who, session, &branch).await?,
            PlanAction::Restart { restart } => self.keep_restart(who, session, restart).await?,
            PlanAction::Hear { place } => self.keep_heard(who, session, place).await?,
            PlanAction::Remember { answers } => self.keep_answers(who, session, answers).await?,
        };
        Ok(())
    }

    /// What is sent of a request that could not be planned: all of it, results as they were decided or else
    /// scrubbed, and no reasoning if the session has folded before, because that was made on other prefixes.
    pub(super) async fn unplanned(
        &self,
        turn: &AgentTurn<'_>,
        cache: &mut SessionCache,
        known: Option<&KnownSession>,
    ) -> Result<ViewPlan, PlanningFault> {
        let blocks = turn.request.blocks();
        let drops_reasoning = match known {
            Some(known) if known.has_folded => true,
            Some(known) if !known.is_new => false,
            // The store cannot say, so the transcript has to.
            Some(_) | None => self.shows_folds(turn) || self.lacks_decisions(turn),
        };
        let mut pieces = Vec::with_capacity(blocks.len());
        let mut edits: BTreeMap<Reason, usize> = BTreeMap::new();
        for (at, block) in blocks.iter().enumerate() {
            let piece = match &block.kind {
                BlockKind::Reasoning if drops_reasoning => {
                    *edits.entry(Reason::Reasoning).or_default() += 1;
                    continue;
                }
                BlockKind::Result(result) => {
                    let rewrite = known.and_then(|known| known.decisions.rewrites.get(&*result.call));
                    let rewrite = rewrite.filter(|rewrite| rewrite.content == result.content).cloned();
                    let rewrite = match rewrite {
                        Some(rewrite) => Some(rewrite),
                        None => self.scrubbed(turn, at, result, cache).await?,
                    };
                    rewrite.map(|rewrite| {
                        *edits.entry(rewrite.reason).or_default() += 1;
                        ViewPiece::Content { block: at, json: rewrite.sent }
                    })
                }
                _ => None,
            };
            pieces.push(piece.unwrap_or(ViewPiece::Keep(at)));
        }
        Ok(ViewPlan {
            thread: Thread::Main,
            anew: None,
            pieces,
            edits: edits.into_iter().map(|(reason, blocks)| Edit { reason, blocks }).collect(),
            actions: Vec::new(),
            unseen: Vec::new(),
            unseen_in: Vec::new(),
            reads_results: false,
            open: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests;
