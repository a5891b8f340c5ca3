//! What operations answer. Surfaces turn these into the shapes that their own documents ask for.

use infold_core::fork::{ProcessingStats, Profile};
use infold_core::memory::MemoryId;
use infold_core::{
    BlobId, Branch, BranchId, ContextHealth, ContextState, EndReason, Isolation, SessionId, Status, Thread,
};
use serde::{Deserialize, Serialize};

use crate::memory::FoundMemory;

/// Reports to a parent that one of its branches was cut short.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Notice {
    /// The branch that was cut short.
    pub branch_id: BranchId,
    /// The thread that gets the partial result.
    pub parent: Thread,
    /// Whether the branch failed or timed out, for instance.
    pub status: Status,
    /// What cut the branch short.
    pub reason: EndReason,
    /// What the branch had found so far.
    pub result: String,
}

/// The answer to opening a branch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Opened {
    /// The session that the branch is in; it may have been started by this call.
    pub session_id: SessionId,
    /// The id by which the branch is folded or asked for.
    pub branch_id: BranchId,
    /// The thread that opened the branch.
    pub parent: Thread,
    /// How deep the branch lies: 1 below the main thread.
    pub depth: u32,
    /// How many tokens the branch may use; it may be fewer than were asked for.
    pub budget_tokens: u64,
    /// What the branch's thread begins with.
    #[serde(default)]
    pub isolation: Isolation,
    /// The memories that the branch is given, as one quoted text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub injected_context: Option<String>,
    /// How long the branch may stay open, in seconds.
    pub timeout_s: u64,
    /// When the branch was opened, in milliseconds since 1970.
    pub opened_at_ms: u64,
    /// When the branch's time is over, in milliseconds since 1970.
    pub deadline_ms: u64,
    /// Sentences about wishes that were not met, such as a capped budget.
    pub notes: Vec<String>,
    /// The tokens and branches of the session, after the opening.
    pub state: ContextState,
    /// How full the main thread is.
    pub health: ContextHealth,
    /// Branches that were cut short since the opener's last answer.
    pub notices: Vec<Notice>,
}

/// The answer to a return: a branch that folded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Folded {
    /// The session that the branch is in.
    pub session_id: SessionId,
    /// The branch that returned.
    pub branch_id: BranchId,
    /// The thread that gets the message.
    pub parent: Thread,
    /// Whether the branch completed or reported a failure.
    pub status: Status,
    /// When the branch folded, in milliseconds since 1970.
    pub folded_at_ms: u64,
    /// The message that the parent gets, scrubbed.
    pub message: String,
    /// How many tokens the branch used.
    pub tokens_used: u64,
    /// How many tokens folding leaves out of the parent's thread.
    pub tokens_saved: u64,
    /// How many calls were counted in the branch.
    pub operations: u64,
    /// How many secrets were taken out of the message.
    pub secrets_scrubbed: u32,
    /// How many of the branch's lessons were kept to be learnt from.
    #[serde(default)]
    pub lessons_kept: u64,
    /// Whether the message consists of nothing but placeholders.
    pub summary_redacted: bool,
    /// Branches below this one that were folded with it, deepest first.
    pub folded_with_it: Vec<BranchId>,
    /// The tokens and branches of the session, after the fold.
    pub state: ContextState,
    /// How full the main thread is.
    pub health: ContextHealth,
    /// Branches that were cut short since the parent's last answer.
    pub notices: Vec<Notice>,
}

/// A branch in its current state.
#[derive(Debug, Clone, PartialEq)]
pub struct BranchView {
    /// The session that the branch is in.
    pub session_id: SessionId,
    /// The branch, as the log makes it.
    pub branch: Branch,
    /// What the branch gave its parent. `None` while it is open, and for askers who may not know: only the main thread
    /// and threads that the branch lies in may.
    pub result: Option<String>,
}

/// What was answered to a thread that asked for space.
#[derive(Debug, Clone, PartialEq)]
pub struct Lightened {
    /// The thread's last prompt; `None` if infold has seen none.
    pub before: Option<PromptSize>,
    /// An estimate of the same prompt when older results have left it.
    pub after: Option<PromptSize>,
    /// What will be done with the next request.
    pub plan: LighteningPlan,
    /// The session's tokens and branches; `None` if nothing of it is stored.
    pub state: Option<ContextState>,
}

/// How long a prompt is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PromptSize {
    /// Tokens, by infold's count or the provider's.
    pub tokens: u64,
    /// Messages; `None` if only the record of the request is left.
    pub messages: Option<u64>,
}

/// What is done with the next request of a thread that asked for space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LighteningPlan {
    /// References replace older results.
    Offload {
        /// Whether there is reasoning that will not be sent any more.
        drops_reasoning: bool,
    },
    /// There is nothing to offload that would be worth it.
    Nothing,
    /// infold does not forward the session's requests, so it cannot shorten them.
    NotProxied,
}

/// A session in its current state, with the branches that were asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionView {
    /// The session, as its log makes it.
    pub session: infold_core::Session,
    /// The session's tokens and branches, summed up.
    pub state: ContextState,
    /// How full the main thread is.
    pub health: ContextHealth,
    /// The window that usage is measured against, in tokens.
    pub context_limit_tokens: u64,
}

