//! One turn of an agent: from what its client wants to send to what a model is sent, and from the model's answer to
//! what is stored of it.
//!
//! Four operations, each in the four beats; the proxy calls them for its clients, infold's own agent in its process:
//! - [`Engine::prepare`] identifies the session, plans the request, takes in new results, and returns what is sent.
//! - [`Engine::look_at`] counts what is sent, while the provider is at work.
//! - [`Engine::remedy`] mends a request that the provider refused: too long, or with reasoning that it does not take.
//! - [`Engine::listen`] reads the answer while it passes, and has it counted and recorded at its end.
//!
//! What must hold: what is decided once is on disk before it takes effect, and gives the same bytes ever after; if
//! there is nothing to edit, the client's own bytes are sent; what cannot be searched for secrets is not sent; a
//! session in which nothing was scrubbed, shaped or folded writes nothing to disk.

mod cache;
mod carry_out;
mod conversations;
mod decisions;
mod identify;
mod issued;
mod known_session;
mod last_words;
mod lighten;
mod listen;
mod lost;
mod mentioned;
mod notes;
mod offload;
mod own_results;
mod parts;
mod placeholders;
mod prepared;
mod prompt;
mod relieve;
mod rescue;
mod results;
mod search;
mod stored_json;
mod take_in;
mod unplanned;
mod words;

use infold_core::record::WarningKind;
use infold_core::view::{BlockKind, Side};
use infold_wire::ProviderRefusal;

use crate::Engine;
use prompt::{AgentTurn, PlanningFault};
use rescue::may_be_rescued;

pub(crate) use cache::SessionCaches;
pub(crate) use conversations::KnownConversations;
pub(crate) use issued::IssuedCalls;
pub use issued::{IssuedCall, RunningScript, arguments_hash};
pub(crate) use last_words::{HeldWords, PendingWords};
pub use listen::{AnswerHead, AnswerListener, Legibility};
pub use own_results::{OwnResult, OwnResultTaken, ResultRoom};
pub use prepared::{
    ContextNotes, EndedBranch, KeptCalls, ModelRequest, OwnThread, Prepared, Purpose, ReadyRequest, Shaping,
    TurnSettings, Withheld,
};
pub use search::{SearchScope, SearchedBody};
#[cfg(test)]
pub(crate) use take_in::ResultsGiven;
#[cfg(test)]
pub(crate) use take_in::TakeIn;

/// How often a request is mended. Each kind of refusal is mended once.
const MENDED_MAX: usize = 2;

impl Engine {
    /// Prepares a request. One that cannot be read as a conversation is searched whole.
    pub async fn prepare<'a>(&self, asked: &'a ModelRequest) -> Result<ReadyRequest<'a>, Withheld> {
        let Some(request) = self.read_turn(asked).await? else {
            self.inner.metrics.unplanned("unreadable");
            return Ok(ReadyRequest::Searched(self.search_body(&asked.body, SearchScope::Json).await?));
        };
        let identity = self.identify(asked, &request).await;
        let slot = self.inner.sessions.of(&identity.who.owner, &identity.session);
        let turn = AgentTurn::new(asked, request, identity, slot.last_answer());

        if turn.purpose == Purpose::Send {
            self.note_answered_calls(&turn);
        }
        let prompt = match turn.request.previous_response() {
            Some(_) => self.continued_prompt(&turn).await,
            None => self.make_prompt(&turn).await,
        };
        let mut prompt = prompt.map_err(|fault| self.withheld(fault))?;
        if let Some(ended) = prompt.over.take() {
            return Ok(ReadyRequest::Over(ended));
        }
        if asked.searched.get().is_some() {
            prompt.add_scrubbed(1);
        }
        let mut prepared = Prepared::new(self, turn, prompt, slot);
        if asked.purpose == Purpose::Send {
            if prepared.prompt.is_to_lighten {
                self.lighten_into(&mut prepared).await;
            }
            if let Some(window_tokens) = self.overflow(&prepared) {
                self.rescue_into(&mut prepared, Some(window_tokens)).await;
            }
            prepared.is_underway = true;
        }
        Ok(ReadyRequest::Turn(Box::new(prepared)))
    }

    /// Does what there is time for while the provider is at work: counts what it was sent, and remembers the
    /// conversation. Returns whether a stream that says nothing yet should be held back, because the request could
    /// still be mended if the provider refuses it.
    pub async fn look_at(&self, prepared: &mut Prepared<'_>) -> bool {
        if prepared.is_whole() && prepared.mended.is_empty() {
            self.remember_conversation(&prepared.turn.identity).await;
        }
        prepared.parts = self.parts_of(&prepared.turn.request, prepared.prompt.pieces.as_deref());
        if prepared.is_whole() {
            self.note_load(prepared);
        }
        prepared.digest = Some(*blake3::hash(&prepared.body).as_bytes());
        prepared.is_whole() && !prepared.mended.iter().any(ProviderRefusal::is_too_long) && may_be_rescued(prepared)
    }

    /// Mends a request that its provider refused. Returns whether it did, so that the request can be sent again. Why it
    /// could not is recorded as a warning.
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

    /// Rescues a request that does not fit its window. Returns whether that could be done.
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

    /// Offloads older results of a request whose thread's agent has asked for space.
    async fn lighten_into(&self, prepared: &mut Prepared<'_>) {
        match self.lighten_prompt(prepared).await {
            Ok(prompt) => prepared.replace(prompt),
            Err(reason) => prepared.prompt.warnings.push((WarningKind::Lightened, reason)),
        }
    }

    /// Registers which calls are answered, so that a script that the model no longer waits for opens nothing.
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
            PlanningFault::Unscrubbed(error) => Withheld::Unscrubbed(error),
            PlanningFault::Unplanned(kind) => Withheld::Unplanned(kind),
        }
    }
}

#[cfg(test)]
mod tests;
