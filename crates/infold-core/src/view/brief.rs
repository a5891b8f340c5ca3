//! Texts of infold's own about a branch: the brief that the branch begins with, and what its parent is shown for it.
//!
//! Both are made of what the transcript holds, so they read the same with and without the store. The
//! arguments of an opening were written by a model that may have seen secrets: they are scrubbed here.

use std::borrow::Cow;
use std::fmt::Write;

use super::CallBlock;
use super::answers::{OpeningAnswer, OpeningArguments};
use super::script::ByScript;
use crate::{BranchId, EndReason, OwnTool, Scrubber, grouped};

/// How a branch ended, or how far it is, as its parent is shown it.
#[derive(Debug, Clone)]
pub(super) enum BranchOutcome {
    /// A call folded it; `script` is the block of the result of the script that made the call, if one did.
    Returned { message: String, is_failure: bool, script: Option<usize> },
    /// It was folded by force or discarded; `result` is what it had found by then.
    Cut { reason: Option<Cow<'static, str>>, result: String },
    /// It is still open, while something else is answered on its parent.
    Open { partial: String },
    /// It was opened in the same message as the branch whose view this is, and is none of that branch's business.
    Waiting,
}

impl BranchOutcome {
    pub fn cut(reason: EndReason, result: String) -> Self {
        Self::Cut { reason: Some(Cow::Borrowed(reason.as_str())), result }
    }

    /// A branch of which only the result is left. That begins with the reason, so the answer reads the same.
    pub fn cut_for_some_reason(result: String) -> Self {
        let reason = result.strip_prefix("[Partial result: ").and_then(|rest| rest.split_once(". "));
        Self::Cut { reason: reason.map(|(reason, _)| Cow::Owned(reason.to_owned())), result }
    }
}

/// Writes the words that a branch begins with.
pub(super) fn brief(call: &CallBlock<'_>, opened: &OpeningAnswer, scrubber: &Scrubber) -> String {
    let json = opened.arguments(call);
    let arguments = OpeningArguments::read(json);
    let id = &opened.branch;
    let mut text =
        format!("[branch {id}]\nYou are working on one sub-task. Its parent gets what you return, and nothing else.\n");
    let mut say = |words: std::fmt::Arguments<'_>| {
        // Writing to a string cannot fail.
        let _ = text.write_fmt(words);
    };
    if let Some(description) = &arguments.description {
        say(format_args!("\nTask: {}\n", scrubbed(description, scrubber)));
    }
    if let (Some(_), None, Some(source)) = (&opened.script, json, &call.arguments) {
        // The call's arguments are not known: only the script's source says what the branch is for.
        say(format_args!("\nIt was opened by this script:\n{}\n", scrubbed(source, scrubber)));
    }
    if let Some(prompt) = &arguments.prompt {
        say(format_args!("\n{}\n", scrubbed(prompt, scrubber)));
    }
    if let Some(injected) = &opened.injected_context {
        say(format_args!(
            "
{}
",
            scrubbed(injected, scrubber)
        ));
    }
    if let Some(budget_tokens) = opened.budget_tokens {
        say(format_args!("\nBudget: {} tokens.", grouped(budget_tokens)));
    }
    say(format_args!("\nWhen you are done, call {} with branch_id \"{id}\"", return_tool(call, opened)));
    if let Some(path) = &arguments.project_path {
        say(format_args!(", project_path \"{}\"", scrubbed(path, scrubber)));
    }
    say(format_args!(
        " and, as message, what you found, the evidence for it and what is still open. Without that call it is cut short."
    ));
    text
}

/// The name of the tool that folds the branch, as this client spells it, and how to call it.
fn return_tool(call: &CallBlock<'_>, opened: &OpeningAnswer) -> String {
    match &opened.script {
        None => OwnTool::return_tool(&call.tool),
        Some(ByScript { tool: Some(tool), .. }) => format!("tools.{} in a script,", OwnTool::return_tool(tool)),
        Some(ByScript { tool: None, .. }) => "the tool whose name ends with branch_return in a script,".to_owned(),
    }
}

/// A text without its secrets. If it cannot be scrubbed, it is withheld: infold repeats nothing unscrubbed.
pub(super) fn scrubbed(text: &str, scrubber: &Scrubber) -> String {
    match scrubber.scrub(text) {
        Ok(clean) => clean.into_string(),
        Err(_) => "[withheld: this text could not be searched for secrets]".to_owned(),
    }
}

/// What the parent is shown as the answer to the call that opened a branch.
pub(super) fn answer(branch: &BranchId, outcome: &BranchOutcome) -> String {
    match outcome {
        BranchOutcome::Returned { message, is_failure: false, .. } => format!("[branch {branch} returned]\n{message}"),
        BranchOutcome::Returned { message, is_failure: true, .. } => format!("[branch {branch} failed]\n{message}"),
        BranchOutcome::Cut { reason, result } => {
            let why = reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
            with_text(format!("[branch {branch} was cut short{why}]"), result)
        }
        BranchOutcome::Open { partial } => with_text(format!("[branch {branch} is still open]"), partial),
        BranchOutcome::Waiting => format!("[branch {branch}: its parent gets the answer]"),
    }
}

fn with_text(line: String, text: &str) -> String {
    if text.is_empty() { line } else { format!("{line}\n{text}") }
}
