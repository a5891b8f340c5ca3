//! What a turn begins with, a request as its client sent it, and what it is turned into, ready to be sent.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use infold_core::view::{BranchState, RequestKind, StoredDecisions, ThreadSource};
use infold_core::{BranchId, EndReason, ModelWindows, Principal, ScrubError, SessionId, Thread};
use infold_wire::ProviderRefusal;
use infold_wire::request::Api;

use super::cache::SessionSlot;
use super::prompt::{AgentTurn, SentPrompt};
use super::search::SearchedBody;
use crate::{Engine, PromptParts};

/// How turns are prepared. There are no defaults here: the program sets every field.
#[derive(Debug, Clone)]
pub struct TurnSettings {
    /// Whether long results are offloaded when they are first seen. They are scrubbed in any case.
    pub shaping: Shaping,
    /// How many tokens each model takes.
    pub windows: ModelWindows,
    /// How many tokens of a window a rescue leaves free.
    pub reserve_tokens: u64,
    /// How many tokens of a thread's newest results stay if its agent asks for space.
    pub kept_results_tokens: u64,
    /// Whether models get notes of how much of their window is used.
    pub context_notes: ContextNotes,
    /// How many sessions are held in memory.
    pub sessions_max: usize,
    /// How many bytes are held in memory for all sessions together.
    pub sessions_bytes_max: usize,
    /// Which calls of models are remembered until they arrive.
    pub kept_calls: KeptCalls,
}

/// Which calls of models are remembered until they arrive as calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeptCalls {
    /// Calls of infold's own tools, and of scripts that may make some.
    Own,
    /// All calls, because there is a gateway, by which others' tools are called too.
    All,
}

/// Whether models get notes of how much of their window is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContextNotes {
    /// They do, once most of it is, if they can ask for space.
    On,
    /// They do not.
    Off,
}

/// Whether long results are offloaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shaping {
    /// They are, if the model can read them back.
    On,
    /// They are sent whole, without their secrets.
    Off,
}

/// A request for a model, as its client sent it.
#[derive(Debug, Clone)]
pub struct ModelRequest {
    /// The principal that the door has identified.
    pub who: Principal,
    /// The provider's interface that the request is for.
    pub api: Api,
    /// The request's headers. Some clients name their sessions in them.
    pub headers: Vec<(String, String)>,
    /// The request's body, as it came.
    pub body: Bytes,
    /// When the last byte of the body arrived.
    pub arrived: Instant,
    /// Whether the request is sent or only counted.
    pub purpose: Purpose,
    /// Filled by [`Engine::prepare`] if a secret was beside the texts of results.
    pub searched: SearchedBody,
    /// The thread that the request is of, if its client keeps its threads apart. All other clients are identified by what
    /// they send.
    pub thread: Option<OwnThread>,
}

/// A thread of an agent that keeps its threads apart and says which one each request is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnThread {
    /// The session.
    pub session: SessionId,
    /// The thread.
    pub thread: Thread,
    /// Whether the thread goes on from the answer.
    pub kind: RequestKind,
    /// Tokens of the window that whoever sends it keeps to.
    pub window_tokens: u64,
}

impl ModelRequest {
    /// The body that is planned.
    pub(super) fn planned_body(&self) -> &Bytes {
        self.searched.get().unwrap_or(&self.body)
    }
}

/// What a request is prepared for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// It is sent: what its plan asks for is done and stored.
    Send,
    /// Its tokens are counted before the request itself comes: nothing is stored.
    Count,
}

/// A request that may be sent.
pub enum ReadyRequest<'a> {
    /// A turn of a conversation.
    Turn(Box<Prepared<'a>>),
    /// A body that cannot be read as a conversation, without the secrets in any of its strings. It is sent, and nothing
    /// of it is recorded.
    Searched(Bytes),
    /// The branch whose thread the request is of has ended meanwhile, by its budget or its time: nothing is sent.
    Over(EndedBranch),
}

/// A branch that ended while its agent was at work in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedBranch {
    /// The branch.
    pub branch: BranchId,
    /// What ended it.
    pub reason: EndReason,
    /// What its parent gets.
    pub result: String,
}

impl EndedBranch {
    /// The branch whose thread a client names, if it has ended.
    pub(super) fn of(thread: &ThreadSource, known: &StoredDecisions) -> Option<Self> {
        let ThreadSource::Named(Thread::Branch(branch)) = thread else { return None };
        match &known.branches.get(branch)?.state {
            BranchState::Open { .. } => None,
            BranchState::Ended { reason, result } => {
                Some(Self { branch: branch.clone(), reason: *reason, result: result.clone() })
            }
        }
    }
}

/// Why nothing may be sent: the request could not be searched for secrets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Withheld {
    /// The scrubber does not work at all.
    #[error("{0}")]
    Unscrubbed(ScrubError),
    /// The scrubber did not get to the end of a text that cannot be left out.
    #[error("{0}")]
    Unsearched(ScrubError),
    /// The body cannot be read, so nobody knows where its texts are.
    #[error("{0}")]
    Unreadable(String),
    /// The request could not be planned, and not be sent without a plan either.
    #[error("it could not be planned ({0})")]
    Unplanned(&'static str),
}

/// A request that is ready to be sent. It is recorded whatever becomes of it: answered, refused, or given up.
pub struct Prepared<'a> {
    /// The body that is sent to the provider.
    pub body: Bytes,
    /// How long preparing it took.
    pub planning_time: Duration,
    /// Whether the model is sent anything but what its client sent.
    pub is_edited: bool,
    /// Whether the request can be mended if the provider refuses it. One that continues a response which the provider
    /// holds shows only its end, so that nothing can be planned.
    pub can_be_mended: bool,
    pub(super) engine: Engine,
    pub(super) turn: AgentTurn<'a>,
    pub(super) prompt: SentPrompt,
    /// What was sent; empty until [`Engine::look_at`] has counted it.
    pub(super) parts: PromptParts,
    pub(super) digest: Option<[u8; 32]>,
    pub(super) slot: Arc<SessionSlot>,
    /// What the provider refused the request for, and which of those refusals were mended.
    pub(super) refused: Vec<ProviderRefusal>,
    pub(super) mended: Vec<ProviderRefusal>,
    /// Whether dropping it has to be recorded: not once an answer is listened to, and not if nothing is sent.
    pub(super) is_underway: bool,
}

impl<'a> Prepared<'a> {
    pub(super) fn new(engine: &Engine, turn: AgentTurn<'a>, prompt: SentPrompt, slot: Arc<SessionSlot>) -> Self {
        Self {
            body: prompt.body.clone(),
            planning_time: turn.arrived.elapsed(),
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

    /// Replaces the prompt that is sent.
    pub(super) fn replace(&mut self, prompt: SentPrompt) {
        self.body = prompt.body.clone();
        self.is_edited = !prompt.edits.is_empty();
        self.prompt = prompt;
    }

    pub(super) fn is_whole(&self) -> bool {
        self.turn.request.previous_response().is_none()
    }
}
