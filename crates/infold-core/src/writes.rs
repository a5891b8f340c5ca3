//! What a call of a tool would write into files, as far as its arguments show it.
//!
//! The caller looks for placeholders in it: a placeholder that is written into a file would replace the secret there.
//! Agents write in three ways: with tools that take a file's new text, with patches, and with a shell. Of a patch only
//! the added lines are written; of a shell's command, the parts that can write. Where that is unclear, a part counts as
//! one that can: a refusal can be worked around, a lost secret cannot be got back.

mod script;
mod shell;

#[cfg(test)]
mod tests;

use crate::OwnTool;
use serde_json::Value;

/// The two ways in which a tool writes files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Means {
    /// It takes the new text, or a patch: either all of it is written or nothing.
    Editor,
    /// It runs commands, of which some may have been done when one fails.
    Shell,
}

/// What a call would write into files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Writing {
    /// Whether an editor or a shell writes it.
    pub means: Means,
    /// Every text that may end up in a file; never empty.
    pub texts: Vec<String>,
}

/// Tools that run commands, by the last part of their names.
const SHELLS: [&str; 12] = [
    "bash",
    "shell",
    "shell_command",
    "local_shell",
    "exec_command",
    "exec",
    "write_stdin",
    "powershell",
    "terminal",
    "run_shell_command",
    "run_terminal_cmd",
    "execute_command",
];
/// Parts of the names of tools that write files.
const EDITORS: [&str; 7] = ["write", "edit", "patch", "str_replace", "insert", "append", "save"];
/// Parts of names that mean a write if the name also contains `file`.
const FILE_VERBS: [&str; 5] = ["create", "update", "push", "upload", "put"];
/// Fields of arguments that hold what is in a file already, or the file's path: none of it is written.
const BEFORE: [&str; 10] = [
    "old_string",
    "old_source",
    "oldString",
    "old_str",
    "old_text",
    "oldText",
    "file_path",
    "filePath",
    "path",
    "notebook_path",
];
/// Fields of a shell tool's arguments that may hold a command.
const COMMANDS: [&str; 5] = ["command", "cmd", "chars", "script", "input"];
/// The first line of a patch in Codex's form.
const PATCH: &str = "*** Begin Patch";

/// What a call would write; `None` if it writes nothing. Arguments that are not JSON are taken as one plain text.
pub fn writing(tool: &str, arguments: &str) -> Option<Writing> {
    let arguments = serde_json::from_str(arguments).unwrap_or_else(|_| Value::String(arguments.to_owned()));
    writing_of(tool, &arguments)
}

/// What a call would write, for arguments that are parsed already; `None` if it writes nothing.
pub fn writing_of(tool: &str, arguments: &Value) -> Option<Writing> {
    let name = tool.to_ascii_lowercase();
    let last = last_part(&name);
    let (means, texts) = if OwnTool::spelled(last).is_some() {
        return None;
    } else if last == "exec" && arguments.is_string() {
        (Means::Shell, script::written(arguments.as_str().unwrap_or_default()))
    } else if SHELLS.contains(&last) {
        (Means::Shell, commands(arguments).iter().flat_map(|command| shell::written(command)).collect())
    } else if last.contains("patch") {
        (Means::Editor, strings(arguments).iter().map(|patch| added(patch)).collect())
    } else if is_editor(last) {
        (Means::Editor, strings(arguments).into_iter().map(str::to_owned).collect())
    } else {
        return None;
    };
    Some(Writing { means, texts }).filter(|writing| !writing.texts.is_empty())
}

/// The commands that a call runs; none if its tool is no shell.
pub(crate) fn commands_run(tool: &str, arguments: &Value) -> Vec<String> {
    let name = tool.to_ascii_lowercase();
    if SHELLS.contains(&last_part(&name)) { commands(arguments) } else { Vec::new() }
}

/// The last part of a tool's name, without its server's.
fn last_part(name: &str) -> &str {
    name.rsplit("__").next().unwrap_or_default().rsplit('.').next().unwrap_or_default()
}

fn is_editor(name: &str) -> bool {
    let has = |part: &&str| name.contains(part);
    EDITORS.iter().any(has) || (name.contains("file") && FILE_VERBS.iter().any(has))
}

/// All strings in a value, except those in fields that hold what was there before.
fn strings(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(values) => values.iter().flat_map(strings).collect(),
        Value::Object(fields) => {
            let new = fields.iter().filter(|(name, _)| !BEFORE.contains(&name.as_str()));
            new.flat_map(|(_, value)| strings(value)).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

/// The commands in a shell tool's arguments.
fn commands(arguments: &Value) -> Vec<String> {
    match arguments {
        Value::String(command) => vec![command.clone()],
        Value::Object(fields) => COMMANDS.iter().filter_map(|name| fields.get(*name)).filter_map(command).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => Vec::new(),
    }
}

/// A command that is one string, or a list of words, which are quoted and joined.
fn command(value: &Value) -> Option<String> {
    match value {
        Value::String(command) => Some(command.clone()),
        Value::Array(words) => {
            let quoted =
                words.iter().filter_map(Value::as_str).map(|word| format!("'{}'", word.replace('\'', r"'\''")));
            Some(quoted.collect::<Vec<_>>().join(" "))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

/// The lines that a patch adds, without their plus signs.
fn added(patch: &str) -> String {
    patch.lines().filter_map(|line| line.strip_prefix('+')).collect::<Vec<_>>().join("\n")
}
