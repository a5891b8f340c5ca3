//! Whether a call was carried out, by what its result says.
//!
//! Only the Messages API has a field for it. With the others, clients say it in words: Codex with the exit code,
//! OpenCode with a sentence at the start of what its editors answer. A result that says neither counts as success.

use infold_core::view::ResultBlock;
use infold_core::writes::Means;
use infold_wire::request::{Api, Request};
use serde_json::Value;

/// How an editor of Codex's or OpenCode's begins its answer when it has done what it was asked to do.
const DONE: [&str; 5] = [
    "Success. Updated the following files",
    "Wrote file successfully",
    "Created file successfully",
    "Edited file successfully",
    "Edit applied successfully",
];
/// The editors that answer with one of these.
const SAYING: [&str; 4] = ["apply_patch", "write", "edit", "patch"];
/// How a client begins its report of a call that it did not carry out.
const NOT_DONE: [&str; 9] = [
    "Error",
    "error:",
    "Failed",
    "failed",
    "Command blocked by PreToolUse hook",
    "Tool call blocked by PreToolUse hook",
    "infold refused this",
    "apply_patch verification failed",
    "exec_command failed",
];
/// What clients write in front of an exit code.
const EXIT_CODES: [&str; 3] = ["Process exited with code ", "Exit code: ", "\"exit_code\":"];

pub(super) fn was_done(request: &Request<'_>, at: usize, result: &ResultBlock<'_>, tool: &str, means: Means) -> bool {
    if request.api() == Api::Messages {
        return !is_error(request, result);
    }
    let texts: Vec<String> = request.text_parts(at).into_iter().map(|text| text.into_owned()).collect();
    says_done(&texts.join("\n"), tool, means)
}

/// Reads the field of the Messages API. It is looked up in the whole body, which is slow and seldom needed.
fn is_error(request: &Request<'_>, result: &ResultBlock<'_>) -> bool {
    let Ok(body) = serde_json::from_slice::<Value>(request.body()) else { return false };
    let messages = body["messages"].as_array().into_iter().flatten();
    let mut blocks = messages.filter_map(|message| message["content"].as_array()).flatten();
    blocks.any(|block| block["tool_use_id"] == *result.call && block["is_error"] == true)
}

fn says_done(text: &str, tool: &str, means: Means) -> bool {
    let text = text.trim_start();
    if NOT_DONE.iter().any(|words| text.starts_with(words)) {
        return false;
    }
    if let Some(code) = exit_code(text) {
        return code == 0;
    }
    match means {
        Means::Editor if SAYING.contains(&tool) => DONE.iter().any(|words| text.contains(words)),
        // A script prints what it likes; only the client reports a tool that was refused inside of it.
        Means::Shell => !text.contains("blocked by PreToolUse hook: infold refused"),
        Means::Editor => true,
    }
}

/// The exit code that a client reports in front of what the command printed.
fn exit_code(text: &str) -> Option<i64> {
    let head = text.split("\nOutput:").next().unwrap_or_default();
    let text = if text.starts_with('{') { text } else { head };
    let (at, mark) = EXIT_CODES.iter().find_map(|mark| Some((text.find(mark)?, mark)))?;
    let digits: String =
        text[at + mark.len()..].trim_start().chars().take_while(|c| c.is_ascii_digit() || *c == '-').collect();
    digits.parse().ok()
}

#[cfg(test)]
mod tests;
