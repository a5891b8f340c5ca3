//! The tools: one file each, with what it says of itself and what it does. This file is the table.

mod branch_create;
mod branch_return;
mod branch_status;
mod context_branch;
mod context_branch_status;
mod context_fork;
mod context_list_branches;
mod context_return;
mod context_rollback;
mod read_result;
mod reading;
mod schema;
mod session_end;

use infold_core::Limits;
use rmcp::model::{JsonObject, Tool};

use crate::answer::Answer;
use crate::arguments::Arguments;
use crate::call::Call;
use crate::refused::Refused;
use crate::settings::{SessionFrom, ToolFamily};

/// What need not be said where the proxy sees the call, or is better left to settings there: every word is
/// paid for in every request. It is taken all the same.
const LEFT_OUT_BEHIND_THE_PROXY: [&str; 6] =
    ["session_id", "project_path", "parent_branch_id", "idempotency_key", "timeout_seconds", "isolation"];
/// What may be left out there: a branch returns from itself.
const OPTIONAL_BEHIND_THE_PROXY: [&str; 1] = ["branch_id"];

/// A tool of infold's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OurTool {
    BranchCreate,
    BranchReturn,
    BranchStatus,
    ContextBranch,
    ContextReturn,
    ContextBranchStatus,
    ContextListBranches,
    ContextRollback,
    ContextFork,
    SessionEnd,
    ReadResult,
}

impl OurTool {
    /// Every tool, in the order in which they are listed.
    pub(crate) const ALL: [Self; 11] = [
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

    /// The tool that is called `name`.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// The tool's name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::BranchCreate => "branch_create",
            Self::BranchReturn => "branch_return",
            Self::BranchStatus => "branch_status",
            Self::ContextBranch => "context_branch",
            Self::ContextReturn => "context_return",
            Self::ContextBranchStatus => "context_branch_status",
            Self::ContextListBranches => "context_list_branches",
            Self::ContextRollback => "context_rollback",
            Self::ContextFork => "context_fork",
            Self::SessionEnd => "session_end",
            Self::ReadResult => "read_result",
        }
    }

    /// Whether it is listed when settings name `families`. A reader of stored results always is: a
    /// handle may only be shown where it can be read.
    pub(crate) fn is_listed(self, families: &[ToolFamily]) -> bool {
        match self {
            Self::BranchCreate | Self::BranchReturn => {
                families.contains(&ToolFamily::Branch) || families.contains(&ToolFamily::Lean)
            }
            Self::BranchStatus => families.contains(&ToolFamily::Branch),
            Self::ContextBranch
            | Self::ContextReturn
            | Self::ContextBranchStatus
            | Self::ContextListBranches
            | Self::ContextRollback
            | Self::ContextFork
            | Self::SessionEnd => families.contains(&ToolFamily::Context),
            Self::ReadResult => true,
        }
    }

    /// Whether its refusals follow the `context_*` document.
    pub(crate) fn speaks_context(self) -> bool {
        self.name().starts_with("context_")
    }

    /// What the tool says of itself, under the bounds in force.
    pub(crate) fn definition(self, limits: &Limits) -> Tool {
        match self {
            Self::BranchCreate => branch_create::definition(limits),
            Self::BranchReturn => branch_return::definition(),
            Self::BranchStatus => branch_status::definition(),
            Self::ContextBranch => context_branch::definition(),
            Self::ContextReturn => context_return::definition(),
            Self::ContextBranchStatus => context_branch_status::definition(),
            Self::ContextListBranches => context_list_branches::definition(),
            Self::ContextRollback => context_rollback::definition(),
            Self::ContextFork => context_fork::definition(),
            Self::SessionEnd => session_end::definition(),
            Self::ReadResult => read_result::definition(),
        }
    }

    /// The tool as it is listed: without what the proxy knows better, where it says which session is meant.
    pub(crate) fn listed(self, limits: &Limits, session_from: SessionFrom) -> Tool {
        let tool = self.definition(limits);
        match session_from {
            SessionFrom::Caller => tool,
            SessionFrom::Proxy => schema::without(tool, &LEFT_OUT_BEHIND_THE_PROXY, &OPTIONAL_BEHIND_THE_PROXY),
        }
    }

    /// Does what the tool is for.
    pub(crate) async fn run(
        self,
        call: &Call,
        definition: &Tool,
        given: Option<JsonObject>,
    ) -> Result<Answer, Refused> {
        let mut arguments = Arguments::new(definition, given)?;
        match self {
            Self::BranchCreate => branch_create::run(call, &mut arguments).await,
            Self::BranchReturn => branch_return::run(call, &mut arguments).await,
            Self::BranchStatus => branch_status::run(call, &mut arguments).await,
            Self::ContextBranch => context_branch::run(call, &mut arguments).await,
            Self::ContextReturn => context_return::run(call, &mut arguments).await,
            Self::ContextBranchStatus => context_branch_status::run(call, &mut arguments).await,
            Self::ContextListBranches => context_list_branches::run(call, &mut arguments).await,
            Self::ContextRollback => context_rollback::run(call, &mut arguments).await,
            Self::ContextFork => context_fork::run(call, &mut arguments).await,
            Self::SessionEnd => session_end::run(call, &mut arguments).await,
            Self::ReadResult => read_result::run(call, &mut arguments).await,
        }
    }
}

#[cfg(test)]
mod tests;
