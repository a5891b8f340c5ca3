//! One turn of an agent: from what its client wants to send to what a model is sent, and from the model's answer to
//! what is kept of it.
//!
//! Three operations, each in the four beats:
//! - [`Engine::prepare`] finds out whose a request is, plans it, takes in what is new in it, and gives what is sent.
//! - [`Engine::remedy`] mends what the provider refused: too long, or with reasoning that it does not take.
//! - [`Engine::listen`] reads the answer while it passes; at its end it is counted and recorded.
//!
//! What must hold: what is decided once is on disk before it is acted upon, and gives the same bytes for ever; with
//! nothing to edit the client's own bytes are sent; what cannot be searched for secrets is not sent; a session in
//! which nothing was scrubbed, shaped or folded costs the disk nothing.

mod cache;
mod carry_out;
mod conversations;
mod identify;
mod issued;
mod keep;
mod known_session;
mod last_words;
mod listen;
mod lost;
mod mentioned;
mod move_out;
mod notes;
mod parts;
mod placeholders;
mod prompt;
mod rescue;
mod results;
mod take_in;
mod unplanned;
mod words;

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use infold_core::record::WarningKind;
use infold_core::view::{BlockKind, Side};
use infold_core::{ModelWindows, Principal};
use infold_wire::ProviderRefusal;
use infold_wire::request::{Api, Request};

use crate::{Engine, PromptParts};
use cache::SessionSlot;
use prompt::{AgentTurn, PlanningFault, SentPrompt};
use rescue::may_be_rescued;

pub(crate) use cache::SessionCaches;
pub(crate) use conversations::KnownConversations;
pub(crate) use issued::IssuedCalls;
pub use issued::{IssuedCall, RunningScript, arguments_hash};
pub(crate) use last_words::{HeardWords, PendingWords};
pub use listen::{AnswerHead, AnswerListener, Legibility};

/// How often a request is mended. Each trouble is mended once.
const MENDED_MAX: usize = 2;

/// How turns are prepared.
#[derive(Debug, Clone)]
pub struct TurnSettings {
    /// Whether long results are kept elsewhere when they are first seen. They are scrubbed in any case.
    pub shaping: Shaping,
    /// Tokens that models take.
    pub windows: ModelWindows,
    /// Tokens of a window that a rescue leaves free.
    pub reserve_tokens: u64,
    /// Sessions that are held in memory.
    pub sessions_max: usize,
    /// Bytes that are held in memory of all of them.
    pub sessions_bytes_max: usize,
}

/// Whether long results are kept elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shaping {
    /// They are, where the model can read them back.
    On,
    /// They go as they are.
    Off,
}

/// A request for a model, as its client sent it.
#[derive(Debug, Clone)]
pub struct ModelRequest {
    /// Who sent it.
    pub who: Principal,
    /// The interface it is for.
    pub api: Api,
    /// Its headers. Some clients name their sessions there.
    pub headers: Vec<(String, String)>,
    /// Its body.
    pub body: Bytes,
    /// When the last byte of it was there.
    pub arrived: Instant,
    /// What it is prepared for.
    pub purpose: Purpose,
}

/// What a request is prepared for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// It is sent: what its plan asks for is done and stored.
    Send,
    /// Its tokens are counted, and the request itself is still to come: nothing is stored.
    Count,
}

/// Why nothing may be sent: the request could not be searched for secrets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Withheld(pub String);

/// A request that is ready to be sent. From then on it is recorded whatever becomes of it: answered, refused, or
/// given up.
pub struct Prepared<'a> {
    /// The body that is sent.
    pub body: Bytes,
    /// How long it took to make that.
    pub added: Duration,
    /// Whether the model is sent anything else than what its client sent.
    pub is_edited: bool,
    /// Whether something can still be done if the provider refuses it. One that goes on from what its provider holds
    /// shows only its end, so that there is nothing to plan by.
    pub can_be_mended: bool,
    engine: Engine,
    turn: AgentTurn<'a>,
    prompt: SentPrompt,
    /// What was sent, once it was looked at.
    parts: PromptParts,
    digest: Option<[u8; 32]>,
    slot: Arc<SessionSlot>,
    /// What the provider refused it for, and what of that was mended.
    refused: Vec<ProviderRefusal>,
    mended: Vec<ProviderRefusal>,
    /// Gone once an answer is listened to, or where nothing is sent.
    is_underway: bool,
}

impl<'a> Prepared<'a> {
    fn new(engine: &Engine, turn: AgentTurn<'a>, prompt: SentPrompt, slot: Arc<SessionSlot>) -> Self {
        Self {
            body: prompt.body.clone(),
            added: turn.arrived.elapsed(),
            is_edited: !prompt.edits.is_empty(),
            can_be_mended: turn.request.previous_response().is_none(),
            engine: engine.clone(),
            turn,
            prompt,
            parts: PromptParts::default(),
            digest: None,
            slot,
            refused: Vec::new(),
            mended: Vec::new(),
            is_underway: false,
        }
    }

