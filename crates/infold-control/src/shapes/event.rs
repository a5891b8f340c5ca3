//! JSON of what happened to a session, for the event stream and the archive.

use infold_core::{Event, Opening, Operation, Origin, Scrubbed};
use schemars::JsonSchema;
use serde::Serialize;

use super::branch::Status;
use super::{branch_of, texts};
use crate::moment::Moment;

/// One thing that happened to a session; `type` says what.
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
        /// The handle under which its context can be read.
        ref_id: String,
        /// How many characters the context has.
        chars: u64,
        /// How many tokens the context has.
        tokens: u64,
        /// What the new session is asked to do; null if nobody said.
        prompt: Option<String>,
    },
    /// A branch was recorded.
    #[serde(rename = "branch.created")]
    BranchCreated {
        /// The branch's id: `br_` and a uuid.
        branch_id: String,
        /// The branch that opened it; null is the main thread.
        parent_branch_id: Option<String>,
        /// How deeply the branch is nested; a branch of the main thread has depth 1.
        depth: u32,
        /// What the branch is for, in a line.
        description: String,
        /// What the branch was asked to do; null if it has only a description.
        prompt: Option<String>,
        /// The branch's whole budget, in tokens.
        budget_total: u64,
        /// The time that the branch has from its start, in seconds.
        timeout_seconds: u64,
        /// Tokens of its description and prompt.
        tokens: u64,
    },
    /// A branch is ready for work.
    #[serde(rename = "branch.activated")]
    BranchActivated {
        /// The branch that is ready.
        branch_id: String,
    },
    /// A call and its result were seen.
    #[serde(rename = "operation.completed")]
    OperationCompleted {
        /// The branch they were seen in; null is the main thread.
        branch_id: Option<String>,
        /// The tool's name, as the client calls it.
        tool_name: String,
        /// The client's id for the call, if it sent one.
        call_id: Option<String>,
        /// The call's arguments, as JSON text.
        arguments: String,
        /// What the caller was shown of the result.
        result: String,
        /// The handle under which the whole result can be read; null if it was not offloaded.
        ref_id: Option<String>,
        /// Tokens of the call and of what was shown of its result.
        tokens: u64,
    },
    /// The agent of a branch has said something.
    #[serde(rename = "branch.said")]
    BranchSaid {
        /// The branch whose agent spoke.
        branch_id: String,
        /// The last part of the words.
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
        /// The branch that has used most of its budget.
        branch_id: String,
        /// How many tokens of its budget it has used.
        budget_used: u64,
        /// The branch's whole budget, in tokens.
        budget_total: u64,
    },
    /// A branch has no budget left.
    #[serde(rename = "budget.exhausted")]
    BudgetExhausted {
        /// The branch whose budget is used up.
        branch_id: String,
        /// How many tokens of its budget it had used.
        budget_used: u64,
        /// The branch's whole budget, in tokens.
        budget_total: u64,
        /// Tokens of the item that did not fit and was not shown.
        overrun_tokens: u64,
        /// The handle under which that item can be read; null if it was not stored.
        ref_id: Option<String>,
    },
    /// A branch ended.
    #[serde(rename = "branch.folded")]
    BranchFolded {
        /// The branch that ended.
        branch_id: String,
        /// Which opening of the branch, counted from 1.
        generation: u32,
        /// The state in which it ended.
        status: Status,
        /// Why it ended, in words.
        reason: &'static str,
        /// The message that its parent gets.
        message: String,
        /// Tokens by which the message makes the parent's thread longer.
        message_tokens: u64,
    },
    /// A branch that had been folded by force returned before its parent had learnt of the fold.
    #[serde(rename = "branch.amended")]
    BranchAmended {
        /// The branch that returned late.
        branch_id: String,
        /// Which opening of the branch, counted from 1.
        generation: u32,
        /// The message that its parent gets in place of the partial result.
        message: String,
        /// Tokens by which the message makes the parent's thread longer.
        message_tokens: u64,
    },
    /// The session went back to a branch.
    #[serde(rename = "session.rolled_back")]
    RolledBack {
        /// The branch that is active again.
        rolled_back_to: String,
        /// Ended branches that are open again, outermost first.
        branches_reopened: Vec<String>,
        /// Branches that no longer count, in the order they were opened.
        branches_discarded: Vec<String>,
    },
    /// The parents of branches that were folded by force have been notified.
    #[serde(rename = "session.parents_told")]
    EndsReported {
        /// The branches that their parents now know to be folded.
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
            Event::EndsReported { branches } => Self::EndsReported { branch_ids: texts(branches) },
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
    /// When it was recorded.
    pub(crate) at: Moment,
    /// The event, with the fields of its type.
    pub(crate) event: EventBody,
}

#[cfg(test)]
mod tests;
