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

use infold_core::{Limits, OwnTool};
use rmcp::model::{JsonObject, Tool};

use crate::answer::ToolAnswer;
use crate::arguments::Arguments;
use crate::call::ToolCall;
use crate::refused::ToolRefused;
use crate::settings::{SessionFrom, ToolFamily};

/// What need not be said where the proxy sees the call, or is better left to settings there: every word is
/// paid for in every request. It is taken all the same.
const LEFT_OUT_BEHIND_THE_PROXY: [&str; 6] =
    ["session_id", "project_path", "parent_branch_id", "idempotency_key", "timeout_seconds", "isolation"];
/// What may be left out there: a branch returns from itself.
const OPTIONAL_BEHIND_THE_PROXY: [&str; 1] = ["branch_id"];

/// Whether it is listed when settings name `families`. A reader of stored results always is: a
/// handle may only be shown where it can be read.
pub(crate) fn is_listed(tool: OwnTool, families: &[ToolFamily]) -> bool {
    match tool {
        OwnTool::BranchCreate | OwnTool::BranchReturn => {
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
        OwnTool::ReadResult => true,
    }
}

/// Whether its refusals follow the `context_*` document.
pub(crate) fn speaks_context(tool: OwnTool) -> bool {
    tool.name().starts_with("context_")
}

/// What the tool says of itself, under the bounds in force.
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
        OwnTool::ReadResult => read_result::definition(),
    }
}

/// The tool as it is listed: without what the proxy knows better, where it says which session is meant.
pub(crate) fn listed(tool: OwnTool, limits: &Limits, session_from: SessionFrom) -> Tool {
    let tool = definition(tool, limits);
    match session_from {
        SessionFrom::Caller => tool,
        SessionFrom::Proxy => schema::without(tool, &LEFT_OUT_BEHIND_THE_PROXY, &OPTIONAL_BEHIND_THE_PROXY),
    }
}

/// Does what the tool is for.
pub(crate) async fn run(
    tool: OwnTool,
    call: &ToolCall,
    definition: &Tool,
    given: Option<JsonObject>,
) -> Result<ToolAnswer, ToolRefused> {
    let mut arguments = Arguments::new(definition, given)?;
    match tool {
        OwnTool::BranchCreate => branch_create::run(call, &mut arguments).await,
        OwnTool::BranchReturn => branch_return::run(call, &mut arguments).await,
        OwnTool::BranchStatus => branch_status::run(call, &mut arguments).await,
        OwnTool::ContextBranch => context_branch::run(call, &mut arguments).await,
        OwnTool::ContextReturn => context_return::run(call, &mut arguments).await,
        OwnTool::ContextBranchStatus => context_branch_status::run(call, &mut arguments).await,
        OwnTool::ContextListBranches => context_list_branches::run(call, &mut arguments).await,
        OwnTool::ContextRollback => context_rollback::run(call, &mut arguments).await,
        OwnTool::ContextFork => context_fork::run(call, &mut arguments).await,
        OwnTool::SessionEnd => session_end::run(call, &mut arguments).await,
        OwnTool::ReadResult => read_result::run(call, &mut arguments).await,
    }
}

#[cfg(test)]
mod tests;