impl SessionView {
    /// The loaded branches in the order in which they were opened. Discarded ones are among them.
    pub fn branches(&self) -> Vec<&Branch> {
        let mut branches: Vec<&Branch> = self.session.branches.values().collect();
        branches.sort_by_key(|branch| branch.ordinal);
        branches
    }
}

/// What a rollback did, or would do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RolledBack {
    /// The session that was rolled back.
    pub session_id: SessionId,
    /// The branch that is active again.
    pub to: BranchId,
    /// Which opening of the branch this is.
    pub generation: u32,
    /// Branches that no longer count, in the order in which they were opened.
    pub discarded: Vec<BranchId>,
    /// How many tokens were used in the discarded branches.
    pub tokens_recovered: u64,
    /// The tokens and branches of the session, after the rollback.
    pub state: ContextState,
    /// Branches that were cut short since the asker's last answer.
    pub notices: Vec<Notice>,
}

/// The answer to ending a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionEnded {
    /// The session that ended.
    pub session_id: SessionId,
    /// Branches that were folded because the session ended, in that order.
    pub folded: Vec<BranchId>,
    /// Branches that were still open when the time for ending was over.
    pub failed: Vec<BranchId>,
    /// When the session ended, in milliseconds since 1970.
    pub ended_at_ms: u64,
    /// The tokens and branches of the session, at its end.
    pub state: ContextState,
    /// Branches that were cut short since the main thread's last answer.
    pub notices: Vec<Notice>,
}

/// The answer to a fork.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Forked {
    /// The new session's name.
    pub session_id: SessionId,
    /// The session that it was forked from; `None` if the caller handed in a transcript and named no session.
    pub parent: Option<SessionId>,
    /// When the fork was made, in milliseconds since 1970.
    pub forked_at_ms: u64,
    /// How the context's characters were divided.
    pub profile: Profile,
    /// A text for the child that says what was done to the transcript.
    pub preamble: String,
    /// The handle by which the child reads its context.
    pub ref_id: BlobId,
    /// How long the context is, in characters.
    pub chars: u64,
    /// How long the context is, in tokens.
    pub tokens: u64,
    /// What was done to make the transcript fit.
    pub stats: ProcessingStats,
    /// The child's tokens and branches: nothing has happened in it yet.
    pub state: ContextState,
}

/// A session that began as a fork, with the texts that it began with.
#[derive(Debug, Clone, PartialEq)]
pub struct ForkView {
    /// What the fork was answered.
    pub forked: Forked,
    /// The whole context, not only a part of it.
    pub context: String,
    /// What the child was asked to do, if its caller said so.
    pub prompt: Option<String>,
}

/// How far the ending of a session has got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndProgress {
    /// How many branches have been folded so far.
    pub folded: u64,
    /// How many branches were open at the beginning.
    pub total: u64,
}

/// What to do with an item that a surface was about to show.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Verdict {
    /// The item is to be shown.
    Show,
    /// The item did not fit its branch's budget. The branch has folded, and this notice goes to its parent.
    Withheld(Notice),
}

/// The answer to counting an item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Observed {
    /// Whether the item may be shown.
    pub verdict: Verdict,
    /// How many tokens the item was counted with.
    pub tokens: u64,
    /// The tokens and branches of the session, after counting.
    pub state: ContextState,
    /// Branches that were cut short since the asker's last answer.
    pub notices: Vec<Notice>,
}

/// The answer to handing in a result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResultRecorded {
    /// What to show in the result's place: the scrubbed result, or a reference to it. `None` if its branch folded
    /// because of it.
    pub shown: Option<String>,
    /// The handle of the whole result, if it was offloaded.
    pub ref_id: Option<BlobId>,
    /// How many tokens were counted.
    pub tokens: u64,
    /// How many secrets were taken out of the result.
    pub secrets_scrubbed: u32,
    /// The branch that folded because of the result, and what its parent gets.
    pub folded: Option<Notice>,
    /// The tokens and branches of the session, after counting.
    pub state: ContextState,
}

/// A part of an offloaded result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultPart {
    /// The session that the result belongs to.
    pub session_id: SessionId,
    /// The handle by which the result is read.
    pub ref_id: BlobId,
    /// The name of the tool that gave the result.
    pub tool_name: String,
    /// How long the whole result is, in bytes.
    pub total_bytes: usize,
    /// How many lines the whole result has.
    pub total_lines: usize,
    /// The text of this part.
    pub content: String,
    /// Where the part begins: a byte, or a line if lines were asked for.
    pub offset: usize,
    /// Where the next part begins; `None` if this was the last.
    pub next_offset: Option<usize>,
    /// A sentence that says that a pattern matched no line, and what to try; `None` if it matched.
    pub no_match: Option<String>,
}

/// Memories that a search found, the best first.
#[derive(Debug, Clone)]
pub struct FoundNotes {
    /// The memories.
    pub memories: Vec<FoundMemory>,
    /// The same as one quoted text; `None` if there are none.
    pub context: Option<String>,
}

/// What became of a lesson that an agent wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemoryRecorded {
    /// It is kept.
    Kept {
        /// The memory that has it.
        id: MemoryId,
        /// What the memory is now.
        state: &'static str,
        /// Whether there was one before that says the same.
        is_merged: bool,
    },
    /// It is not kept, because a rule file says it already.
    SaidBy {
        /// The rule file.
        file: String,
    },
}
