//! Calls of other servers' tools: what a surface hands in, and what it gets back.

use infold_core::gateway::ServerKey;
use infold_core::{BlobId, ContextState, SessionId, Thread};
use serde_json::Value;

use crate::{Notice, Verdict};

/// Whose a call is, and so where it is counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallPlace {
    /// The proxy saw a model make the call, and counts its result when that comes by.
    Proxy {
        /// The session of the model.
        session: SessionId,
        /// The thread in which the model made the call.
        thread: Thread,
        /// The call's id, as the provider gave it.
        call_id: String,
    },
    /// A script made the call. The result goes to the script, so it is neither offloaded nor counted: what the script
    /// prints is.
    Script,
    /// The client names the session.
    Meta {
        /// The session's name.
        session: SessionId,
        /// The branch's id as the client sent it, or `main`; `None` is the active thread.
        branch: Option<String>,
    },
    /// Nothing is known but the caller: if one single branch of the caller's works, the call is counted there.
    OnlyOpen,
    /// The call is counted nowhere but in its server's figures.
    Nobody,
}

/// A call of another server's tool that was answered.
#[derive(Debug, Clone)]
pub struct RelayedCall {
    /// Whose it is.
    pub place: CallPlace,
    /// The tool's server.
    pub server: ServerKey,
    /// The tool's name as it is listed.
    pub tool: String,
    /// The arguments, as JSON.
    pub arguments: String,
    /// The client's id of the call, if it sent one.
    pub call_id: Option<String>,
}

/// What a server answered to a call.
#[derive(Debug, Clone, Default)]
pub struct RelayedResult {
    /// Its texts, in order.
    pub texts: Vec<String>,
    /// Its structured content.
    pub structured: Option<Value>,
}

/// What a client is shown of a result.
#[derive(Debug, Clone)]
pub struct RelayedShown {
    /// The texts without secrets, as many as there were; or the reference alone, if the result was offloaded.
    pub texts: Vec<String>,
    /// The structured content without secrets, or in its place a reference.
    pub structured: Option<Value>,
    /// The handle of the whole result, if it was offloaded.
    pub ref_id: Option<BlobId>,
    /// Whether anything may be shown at all. If not, there are no texts, and the branch has folded.
    pub verdict: Verdict,
    /// Tokens of the arguments.
    pub tokens_in: u64,
    /// Tokens of what is shown.
    pub tokens_out: u64,
    /// Where the call was counted.
    pub metered: Metered,
    /// Branches that were cut short since the caller's last answer.
    pub notices: Vec<Notice>,
    /// The tokens and branches of the session after counting; `None` if the gateway has counted it in none.
    pub state: Option<ContextState>,
}

/// Where a call was counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Metered {
    /// In a thread of a session.
    In {
        /// The session.
        session: SessionId,
        /// The thread.
        thread: Thread,
        /// How many tokens were counted. The proxy counts by itself, so for a call of the proxy's that was not offloaded
        /// this is what it will be.
        tokens: u64,
        /// How the place was found: `proxy`, `meta` or `only_open`.
        by: &'static str,
    },
    /// In no thread.
    Nowhere {
        /// Why not, in words.
        reason: &'static str,
    },
}
