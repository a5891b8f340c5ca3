//! Views: what a model gets to see of a conversation, which its client sends whole with every request.
//!
//! The law: every request extends one thread of the session's tree, or cuts a thread back to an earlier
//! point and extends it from there; nothing is ever edited in the middle. Each time, the tree is read again
//! from what the client sends, by the calls in it that opened and folded branches. Only what no call shows
//! (folds by force, shaped results, notes) comes from the store.
//!
//! The way of a request: `infold-wire` reads it into [`Block`]s. [`plan()`] has `walk` read the blocks into the `tree`
//! of threads, compares that with the store, and has `assemble` write the view of the thread that is answered.
//! `infold-wire` then applies the [`ViewPlan`] to the original bytes; what a plan does not name keeps its bytes.
//! Nothing here looks at a block's text, except for calls of infold's own tools and of scripts.

mod acts;
mod answers;
mod assemble;
mod brief;
mod items;
mod known;
mod place;
mod plan;
mod planned;
mod reasoning;
mod relief;
mod script;
mod scrubbed_json;
mod tree;
mod walk;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;

use crate::transcript::Voice;

pub use answers::OUTCOME_UNKNOWN;
pub use known::{Anchor, BranchState, ForcedFold, Note, Replacement, Restart, StoredBranch, StoredDecisions};
pub use plan::plan;
pub use planned::{
    Edit, FoundOpening, LastAnswer, PlanAction, Reason, RequestKind, ThreadSource, TranscriptStart, ViewPiece,
    ViewPlan, ViewRequest,
};
pub use relief::{Burden, LastRound, OffloadGoal, OffloadedResult, ReceiptCause, Relief, is_receipt, receipt, relieve};
pub use script::{ScriptedCall, changes_tree, reads_back, runs_scripts};
pub use scrubbed_json::{JsonString, ScrubbedJson, is_media};

/// Identifies a block: a digest of its bytes, without the marks that steer the provider's cache. Blocks with the same
/// bytes have the same key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockKey(pub [u8; 16]);

impl fmt::Debug for BlockKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0[..4].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// One part of a request, as its client sent it: the smallest part that a view can keep, change or leave out.
#[derive(Debug, Clone)]
pub struct Block<'a> {
    /// The entry of the client's list that holds it, counted from 0. An entry may hold several blocks.
    pub entry: usize,
    /// A digest of its bytes.
    pub key: BlockKey,
    /// Who said it, and what a plan needs to know of it.
    pub kind: BlockKind<'a>,
}

/// Who said a block, and what it is for.
#[derive(Debug, Clone)]
pub enum BlockKind<'a> {
    /// Instructions among the entries: roles `system` and `developer`.
    Instruction,
    /// Words on the user's side.
    User {
        /// Whether a person said them, or the client on its own account.
        voice: Voice,
    },
    /// What the model says to the person.
    Assistant,
    /// The model's reasoning, sealed or not.
    Reasoning,
    /// The model calls a tool.
    Call(CallBlock<'a>),
    /// What a tool gave for a call.
    Result(ResultBlock<'a>),
    /// What a client shows of a file on its own account: a tool's result in all but name.
    Attachment,
    /// Anything else. It stays in the thread that is current where it is read.
    Other {
        /// The side of its entry.
        side: Side,
    },
}

/// Which of the two sides of a conversation an entry is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The client's: people, tools, instructions.
    User,
    /// The model's: words, reasoning, calls.
    Model,
}

/// A model's call of a tool.
#[derive(Debug, Clone)]
pub struct CallBlock<'a> {
    /// The id that its result names. A client may use an id again later.
    pub id: Cow<'a, str>,
    /// The tool, as the client spells it. If it has a namespace, that comes first, with two underscores behind it.
    pub tool: Cow<'a, str>,
    /// What it was called with, as JSON, or the source of a script; read only where the tool is one of ours
    /// ([`ToolEffect::of`](crate::ToolEffect::of)) or runs scripts ([`runs_scripts`]).
    pub arguments: Option<Cow<'a, str>>,
}

/// What a tool gave for a call.
#[derive(Debug, Clone)]
pub struct ResultBlock<'a> {
    /// The id of the call.
    pub call: Cow<'a, str>,
    /// A digest of its content, by which a later change is noticed: clients clear and change results.
    pub content: BlockKey,
    /// Bytes of the content, as JSON.
    pub content_bytes: usize,
    /// Its text; read only where the call was to one of our tools or ran a script.
    pub text: Option<Cow<'a, str>>,
    /// Deferred tools that the model can call from this result on, as the client spells them.
    pub loads: Vec<Cow<'a, str>>,
    /// What the client put into it behind what the tool gave: reminders, words that were typed meanwhile.
    pub remarks: Vec<Remark<'a>>,
}

/// Words inside of a result that are not the tool's.
#[derive(Debug, Clone)]
pub struct Remark<'a> {
    /// A digest of the words.
    pub key: BlockKey,
    /// Whether a person typed them, or the client put them in.
    pub voice: Voice,
    /// The words, without the client's marks around them.
    pub text: Cow<'a, str>,
}

impl<'a> BlockKind<'a> {
    /// `None` if the block is not a result.
    pub fn result(&self) -> Option<&ResultBlock<'a>> {
        match self {
            Self::Result(result) => Some(result),
            Self::Instruction
            | Self::User { .. }
            | Self::Assistant
            | Self::Reasoning
            | Self::Call(_)
            | Self::Attachment
            | Self::Other { .. } => None,
        }
    }

    /// The side of the conversation that the block is on.
    pub fn side(&self) -> Side {
        match self {
            Self::Instruction | Self::User { .. } | Self::Attachment | Self::Result(_) => Side::User,
            Self::Assistant | Self::Reasoning | Self::Call(_) => Side::Model,
            Self::Other { side } => *side,
        }
    }
}
