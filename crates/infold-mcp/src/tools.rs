//! The table of tools. Each tool has a file with its definition, which clients list, and with what a call does.

pub(crate) mod branch_create;
pub(crate) mod branch_return;
pub(crate) mod branch_status;
pub(crate) mod compact_context;
pub(crate) mod context_branch;
pub(crate) mod context_branch_status;
pub(crate) mod context_fork;
pub(crate) mod context_list_branches;
pub(crate) mod context_return;
pub(crate) mod context_rollback;
pub(crate) mod memory_feedback;
pub(crate) mod memory_record;
pub(crate) mod memory_search;
mod opening;
pub(crate) mod read_result;
mod reading;
mod schema;
pub(crate) mod session_end;
mod teaching;

use infold_core::{Limits, OwnTool};
use rmcp::model::Tool;

use crate::settings::{SessionFrom, ToolFamily};

/// Arguments that are not listed behind the proxy, because the proxy knows them or settings decide them: every
/// word of a definition is paid for in every request. A call may pass them all the same.
const LEFT_OUT_BEHIND_THE_PROXY: [&str; 8] = [
    "session_id",
    "project_path",
    "parent_branch_id",
    "idempotency_key",
    "timeout_seconds",
    "isolation",
    "inject_memories",
    "extract_memory",
];
/// Arguments that are optional behind the proxy: without `branch_id`, the branch that makes the call returns.
const OPTIONAL_BEHIND_THE_PROXY: [&str; 1] = ["branch_id"];

/// Whether a tool is listed when settings name `families`. `read_result` always is, because a handle may only be
/// shown where it can be read.
pub(crate) fn is_listed(tool: OwnTool, families: &[ToolFamily]) -> bool {
    match tool {
        OwnTool::BranchCreate | OwnTool::BranchReturn | OwnTool::CompactContext => {
            families.contains(&ToolFamily::Branch) || families.contains(&ToolFamily::Lean)
        }
        OwnTool::BranchStatus => families.contains(&ToolFamily::Branch),
        OwnTool::ContextBranch
        | OwnTool::ContextReturn
        | OwnTool::ContextBranchStatus
        | OwnTool::ContextListBranches
        | OwnTool::ContextRollback
        | OwnTool::ContextFork
        | OwnTool::SessionEnd => families.contains(&ToolFamily::Context),
        OwnTool::MemorySearch | OwnTool::MemoryRecord | OwnTool::MemoryFeedback => {
            families.contains(&ToolFamily::Memory)
        }
        OwnTool::ReadResult => true,
    }
}

/// Whether a tool's refusals follow the `context_*` document.
pub(crate) fn speaks_context(tool: OwnTool) -> bool {
    tool.name().starts_with("context_")
}

/// A tool's whole definition, with the bounds in force in its descriptions.
pub(crate) fn definition(tool: OwnTool, limits: &Limits) -> Tool {
    match tool {
        OwnTool::BranchCreate => branch_create::definition(limits),
        OwnTool::BranchReturn => branch_return::definition(),
        OwnTool::BranchStatus => branch_status::definition(),
        OwnTool::ContextBranch => context_branch::definition(),
        OwnTool::ContextReturn => context_return::definition(),
        OwnTool::ContextBranchStatus => context_branch_status::definition(),
        OwnTool::ContextListBranches => context_list_branches::definition(),
        OwnTool::ContextRollback => context_rollback::definition(),
        OwnTool::ContextFork => context_fork::definition(),
        OwnTool::SessionEnd => session_end::definition(),
        OwnTool::MemorySearch => memory_search::definition(),
        OwnTool::MemoryRecord => memory_record::definition(),
        OwnTool::MemoryFeedback => memory_feedback::definition(),
        OwnTool::ReadResult => read_result::definition(),
        OwnTool::CompactContext => compact_context::definition(),
    }
}

/// A tool's definition as `tools/list` shows it. Behind the proxy it lacks the arguments that the proxy knows.
pub(crate) fn listed(tool: OwnTool, limits: &Limits, session_from: SessionFrom) -> Tool {
    let tool = definition(tool, limits);
    match session_from {
        SessionFrom::Caller => tool,
        SessionFrom::Proxy => schema::without(tool, &LEFT_OUT_BEHIND_THE_PROXY, &OPTIONAL_BEHIND_THE_PROXY),
    }
}

#[cfg(test)]
mod tests;
