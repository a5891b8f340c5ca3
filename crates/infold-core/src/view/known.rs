//! What is known of a session beside what its client sends: decisions that were made once and stored.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::{BlockKey, ScriptedCall};
use crate::{BranchId, EndReason, Thread};

/// What was stored of a session.
#[derive(Debug, Clone, Default)]
pub struct StoredDecisions {
    /// Its branches.
    pub branches: BTreeMap<BranchId, StoredBranch>,
    /// Where folds by force took effect.
    pub endings: Vec<ForcedFold>,
    /// Results that were scrubbed or shaped when they were first seen, by the id of their call. A result
    /// that was looked at and left alone need not be here.
    pub rewrites: HashMap<String, Replacement>,
    /// Words that were put behind a result, once, and have to stay there.
    pub notes: Vec<Note>,
    /// Where a thread was started anew.
    pub restarts: Vec<Restart>,
    /// What our tools answered to calls that opened, folded or went back to branches, by what tells these calls
    /// from others: clients cut and clear results, and what was hidden has to stay hidden.
    pub answers: HashMap<BlockKey, String>,
    /// Words that an open branch heard and went on, by their places: what a client says behind an answer that broke
    /// off may look like a person's.
    pub heard: HashSet<BlockKey>,
    /// Calls of our tools that scripts made, in their order, by the id of the call that ran the script: no transcript
    /// shows them.
    pub scripted: HashMap<String, Vec<ScriptedCall>>,
}

/// A branch, as the engine has it.
#[derive(Debug, Clone)]
pub struct StoredBranch {
    /// Which opening of it.
    pub generation: u32,
    /// How it stands.
    pub state: BranchState,
}

/// How a branch stands.
#[derive(Debug, Clone)]
pub enum BranchState {
    /// It works.
    Open {
        /// What it would give its parent if it were cut short now.
        partial: String,
    },
    /// It is over.
    Ended {
        /// Why.
        reason: EndReason,
        /// What its parent gets.
        result: String,
    },
}

/// A fold that no call shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForcedFold {
    /// The branch.
    pub branch: BranchId,
    /// Which opening of it.
    pub generation: u32,
    /// Where its thread ends.
    pub place: Anchor,
    /// What its parent gets.
    pub result: String,
}

/// A place in a transcript that a client sends again and again, with more behind it each time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Anchor {
    /// Behind the entry with the result of this call.
    After {
        /// The id of the call.
        call: String,
    },
    /// In front of this block.
    Before {
        /// The block, told from others that say the same by what stands in front of it.
        block: BlockKey,
    },
}

/// What became of a result when it was first seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement {
    /// The content it was decided for. A client may send another later; that one goes as it is.
    pub content: BlockKey,
    /// What is sent in its place: a JSON value.
    pub sent: Arc<[u8]>,
    /// Why.
    pub reason: super::Reason,
}

/// Words that were put into a thread behind a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The id of the result's call.
    pub after: String,
    /// The words.
    pub text: String,
}

/// Threads that were started anew: reasoning in front of this place is not sent any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restart {
    /// The thread that their views begin with; none means all threads of the session.
    pub root: Option<Thread>,
    /// The first result that is shown otherwise since, by the id of its call: a client that goes back to before it
    /// finds everything as it was. None means that nothing is as it was.
    pub from: Option<String>,
    /// Where the transcript ended then.
    pub place: Anchor,
}
