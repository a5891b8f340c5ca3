//! What happened to a session, as the feed and the archive tell it.

use infold_core::{Event, Opening, Operation, Origin, Scrubbed};
use schemars::JsonSchema;
use serde::Serialize;

use super::branch::Status;
use super::{branch_of, texts};
use crate::moment::Moment;

/// What happened.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "type")]
pub(crate) enum EventBody {
    /// The session was used for the first time.
    #[serde(rename = "session.started")]
    SessionStarted {
        /// The hash of the project it belongs to; null if it was not named by one.
        project_hash: Option<String>,
    },
    /// The session began as a fork.
    #[serde(rename = "session.forked")]
    SessionForked {
        /// The session it was forked from; null if nobody said.
        parent_session_id: Option<String>,
        /// How the parent's transcript was made to fit.
        profile: String,
        /// Where its context is kept.
        ref_id: String,
        /// Characters of the context.
        chars: u64,
        /// Tokens of the context.
        tokens: u64,
        /// What it is asked to do; null if it was not said.
        prompt: Option<String>,
    },
    /// A branch was recorded.
    #[serde(rename = "branch.created")]
    BranchCreated {
        /// Its id.
        branch_id: String,
        /// The branch that opened it; null is the main thread.
        parent_branch_id: Option<String>,
        /// How deep it lies.
        depth: u32,
        /// What it is for.
        description: String,
        /// What it was asked to do.
        prompt: Option<String>,
        /// Tokens it may use.
        budget_total: u64,
        /// How long it may take.
        timeout_seconds: u64,
        /// Tokens of its description and prompt.
        tokens: u64,
    },
    /// A branch is ready for work.
    #[serde(rename = "branch.activated")]
    BranchActivated {
        /// The branch.
        branch_id: String,
    },
    /// A call and its result were seen.
    #[serde(rename = "operation.completed")]
    OperationCompleted {
        /// The branch they were seen in; null is the main thread.
        branch_id: Option<String>,
        /// The tool.
        tool_name: String,
        /// The client's id for the call, if it sent one.
        call_id: Option<String>,
        /// What it was called with, as JSON text.
        arguments: String,
        /// What the caller was shown of the result.
        result: String,
        /// Where the whole result is; null if it is not kept elsewhere.
        ref_id: Option<String>,
        /// Tokens of both.
        tokens: u64,
    },
    /// The agent of a branch has said something.
    #[serde(rename = "branch.said")]
    BranchSaid {
        /// The branch.
        branch_id: String,
        /// The end of it.
        words: String,
    },
    /// A model has answered a request of a thread.
    #[serde(rename = "request.completed")]
    RequestCompleted {
        /// The branch whose view was sent; null is the main thread.
        branch_id: Option<String>,
        /// Tokens of the prompt, as the provider counted them.
        prompt_tokens: u64,
        /// Of those, tokens that came from the provider's cache.
        cache_read_tokens: u64,
        /// Tokens of the answer.
        output_tokens: u64,
    },
    /// A branch has used 80 % of its budget.
    #[serde(rename = "budget.warning")]
    BudgetWarning {
        /// The branch.
        branch_id: String,
        /// What it has used, in tokens.
        budget_used: u64,
        /// What it may use.
        budget_total: u64,
    },
    /// A branch has no budget left.
    #[serde(rename = "budget.exhausted")]
    BudgetExhausted {
        /// The branch.
        branch_id: String,
        /// What it had used, in tokens.
        budget_used: u64,
        /// What it may use.
        budget_total: u64,
        /// Tokens of the item that did not fit and was not shown.
        overrun_tokens: u64,
        /// Where that item is kept; null if it is not.
        ref_id: Option<String>,
    },
    /// A branch ended.
    #[serde(rename = "branch.folded")]
    BranchFolded {
        /// The branch.
        branch_id: String,
        /// Which opening of it.
        generation: u32,
        /// How it ended.
        status: Status,
        /// Why.
        reason: &'static str,
        /// What its parent gets.
        message: String,
        /// By how much the parent's thread grows.
        message_tokens: u64,
    },
    /// A branch that had been cut short returned before its parent was told.
    #[serde(rename = "branch.amended")]
    BranchAmended {
        /// The branch.
        branch_id: String,
        /// Which opening of it.
        generation: u32,
        /// What its parent gets instead.
        message: String,
        /// By how much the parent's thread grows.
        message_tokens: u64,
    },
    /// The session went back to a branch.
    #[serde(rename = "session.rolled_back")]
    RolledBack {
        /// The branch.
        rolled_back_to: String,
        /// Ended branches that are open again, outermost first.
        branches_reopened: Vec<String>,
        /// Branches that no longer count, in the order they were opened.
        branches_discarded: Vec<String>,
    },
    /// The parents of branches that were cut short have been told so.
    #[serde(rename = "session.parents_told")]
    ParentsTold {
        /// The branches.
        branch_ids: Vec<String>,
    },
    /// The session is over.
    #[serde(rename = "session.ended")]
    SessionEnded {},
}