    /// Sends this instead.
    fn replace(&mut self, prompt: SentPrompt) {
        self.body = prompt.body.clone();
        self.is_edited = !prompt.edits.is_empty();
        self.prompt = prompt;
    }

    fn is_whole(&self) -> bool {
        self.turn.request.previous_response().is_none()
    }
}

impl Engine {
    /// Prepares a request; none if it cannot be read: then it goes as it came, and nothing is recorded of it.
    pub async fn prepare<'a>(&self, asked: &'a ModelRequest) -> Result<Option<Prepared<'a>>, Withheld> {
        let Some(request) = readable(asked) else {
            self.inner.metrics.unplanned("unreadable");
            return Ok(None);
        };
        let identity = self.identify(asked, &request).await;
        let slot = self.inner.sessions.of(&identity.who.owner, &identity.session);
        let turn = AgentTurn::new(asked, request, identity, slot.last_answer());

        if turn.purpose == Purpose::Send {
            self.note_answered_calls(&turn);
        }
        let prompt = match turn.request.previous_response() {
            Some(_) => SentPrompt::as_it_came(turn.body),
            None => self.make_prompt(&turn).await.map_err(|fault| self.withheld(fault))?,
        };
        let mut prepared = Prepared::new(self, turn, prompt, slot);
        if asked.purpose == Purpose::Send {
            if let Some(window_tokens) = self.overflow(&prepared) {
                self.rescue_into(&mut prepared, Some(window_tokens)).await;
            }
            prepared.is_underway = true;
        }
        Ok(Some(prepared))
    }

    /// Does what there is time for while the provider is at work: counts what it was sent, and remembers the
    /// conversation. Whether a stream that says nothing yet should be held back, because the request could be mended if
    /// it is about to be refused.
    pub async fn look_at(&self, prepared: &mut Prepared<'_>) -> bool {
        if prepared.is_whole() && prepared.mended.is_empty() {
            self.remember_conversation(&prepared.turn.identity).await;
        }
        prepared.parts = self.parts_of(&prepared.turn.request, prepared.prompt.pieces.as_deref());
        prepared.digest = Some(*blake3::hash(&prepared.body).as_bytes());
        prepared.is_whole() && !prepared.mended.iter().any(ProviderRefusal::is_too_long) && may_be_rescued(prepared)
    }

    /// Mends a request that its provider refuses. Whether it did, so that it can be sent again; why it could not is
    /// told with the record.
    pub async fn remedy(&self, prepared: &mut Prepared<'_>, refused: ProviderRefusal) -> bool {
        prepared.refused.push(refused);
        if prepared.mended.contains(&refused) {
            return false;
        }
        let is_mended = match refused {
            ProviderRefusal::TooLong { window_tokens } => self.rescue_into(prepared, window_tokens).await,
            ProviderRefusal::Reasoning => match self.restart_prompt(prepared).await {
                Some(prompt) => {
                    prepared.replace(prompt);
                    true
                }
                None => false,
            },
        };
        if is_mended {
            prepared.mended.push(refused);
            prepared.can_be_mended = prepared.mended.len() < MENDED_MAX;
        }
        is_mended
    }

    /// Rescues a request that does not fit; whether that could be done.
    async fn rescue_into(&self, prepared: &mut Prepared<'_>, window_tokens: Option<u64>) -> bool {
        match self.rescue_prompt(prepared, window_tokens).await {
            Ok(prompt) => {
                prepared.replace(prompt);
                true
            }
            Err(reason) => {
                prepared.prompt.warnings.push((WarningKind::Loop, reason));
                false
            }
        }
    }

    /// Takes note of which calls are answered: a script that the model does not wait for any more opens nothing.
    fn note_answered_calls(&self, turn: &AgentTurn<'_>) {
        let results = turn.request.blocks().iter().rev().take_while(|block| block.kind.side() == Side::User);
        let calls: Vec<&str> = results
            .filter_map(|block| match &block.kind {
                BlockKind::Result(result) => Some(&*result.call),
                _ => None,
            })
            .collect();
        if !calls.is_empty() {
            self.calls_answered(&turn.identity.who, &turn.identity.session, &calls);
        }
    }

    fn withheld(&self, fault: PlanningFault) -> Withheld {
        self.inner.metrics.unplanned("unscrubbed");
        match fault {
            PlanningFault::Unscrubbed(reason) => Withheld(reason),
            PlanningFault::Unplanned(kind) => Withheld(kind.to_owned()),
        }
    }
}

/// The request, if it can be read.
fn readable(asked: &ModelRequest) -> Option<Request<'_>> {
    Request::read(asked.api, &asked.body)
        .map_err(|error| tracing::debug!(%error, "a request could not be read, and goes as it came"))
        .ok()
}

#[cfg(test)]
mod tests;
