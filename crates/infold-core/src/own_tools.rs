//! infold's own tools: their names, how clients spell them, and what each does to a session.
//!
//! A name proves nothing: whether a branch was opened is told by the id in the answer (`view/answers.rs`).

/// A tool of infold's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnTool {
    /// Opens a branch.
    BranchCreate,
    /// Folds one.
    BranchReturn,
    /// Says how one is.
    BranchStatus,
    /// Reads part of a kept result.
    ReadResult,
    /// Opens a branch, as the `context_*` document has it.
    ContextBranch,
    /// Folds one.
    ContextReturn,
    /// Says how one is.
    ContextBranchStatus,
    /// Lists branches.
    ContextListBranches,
    /// Goes back to one.
    ContextRollback,
    /// Starts a session from another.
    ContextFork,
    /// Ends a session.
    SessionEnd,
}

/// What a tool of ours does to a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolEffect {
    /// Opens a branch.
    Open,
    /// Folds one.
    Return,
    /// Goes back to one.
    RollBack,
    /// Reads part of a kept result.
    Read,
    /// Asks about the session, or ends it.
    Ask,
}

impl OwnTool {
    /// Every tool, in the order in which they are listed.
    pub const ALL: [Self; 11] = [
        Self::BranchCreate,
        Self::BranchReturn,
        Self::BranchStatus,
        Self::ReadResult,
        Self::ContextBranch,
        Self::ContextReturn,
        Self::ContextBranchStatus,
        Self::ContextListBranches,
        Self::ContextRollback,
        Self::ContextFork,
        Self::SessionEnd,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::BranchCreate => "branch_create",
            Self::BranchReturn => "branch_return",
            Self::BranchStatus => "branch_status",
            Self::ReadResult => "read_result",
            Self::ContextBranch => "context_branch",
            Self::ContextReturn => "context_return",
            Self::ContextBranchStatus => "context_branch_status",
            Self::ContextListBranches => "context_list_branches",
            Self::ContextRollback => "context_rollback",
            Self::ContextFork => "context_fork",
            Self::SessionEnd => "session_end",
        }
    }

    /// What it does.
    pub fn effect(self) -> ToolEffect {
        match self {
            Self::BranchCreate | Self::ContextBranch => ToolEffect::Open,
            Self::BranchReturn | Self::ContextReturn => ToolEffect::Return,
            Self::ContextRollback => ToolEffect::RollBack,
            Self::ReadResult => ToolEffect::Read,
            Self::BranchStatus
            | Self::ContextBranchStatus
            | Self::ContextListBranches
            | Self::ContextFork
            | Self::SessionEnd => ToolEffect::Ask,
        }
    }

    /// The tool that is called `name`.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// The tool that a client spells like this, with or without a prefix of its own.
    pub fn spelled(tool: &str) -> Option<Self> {
        // One name may end with another: the longer one is meant.
        Self::ALL.into_iter().filter(|own| own.is_spelled(tool)).max_by_key(|own| own.name().len())
    }

    /// Whether a client that spells a tool like this means this one.
    pub fn is_spelled(self, tool: &str) -> bool {
        let prefix = tool.strip_suffix(self.name());
        prefix.is_some_and(|prefix| prefix.is_empty() || prefix.ends_with(['_', '.', '/', '-', ':']))
    }

    /// The tool that folds what `opening` opened, spelled as this client spells ours.
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
    /// What a tool does that a client spells like this, if it is one of ours.
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