impl From<&Event> for EventBody {
    fn from(event: &Event) -> Self {
        match event {
            Event::SessionStarted { project } => {
                Self::SessionStarted { project_hash: project.as_ref().map(|project| project.as_str().to_owned()) }
            }
            Event::SessionForked { origin, prompt } => forked(origin, prompt.as_ref()),
            Event::BranchOpened(opening) => created(opening),
            Event::BranchActivated { branch } => Self::BranchActivated { branch_id: branch.to_string() },
            Event::OperationSeen { thread, operation } => completed(branch_of(thread), operation),
            Event::Said { branch, words } => Self::BranchSaid { branch_id: branch.to_string(), words: text(words) },
            Event::Answered { thread, prompt_tokens, cache_read_tokens, output_tokens } => Self::RequestCompleted {
                branch_id: branch_of(thread),
                prompt_tokens: *prompt_tokens,
                cache_read_tokens: *cache_read_tokens,
                output_tokens: *output_tokens,
            },
            Event::BudgetWarning { branch, used_tokens, budget_tokens } => Self::BudgetWarning {
                branch_id: branch.to_string(),
                budget_used: *used_tokens,
                budget_total: *budget_tokens,
            },
            Event::BudgetExhausted { branch, used_tokens, overrun_tokens, blob, budget_tokens } => {
                Self::BudgetExhausted {
                    branch_id: branch.to_string(),
                    budget_used: *used_tokens,
                    budget_total: *budget_tokens,
                    overrun_tokens: *overrun_tokens,
                    ref_id: blob.as_ref().map(ToString::to_string),
                }
            }
            Event::BranchEnded { branch, generation, reason, result, result_tokens } => Self::BranchFolded {
                branch_id: branch.to_string(),
                generation: *generation,
                status: reason.status().into(),
                reason: reason.as_str(),
                message: result.as_str().to_owned(),
                message_tokens: *result_tokens,
            },
            Event::ResultAmended { branch, generation, result, result_tokens } => Self::BranchAmended {
                branch_id: branch.to_string(),
                generation: *generation,
                message: result.as_str().to_owned(),
                message_tokens: *result_tokens,
            },
            Event::RolledBack { to, reopened, discarded } => Self::RolledBack {
                rolled_back_to: to.to_string(),
                branches_reopened: texts(reopened),
                branches_discarded: texts(discarded),
            },
            Event::ParentsTold { branches } => Self::ParentsTold { branch_ids: texts(branches) },
            Event::SessionEnded {} => Self::SessionEnded {},
        }
    }
}

fn text(scrubbed: &Scrubbed) -> String {
    scrubbed.as_str().to_owned()
}

fn forked(origin: &Origin, prompt: Option<&Scrubbed>) -> EventBody {
    EventBody::SessionForked {
        parent_session_id: origin.parent.as_ref().map(ToString::to_string),
        profile: origin.profile.to_string(),
        ref_id: origin.blob.to_string(),
        chars: origin.chars,
        tokens: origin.tokens,
        prompt: prompt.map(|prompt| prompt.as_str().to_owned()),
    }
}

fn created(opening: &Opening) -> EventBody {
    EventBody::BranchCreated {
        branch_id: opening.branch.to_string(),
        parent_branch_id: branch_of(&opening.parent),
        depth: opening.depth,
        description: text(&opening.description),
        prompt: opening.prompt.as_ref().map(text),
        budget_total: opening.budget_tokens,
        timeout_seconds: opening.timeout_ms / 1_000,
        tokens: opening.brief_tokens,
    }
}

fn completed(branch_id: Option<String>, operation: &Operation) -> EventBody {
    EventBody::OperationCompleted {
        branch_id,
        tool_name: text(&operation.tool),
        call_id: operation.call_id.as_ref().map(|id| id.as_str().to_owned()),
        arguments: text(&operation.arguments),
        result: text(&operation.result),
        ref_id: operation.blob.as_ref().map(ToString::to_string),
        tokens: operation.tokens,
    }
}

/// An event with where and when it was recorded.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct EventRecord {
    /// Its place in the feed: a reader that sends it back goes on after it.
    pub(crate) id: u64,
    /// The session it happened to.
    pub(crate) session_id: String,
    /// When.
    pub(crate) at: Moment,
    /// What happened.
    pub(crate) event: EventBody,
}

#[cfg(test)]
mod tests;
