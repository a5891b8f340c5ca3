//! Views: what a model gets to see of a conversation that its client sends whole, every time.
//!
//! The law: every request extends one thread of the session's tree, or cuts a thread back to an earlier
//! point and extends it from there; nothing is ever edited in the middle. The tree is read afresh from
//! what the client sends, by the calls in it that opened and folded branches; only what no call shows
//! (folds by force, shaped results, notes) comes from what was stored.
//!
//! `infold-wire` reads a request into [`Block`]s and applies a [`ViewPlan`] to the original bytes. What a plan
//! does not name keeps its bytes. Nothing here looks at a block's text, but for calls of infold's own tools.

mod acts;
mod answers;
mod assemble;
mod brief;
mod front;
mod known;
mod overflow;
mod place;
mod plan;
mod reasoning;
mod reconcile;
mod script;
mod spoken;
mod tree;
mod walk;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;

use crate::transcript::Voice;

pub use known::{Anchor, BranchState, ForcedFold, Note, Replacement, Restart, StoredBranch, StoredDecisions};
pub use overflow::{MovedOut, Overflow, Relief, overflow, receipt};
pub use plan::{
    Edit, FoundOpening, LastAnswer, PlanAction, Reason, RequestKind, TranscriptStart, ViewPiece, ViewPlan, ViewRequest,
    plan,
};
pub use script::{ScriptedCall, changes_tree, reads_back, runs_scripts};

/// What tells a block from every other: a digest of its bytes, without the marks that steer the cache.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockKey(pub [u8; 16]);

impl fmt::Debug for BlockKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0[..4].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The smallest part of a conversation that can be kept or left out.
#[derive(Debug, Clone)]
pub struct Block<'a> {
    /// Which entry of the client's list it stands in, counted from 0. Entries are in order.
    pub entry: usize,
    /// What tells it from others.
    pub key: BlockKey,
    /// What it is.
    pub kind: BlockKind<'a>,
}

/// What a block is.
#[derive(Debug, Clone)]
pub enum BlockKind<'a> {
    /// Instructions among the entries: roles `system` and `developer`.
    Instruction,
    /// Words on the user's side.
    User {
        /// Whose they are.
        voice: Voice,
    },
    /// The model's words.
    Assistant,
    /// The model's reasoning, sealed or not.
    Reasoning,
    /// A call.
    Call(CallBlock<'a>),
    /// What a call gave.
    Result(ResultBlock<'a>),
    /// What a client shows of a file on its own account: a tool's result in all but name.
    Attachment,
    /// Anything else. It stays with the thread it stands in.
    Other {
        /// On whose side it stands.
        side: Side,
    },
}

/// Who an entry is by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The client: people, tools, instructions.
    User,
    /// The model.
    Model,
}

/// A call.
#[derive(Debug, Clone)]
pub struct CallBlock<'a> {
    /// Its id.
    pub id: Cow<'a, str>,
    /// The tool, as the client spells it. A namespace stands in front, with two underscores between.
    pub tool: Cow<'a, str>,
    /// What it was called with, as JSON, or the source of a script; read only where the tool is one of ours
    /// ([`ToolEffect::of`](crate::ToolEffect::of)) or runs scripts ([`runs_scripts`]).
    pub arguments: Option<Cow<'a, str>>,
}

/// What a call gave.
#[derive(Debug, Clone)]
pub struct ResultBlock<'a> {
    /// The id of the call.
    pub call: Cow<'a, str>,
    /// What tells its content from others: clients clear and change results.
    pub content: BlockKey,
    /// Bytes of the content, as JSON.
    pub content_bytes: usize,
    /// Its text; read only where the call was to one of our tools or ran a script.
    pub text: Option<Cow<'a, str>>,
    /// Deferred tools that it made known to the model, as the client spells them.
    pub loads: Vec<Cow<'a, str>>,
    /// What the client put into it behind what the tool gave: reminders, words that were typed meanwhile.
    pub remarks: Vec<Remark<'a>>,
}

/// Words inside of a result that are not the tool's.
#[derive(Debug, Clone)]
pub struct Remark<'a> {
    /// What tells them from others.
    pub key: BlockKey,
    /// Whose they are.
    pub voice: Voice,
    /// The words.
    pub text: Cow<'a, str>,
}

impl<'a> BlockKind<'a> {
    /// What a call gave, if it is that.
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

    /// Who it is by.
    pub fn side(&self) -> Side {
        match self {
            Self::Instruction | Self::User { .. } | Self::Attachment | Self::Result(_) => Side::User,
            Self::Assistant | Self::Reasoning | Self::Call(_) => Side::Model,
            Self::Other { side } => *side,
        }
    }
}
