//! infold's own tools: their names, how clients spell them, and what each does to a session.
//!
//! A name proves nothing, because any tool may have it. Whether a branch was opened is read from the id in the answer
//! (`view/answers.rs`).

/// A tool of infold's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnTool {
    /// Opens a branch under the active thread or a named one.
    BranchCreate,
    /// Folds a branch and gives its message to the parent.
    BranchReturn,
    /// Reports a branch's budget, time and result.
    BranchStatus,
    /// Reads part of an offloaded result.
    ReadResult,
    /// Asks that older results leave the thread's prompt.
    CompactContext,
    /// Opens a branch; like `branch_create`, with the arguments of the `context_*` family.
    ContextBranch,
    /// Folds a branch; like `branch_return`.
    ContextReturn,
    /// Reports on a branch; like `branch_status`.
    ContextBranchStatus,
    /// Lists the branches of a session.
    ContextListBranches,
    /// Rolls back to a branch: opens it again and discards what came later.
    ContextRollback,
    /// Starts a session from another's transcript.
    ContextFork,
    /// Ends a session and folds what is open in it.
    SessionEnd,
    /// Finds memories of earlier work.
    MemorySearch,
    /// Keeps a lesson.
    MemoryRecord,
    /// Takes back whether a memory helped.
    MemoryFeedback,
}

/// What one of infold's tools does to a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolEffect {
    /// Opens a branch; its answer carries the branch's id.
    Open,
    /// Folds a branch: its work leaves the prompt.
    Return,
    /// Goes back to a branch and discards what came later.
    RollBack,
    /// Reads part of an offloaded result; the session's tree stays as it is.
    Read,
    /// Changes no branch in the transcript: asks about the session, lightens, forks or ends it.
    Ask,
}

impl OwnTool {
    /// Every tool, in the order in which they are listed.
    pub const ALL: [Self; 15] = [
        Self::BranchCreate,
        Self::BranchReturn,
        Self::BranchStatus,
        Self::ReadResult,
        Self::CompactContext,
        Self::ContextBranch,
        Self::ContextReturn,
        Self::ContextBranchStatus,
        Self::ContextListBranches,
        Self::ContextRollback,
        Self::ContextFork,
        Self::SessionEnd,
        Self::MemorySearch,
        Self::MemoryRecord,
        Self::MemoryFeedback,
    ];

    /// Its name in infold's own list of tools; clients may put a prefix before it.
    pub fn name(self) -> &'static str {
        match self {
            Self::BranchCreate => "branch_create",
            Self::BranchReturn => "branch_return",
            Self::BranchStatus => "branch_status",
            Self::ReadResult => "read_result",
            Self::CompactContext => "compact_context",
            Self::ContextBranch => "context_branch",
            Self::ContextReturn => "context_return",
            Self::ContextBranchStatus => "context_branch_status",
            Self::ContextListBranches => "context_list_branches",
            Self::ContextRollback => "context_rollback",
            Self::ContextFork => "context_fork",
            Self::SessionEnd => "session_end",
            Self::MemorySearch => "memory_search",
            Self::MemoryRecord => "memory_record",
            Self::MemoryFeedback => "memory_feedback",
        }
    }

    /// What a call of the tool does to the session's tree.
    pub fn effect(self) -> ToolEffect {
        match self {
            Self::BranchCreate | Self::ContextBranch => ToolEffect::Open,
            Self::BranchReturn | Self::ContextReturn => ToolEffect::Return,
            Self::ContextRollback => ToolEffect::RollBack,
            Self::ReadResult => ToolEffect::Read,
            Self::BranchStatus
            | Self::CompactContext
            | Self::ContextBranchStatus
            | Self::ContextListBranches
            | Self::ContextFork
            | Self::SessionEnd
            | Self::MemorySearch
            | Self::MemoryRecord
            | Self::MemoryFeedback => ToolEffect::Ask,
        }
    }

    /// The tool of exactly this name; `None` if infold has no such tool.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// The tool that a client spells like this, with or without a prefix of its own.
    pub fn spelled(tool: &str) -> Option<Self> {
        // One name may end with another, as `context_branch_status` does with `branch_status`: the longer one counts.
        Self::ALL.into_iter().filter(|own| own.is_spelled(tool)).max_by_key(|own| own.name().len())
    }

    /// Whether this spelling of a client's is this tool: its name, or a prefix, a separator and its name. Many servers
    /// have tools about memories or contexts, so the prefix of these has to name infold.
    pub fn is_spelled(self, tool: &str) -> bool {
        let separators = ['_', '.', '/', '-', ':'];
        let Some(prefix) = tool.strip_suffix(self.name()) else { return false };
        let is_shared =
            matches!(self, Self::MemorySearch | Self::MemoryRecord | Self::MemoryFeedback | Self::CompactContext);
        let names_infold = || prefix.trim_end_matches(separators).ends_with("infold");
        prefix.is_empty() || prefix.ends_with(separators) && (!is_shared || names_infold())
    }

    /// The name of the tool that folds a branch which the tool `opening` opened, with the same client's prefix.
    pub fn return_tool(opening: &str) -> String {
        let spelled = |opens: Self, returns: Self| {
            opening.strip_suffix(opens.name()).map(|prefix| format!("{prefix}{}", returns.name()))
        };
        spelled(Self::BranchCreate, Self::BranchReturn)
            .or_else(|| spelled(Self::ContextBranch, Self::ContextReturn))
            .unwrap_or_else(|| Self::BranchReturn.name().to_owned())
    }
}

impl ToolEffect {
    /// What a tool that a client spells like this does; `None` if it is not one of infold's.
    pub fn of(tool: &str) -> Option<Self> {
        OwnTool::spelled(tool).map(OwnTool::effect)
    }

    /// Whether it opens, folds or discards branches.
    pub fn changes_tree(self) -> bool {
        match self {
            Self::Open | Self::Return | Self::RollBack => true,
            Self::Read | Self::Ask => false,
        }
    }
}
