//! What operations answer. Surfaces turn these into the shapes that their own documents ask for.

use infold_core::fork::{ProcessingStats, Profile};
use infold_core::{
    BlobId, Branch, BranchId, ContextHealth, ContextState, EndReason, Isolation, SessionId, Status, Thread,
};
use serde::{Deserialize, Serialize};

/// A branch that was cut short, told to its parent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Notice {
    /// The branch.
    pub branch_id: BranchId,
    /// The thread that gets the result.
    pub parent: Thread,
    /// How it ended.
    pub status: Status,
    /// Why.
    pub reason: EndReason,
    /// What it had found so far.
    pub result: String,
}

/// A branch that was opened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Opened {
    /// Its session.
    pub session_id: SessionId,
    /// Its id.
    pub branch_id: BranchId,
    /// The thread that opened it.
    pub parent: Thread,
    /// How deep it lies.
    pub depth: u32,
    /// Tokens it may use.
    pub budget_tokens: u64,
    /// What its thread begins with.
    #[serde(default)]
    pub isolation: Isolation,
    /// How long it may take.
    pub timeout_s: u64,
    /// When it opened.
    pub opened_at_ms: u64,
    /// When its time is over.
    pub deadline_ms: u64,
    /// What was not given as wished, in sentences.
    pub notes: Vec<String>,
    /// The context now.
    pub state: ContextState,
    /// How full the main thread is.
    pub health: ContextHealth,
    /// Branches cut short since the last answer.
    pub notices: Vec<Notice>,
}

/// A branch that folded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Folded {
    /// Its session.
    pub session_id: SessionId,
    /// Its id.
    pub branch_id: BranchId,
    /// The thread that gets its message.
    pub parent: Thread,
    /// How it ended.
    pub status: Status,
    /// When.
    pub folded_at_ms: u64,
    /// The message, scrubbed.
    pub message: String,
    /// Tokens it used.
    pub tokens_used: u64,
    /// Tokens that folding keeps out of the parent.
    pub tokens_saved: u64,
    /// Calls seen in it.
    pub operations: u64,
    /// Secrets taken out of the message.
    pub secrets_scrubbed: u32,
    /// Whether nothing but placeholders is left of the message.
    pub summary_redacted: bool,
    /// Branches below it that were folded with it, deepest first.
    pub folded_with_it: Vec<BranchId>,
    /// The context now.
    pub state: ContextState,
    /// How full the main thread is.
    pub health: ContextHealth,
    /// Branches cut short since the last answer.
    pub notices: Vec<Notice>,
}

/// A branch as it stands, in its session.
#[derive(Debug, Clone, PartialEq)]
pub struct BranchView {
    /// Its session.
    pub session_id: SessionId,
    /// The branch.
    pub branch: Branch,
    /// What it gave its parent, if it has ended and whoever asks may know: the main thread, or a
    /// thread that it lies in.
    pub result: Option<String>,
}

/// A session as it stands, with the branches that were asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionView {
    /// The session.
    pub session: infold_core::Session,
    /// The context now.
    pub state: ContextState,
    /// How full the main thread is.
    pub health: ContextHealth,
    /// The window that usage is measured against.
    pub context_limit_tokens: u64,
}

impl SessionView {
    /// The branches, in the order they were opened. Discarded ones are among them.
    pub fn branches(&self) -> Vec<&Branch> {
        let mut branches: Vec<&Branch> = self.session.branches.values().collect();
        branches.sort_by_key(|branch| branch.ordinal);
        branches
    }
}

/// What a rollback did, or would do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RolledBack {
    /// The session.
    pub session_id: SessionId,
    /// The branch that is active again.
    pub to: BranchId,
    /// Which opening of it this is.
    pub generation: u32,
    /// Branches that no longer count, in the order they were opened.
    pub discarded: Vec<BranchId>,
    /// Tokens that were used in them.
    pub tokens_recovered: u64,
    /// The context afterwards.
    pub state: ContextState,
    /// Branches cut short since the last answer.
    pub notices: Vec<Notice>,
}

/// A session that ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionEnded {
    /// The session.
    pub session_id: SessionId,
    /// Branches that were folded for it, in that order.
    pub folded: Vec<BranchId>,
    /// Branches that had not folded when the time was over.
    pub failed: Vec<BranchId>,
    /// When it ended.
    pub ended_at_ms: u64,
    /// The context at the end.
    pub state: ContextState,
    /// Branches cut short since the last answer.
    pub notices: Vec<Notice>,
}

/// A session that began as a fork.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Forked {
    /// The child.
    pub session_id: SessionId,
    /// The session it was forked from, if anybody said.
    pub parent: Option<SessionId>,
    /// When.
    pub forked_at_ms: u64,
    /// How the characters were spent.
    pub profile: Profile,
    /// What the child is told of what was done.
    pub preamble: String,
    /// Where its context is kept.
    pub ref_id: BlobId,
    /// Characters of the context.
    pub chars: u64,
    /// Tokens of the context.
    pub tokens: u64,
    /// What was done to make it fit.
    pub stats: ProcessingStats,
    /// The child's context: nothing has happened in it yet.
    pub state: ContextState,
}

/// A session that began as a fork, with what it began with.
#[derive(Debug, Clone, PartialEq)]
pub struct ForkView {
    /// The fork.
    pub forked: Forked,
    /// The whole context.
    pub context: String,
    /// What the child was asked to do.
    pub prompt: Option<String>,
}

/// How far the ending of a session is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndProgress {
    /// Branches folded so far.
    pub folded: u64,
    /// Branches that were open at the beginning.
    pub total: u64,
}

/// What became of an item that a surface was about to show.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Verdict {
    /// It is to be shown.
    Show,
    /// It did not fit its branch's budget. The branch has folded, and this goes to its parent.
    Withheld(Notice),
}

/// What counting an item led to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Observed {
    /// What is to become of the item.
    pub verdict: Verdict,
    /// Tokens it was counted with.
    pub tokens: u64,
    /// The context now.
    pub state: ContextState,
    /// Branches cut short since the last answer.
    pub notices: Vec<Notice>,
}

/// A result that was handed in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResultRecorded {
    /// What to show in its place: the scrubbed result, or a reference to it. Absent if its branch
    /// has folded instead.
    pub shown: Option<String>,
    /// Where the whole result is, if it is kept elsewhere.
    pub ref_id: Option<BlobId>,
    /// Tokens that were counted.
    pub tokens: u64,
    /// Secrets taken out of it.
    pub secrets_scrubbed: u32,
    /// The branch that folded because of it, and what its parent gets.
    pub folded: Option<Notice>,
    /// The context now.
    pub state: ContextState,
}

/// Part of a kept result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultPart {
    /// The session it belongs to.
    pub session_id: SessionId,
    /// Its handle.
    pub ref_id: BlobId,
    /// The tool that gave it.
    pub tool_name: String,
    /// Bytes of the whole.
    pub total_bytes: usize,
    /// Lines of the whole.
    pub total_lines: usize,
    /// The part.
    pub content: String,
    /// Where it begins: a byte, or a line if lines were asked for.
    pub offset: usize,
    /// Where to go on, if there is more.
    pub next_offset: Option<usize>,
    /// Where a pattern matches no line: that in words, and what to try.
    pub no_match: Option<String>,
}
