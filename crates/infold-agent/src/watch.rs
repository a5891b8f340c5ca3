//! What whoever watches an agent learns, while it happens. A face shows it; nothing is decided by it.

use std::sync::Arc;

use infold_core::Thread;
use infold_core::compaction::CompactResult;
use infold_core::record::Usage;
use serde::Serialize;

use crate::tools::FileTexts;

/// Who learns it.
pub type Watcher = Arc<dyn Fn(AgentEvent) + Send + Sync>;

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum AgentEvent {
    /// A run began or goes on.
    Started {
        /// The session.
        session_id: String,
        /// The model.
        model: String,
        /// The folder.
        folder: String,
        /// How commands are confined, in words.
        sandbox: String,
    },
    /// What a person said meanwhile was taken in: the model gets it with its next request.
    WaitingTaken,
    /// The next words of a model.
    Text {
        /// The thread.
        thread: Thread,
        /// The words.
        text: String,
    },
    /// A model could not be asked, or its answer broke off: it is asked again.
    Retrying {
        /// The thread.
        thread: Thread,
        /// Why, and when.
        message: String,
    },
    /// A model calls a tool.
    Call {
        /// The thread.
        thread: Thread,
        /// The id of the call.
        call_id: String,
        /// The tool.
        tool: String,
        /// What it is called with.
        arguments: serde_json::Value,
    },
    /// A tool gave a result.
    Result {
        /// The thread.
        thread: Thread,
        /// The id of the call.
        call_id: String,
        /// The tool.
        tool: String,
        /// Whether it failed.
        is_error: bool,
        /// What the model is shown.
        text: String,
        /// Files that it changed, before and after. Whoever reads events as JSON has the call for that.
        #[serde(skip)]
        edited: Vec<FileTexts>,
    },
    /// A model has answered.
    Answered {
        /// The thread.
        thread: Thread,
        /// What its provider reported.
        usage: Usage,
    },
    /// A branch works.
    BranchOpened {
        /// The branch.
        branch_id: String,
        /// The thread that opened it.
        parent: Thread,
        /// The id of the call that opened it.
        call_id: String,
        /// What it is for.
        description: String,
        /// The tokens that it may use.
        budget_tokens: u64,
    },
    /// A branch is over.
    BranchFolded {
        /// The branch.
        branch_id: String,
        /// How it ended.
        how: String,
        /// What its parent gets.
        result: String,
    },
    /// A thread was started anew.
    Compacted {
        /// The thread.
        thread: Thread,
        /// The figures.
        #[serde(flatten)]
        result: CompactResult,
        /// What was done, in words.
        receipt: String,
    },
    /// Something did not work as it should, and the run goes on.
    Warning {
        /// What, and what follows from it.
        message: String,
    },
}
