//! What an agent wanted to see with a call: a file or something else that the call names, a person's answer, or
//! whatever a command prints.
//!
//! This is read from the call and not from the answer: an agent that names a file wants to read it, however it asks.

use serde_json::{Map, Value};

use super::shell;

/// Tools, by the last part of their names in small letters without `_` and `-`, whose answers are a person's.
const PERSONS: [&str; 6] =
    ["askuserquestion", "exitplanmode", "requestuserinput", "askuser", "askquestion", "question"];
/// Tools that hand over what another agent wrote for this one.
const REPORTS: [&str; 7] = ["task", "agent", "taskoutput", "agentoutput", "waitagent", "spawnagent", "skill"];
/// How the names of tools that read a file begin.
const READER_STARTS: [&str; 5] = ["read", "view", "openfile", "getfile", "fsread"];
/// What the names of tools that read a file contain, after the name of a server.
const READER_PARTS: [&str; 4] = ["readfile", "readtextfile", "notebookread", "getfilecontents"];
/// Fields of a reading tool's arguments that name what to read.
const NAME_KEYS: [&str; 11] = [
    "file_path",
    "path",
    "filePath",
    "absolute_path",
    "target_file",
    "notebook_path",
    "file",
    "filename",
    "uri",
    "paths",
    "files",
];
/// Fields of a shell tool's arguments that hold the command, and the folder that it runs in.
const COMMAND_KEYS: [&str; 4] = ["command", "cmd", "script", "commands"];
const FOLDER_KEYS: [&str; 4] = ["workdir", "cwd", "working_directory", "directory"];
/// The tool of Codex's code mode, which runs a script that may hold commands.
const SCRIPT_TOOL: &str = "exec";

/// What an agent wanted to see with a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    /// A person's answer, which is never shortened.
    Person,
    /// Something that the call names: a file, or what another agent wrote.
    Named {
        /// The file's name as the call gives it; `None` if it is several files, or no file.
        file: Option<String>,
    },
    /// Whatever the tool prints.
    Output,
}

impl Wish {
    /// Reads it from a call of `tool`, whose arguments are JSON or plain text.
    pub fn of(tool: &str, arguments: &str) -> Self {
        let tool = last_part(tool);
        if PERSONS.contains(&tool.as_str()) {
            return Self::Person;
        }
        if REPORTS.contains(&tool.as_str()) {
            return Self::Named { file: None };
        }
        match serde_json::from_str::<Value>(arguments) {
            Ok(Value::Object(fields)) => Self::of_fields(&tool, &fields),
            Ok(Value::String(script)) if tool == SCRIPT_TOOL => Self::of_script(&script),
            Err(_) if tool == SCRIPT_TOOL => Self::of_script(arguments),
            Ok(_) | Err(_) => Self::Output,
        }
    }

    /// The file that was asked for; `None` unless it is exactly one and known.
    pub fn file(&self) -> Option<&str> {
        match self {
            Self::Named { file } => file.as_deref(),
            Self::Person | Self::Output => None,
        }
    }

    fn of_fields(tool: &str, fields: &Map<String, Value>) -> Self {
        let names = NAME_KEYS.iter().find_map(|key| fields.get(*key));
        let views = fields.get("command").and_then(Value::as_str) == Some("view");
        if let Some(names) = names.filter(|_| views || is_reader(tool)) {
            return Self::Named { file: names.as_str().map(str::to_owned) };
        }
        let folder = FOLDER_KEYS.iter().find_map(|key| fields.get(*key)?.as_str()).unwrap_or_default();
        let command = COMMAND_KEYS.iter().find_map(|key| fields.get(*key));
        let printed = match command {
            Some(Value::String(command)) => shell::printed_by(command, folder),
            Some(Value::Array(words)) => {
                let words: Vec<String> = words.iter().filter_map(Value::as_str).map(str::to_owned).collect();
                shell::printed_by_words(words, folder)
            }
            Some(_) | None => None,
        };
        printed.map_or(Self::Output, |file| Self::Named { file })
    }

    /// For a script, whether any command in it prints a file. Which command printed what cannot be seen in the output.
    fn of_script(script: &str) -> Self {
        let prints = shell::commands_in(script).iter().any(|command| shell::printed_by(command, "").is_some());
        if prints { Self::Named { file: None } } else { Self::Output }
    }
}

fn is_reader(tool: &str) -> bool {
    READER_STARTS.iter().any(|start| tool.starts_with(start)) || READER_PARTS.iter().any(|part| tool.contains(part))
}

/// A tool's own name, without what a client or a server puts before it.
fn last_part(tool: &str) -> String {
    let tool = tool.rsplit("__").next().unwrap_or(tool);
    let tool = tool.rsplit(['.', '/', ':']).next().unwrap_or(tool);
    tool.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests;
