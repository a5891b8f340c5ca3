//! The agent's own tools: files, searches and commands, inside of a fence.
//!
//! A model's call is first read into a [`LocalCall`], then [`approval`] decides whether it may run, and then [`run`] does
//! it. Whatever a tool says is meant for a model: short, with line numbers, and never cut without a line that says what was
//! left out and how to read it.
//!
//! What must hold: no file outside of the [`fence`] is read or written, and no process outlives the command that started
//! it. Scrubbing what tools say is left to the caller.

pub mod approval;
mod arguments;
pub mod change;
mod definitions;
mod edit;
pub mod fence;
mod list;
mod output;
mod placeholders;
mod planned;
mod read;
pub mod sandbox;
mod search;
pub mod shell;
mod undo;
mod workplace;
mod write;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

pub use arguments::LocalCall;
pub use definitions::{LocalTool, ToolDefinition};
pub use output::{CommandRan, FileTexts, ToolOutput};
pub use undo::{UndoError, undo_all};
pub use workplace::{ToolLimits, Workplace};

/// Does what a call asks for. It is not asked again whether it may: that is [`approval::decide`]'s.
pub async fn run(call: LocalCall, workplace: &Arc<Workplace>, cancelled: &CancellationToken) -> ToolOutput {
    if let Some(why) = placeholders::refusal(&call, workplace.scrubber.as_ref()) {
        return ToolOutput::failed(why);
    }
    match call {
        LocalCall::Shell(call) => shell::run(&call, workplace, cancelled).await,
        call => {
            let (workplace, cancelled) = (Arc::clone(workplace), cancelled.clone());
            let done = tokio::task::spawn_blocking(move || with_files(&call, &workplace, &cancelled)).await;
            done.unwrap_or_else(|_| ToolOutput::failed("the tool broke off: this is a fault of infold's"))
        }
    }
}

/// What a call would change, if it is one that changes a file.
///
/// # Errors
///
/// Why it would fail, in words for the model.
pub(crate) async fn planned(call: &LocalCall, workplace: &Arc<Workplace>) -> Result<Option<FileTexts>, String> {
    let (call, workplace) = (call.clone(), Arc::clone(workplace));
    let planned = tokio::task::spawn_blocking(move || match &call {
        LocalCall::Write(call) => write::planned(call, &workplace).map(|planned| Some(planned.texts())),
        LocalCall::Edit(call) => edit::planned(call, &workplace).map(|planned| Some(planned.texts())),
        LocalCall::Read(_) | LocalCall::List(_) | LocalCall::Search(_) | LocalCall::Shell(_) => Ok(None),
    });
    planned.await.unwrap_or_else(|_| Err("the tool broke off: this is a fault of infold's".to_owned()))
}

/// Does what a call asks for that is about files only.
fn with_files(call: &LocalCall, workplace: &Workplace, cancelled: &CancellationToken) -> ToolOutput {
    let done = match call {
        LocalCall::Read(call) => read::run(call, workplace),
        LocalCall::Write(call) => write::run(call, workplace),
        LocalCall::Edit(call) => edit::run(call, workplace),
        LocalCall::List(call) => list::run(call, workplace, cancelled),
        LocalCall::Search(call) => search::run(call, workplace, cancelled),
        LocalCall::Shell(_) => Err("a command is no matter of files".to_owned()),
    };
    done.unwrap_or_else(ToolOutput::failed)
}
