//! What the proxy asks of the engine: what is stored of a session whose requests pass through it, taking
//! in results when they are first seen, ending branches that no call ends, and knowing which calls a model
//! was seen to make.
//!
//! What must hold: what is decided once is on disk before it is acted upon, and gives the same bytes for
//! ever; a session in which nothing was scrubbed, shaped or folded costs the disk nothing.

mod budget;
mod chains;
mod ending;
mod facts;
mod issued;
mod keeping;
mod planning;
mod said;
mod taking;

use infold_core::view::{Known, Reason};
use infold_core::{BlobId, BranchId, Mentions, Thread};

use crate::Notice;

pub use budget::BudgetUse;
pub(crate) use chains::Chains;
pub use ending::Adoption;
pub(crate) use issued::Registry;
pub use issued::{IssuedCall, RunningScript, arguments_hash};
pub(crate) use said::{Said, Unheard};
pub use taking::{Away, Rescue};

/// What is known of a session, with what tells whether it still holds.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// What was stored.
    pub known: Known,
    /// Whether nothing is stored of it yet.
    pub is_new: bool,
    /// Whether its model was ever sent something else than its client sent: reasoning that the client
    /// holds may then be bound to what was sent.
    pub has_folded: bool,
    /// Events of the session when this was read.
    pub(crate) version: u64,
    /// Decisions of the proxy that were stored when this was read.
    pub(crate) decisions: u64,
    /// What changes whenever an ended branch does.
    pub(crate) tree: TreeFigures,
    /// When the next open branch runs out of time.
    pub(crate) deadline_ms: Option<u64>,
}

/// Figures of a session that change whenever a branch opens, ends, or is not as it was at its end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TreeFigures {
    opened: u64,
    folded_tokens: u64,
    returned_tokens: u64,
    untold: Vec<BranchId>,
}

/// Whether long results may be kept elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offload {
    /// They may: the model can call `read_result`.
    Allowed,
    /// They may not.
    No,
}

/// A result when it is first seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FirstSeen {
    /// The id of the call.
    pub call_id: String,
    /// The tool, as the client spells it.
    pub tool: String,
    /// What it was called with, as JSON.
    pub arguments: String,
    /// The text parts of the result, decoded, in order.
    pub texts: Vec<String>,
    /// What the client put into it behind what the tool printed. It is shown whatever becomes of the rest.
    pub remarks: Option<Remarks>,
    /// Whether there is nothing else in it. What is no text, an image for instance, could not be read back
    /// by a handle, so such a result is never kept elsewhere.
    pub is_all_text: bool,
}

/// A result, parted: what the tool printed, and what the client put behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remarks {
    /// What the tool printed.
    pub printed: String,
    /// What the client put behind it, as it stands.
    pub said: String,
}

/// Results of one turn, to be taken in before they are sent for the first time.
#[derive(Debug, Clone)]
pub struct TakeIn {
    /// The thread that they were seen in.
    pub thread: Thread,
    /// The results, in order.
    pub results: Vec<FirstSeen>,
    /// Whether long ones may be kept elsewhere.
    pub offload: Offload,
    /// What the thread has said and shown before them; see [`Engine::wants_mentions`](crate::Engine::wants_mentions).
    pub mentions: Mentions,
}

/// What becomes of results that were taken in.
#[derive(Debug, Clone, PartialEq)]
pub struct TakenIn {
    /// The results, in the order in which they were given.
    pub results: Vec<Taken>,
    /// The branch that folded because one did not fit, or had folded before they came. What is known of the
    /// session has changed then.
    pub folded: Option<Notice>,
}

/// What becomes of one result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// The id of its call.
    pub call_id: String,
    /// What is sent of it.
    pub shown: Shown,
}

/// What is sent of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    /// It, as it is.
    AsItIs,
    /// Its text parts, without secrets; `None` where a part is as it was.
    Parts(Vec<Option<String>>),
    /// One text in place of the whole.
    Reference {
        /// The text.
        text: String,
        /// Where the whole is kept.
        blob: BlobId,
    },
}

impl Shown {
    /// Why it is not the result as it is.
    pub fn reason(&self) -> Option<Reason> {
        match self {
            Self::AsItIs => None,
            Self::Parts(_) => Some(Reason::Scrubbed),
            Self::Reference { .. } => Some(Reason::Offloaded),
        }
    }
}
