//! What is stored of a session beside what its client sends: decisions that were made once, and that every later
//! prompt repeats. The engine loads them; nothing here changes them.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{BlockKey, ScriptedCall, ScrubbedJson};
use crate::{BranchId, EndReason, Thread};

/// All stored decisions about a session. Empty for a session that is new, or whose store is lost.
#[derive(Debug, Clone, Default)]
pub struct StoredDecisions {
    /// Every branch that the engine has, open or ended.
    pub branches: BTreeMap<BranchId, StoredBranch>,
    /// Where folds by force took effect.
    pub endings: Vec<ForcedFold>,
    /// Results that were scrubbed or shaped when they were first seen, by the id of their call. A result
    /// that was looked at and left alone need not be here.
    pub rewrites: HashMap<String, Replacement>,
    /// Words that infold put behind a result, once, and that have to stay there.
    pub notes: Vec<Note>,
    /// Places from which on earlier reasoning is not sent any more, in the order in which they were stored.
    pub restarts: Vec<Restart>,
    /// What our tools answered to calls that opened, folded or went back to branches, by the keys of the calls: clients
    /// cut and clear results, and what was hidden has to stay hidden.
    pub answers: HashMap<BlockKey, String>,
    /// Words that did not interrupt the open branch, by their places: what a client says behind an answer that broke
    /// off may look like a person's.
    pub continued: HashSet<BlockKey>,
    /// Calls of our tools that scripts made, in their order, by the id of the call that ran the script: no transcript
    /// shows them.
    pub scripted: HashMap<String, Vec<ScriptedCall>>,
}

/// A branch, as the engine has it.
#[derive(Debug, Clone)]
pub struct StoredBranch {
    /// Counts how often it was opened, from 1: a rollback or a client that goes back opens it again.
    pub generation: u32,
    /// Its state in this generation.
    pub state: BranchState,
}

/// Whether the engine has a branch as open or ended.
#[derive(Debug, Clone)]
pub enum BranchState {
    /// It works, or waits for its turn.
    Open {
        /// What it would give its parent if it were cut short now.
        partial: String,
    },
    /// It has returned, was folded by force, or was discarded.
    Ended {
        /// What ended it.
        reason: EndReason,
        /// What its parent gets: its message, or a partial result.
        result: String,
    },
}

/// A fold that no call shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForcedFold {
    /// The branch that was folded.
    pub branch: BranchId,
    /// The generation that ended here; each generation has one end at most.
    pub generation: u32,
    /// Where its thread ends and its parent goes on.
    pub place: Anchor,
    /// The partial result that its parent gets.
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
        /// Not the block's own key but that of its place, which depends on what comes before it too: so the same words,
        /// said again, are another place.
        block: BlockKey,
    },
}

/// What is sent for a result since it was first seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement {
    /// The content it was decided for. A client may send another later; that one goes as it is.
    pub content: BlockKey,
    /// What is sent in its place.
    pub sent: ScrubbedJson,
    /// What was done to the content.
    pub reason: super::Reason,
}

/// Words of infold's own in a thread, behind a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The id of the result's call.
    pub after: String,
    /// The words, as the model is sent them.
    pub text: String,
}

/// A change in the middle of a view: reasoning in front of this place was made on other bytes and is not sent any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restart {
    /// It concerns all threads whose views begin with this thread's; `None` means all threads of the session.
    pub root: Option<Thread>,
    /// The id of the call of the first result that the change replaced. A client that goes back to before that result
    /// finds everything unchanged. `None` means that any part may have changed.
    pub from: Option<String>,
    /// Where the transcript ended when the change was made.
    pub place: Anchor,
}
