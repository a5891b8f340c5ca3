//! What a call wanted to see: a file or something else that it named, a person's answer, or whatever a
//! command would print.
//!
//! The call says it, not the answer: an agent that names a file wants to read it, however it asks.

use serde_json::{Map, Value};

use super::shell;

/// Tools, by the last part of their names in small letters without `_` and `-`, whose answers are a person's.
const PERSONS: [&str; 6] =
    ["askuserquestion", "exitplanmode", "requestuserinput", "askuser", "askquestion", "question"];
/// Tools that hand over what another agent wrote for this one.
const REPORTS: [&str; 7] = ["task", "agent", "taskoutput", "agentoutput", "waitagent", "spawnagent", "skill"];
/// Tools that read a file have a name that begins with one of these.
const READER_STARTS: [&str; 5] = ["read", "view", "openfile", "getfile", "fsread"];
/// Or that contains one of these, behind the name of a server.
const READER_PARTS: [&str; 4] = ["readfile", "readtextfile", "notebookread", "getfilecontents"];
/// Where a reading tool is told what to read.
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
/// Where a shell is told what to run, and in which folder.
const COMMAND_KEYS: [&str; 4] = ["command", "cmd", "script", "commands"];
const FOLDER_KEYS: [&str; 4] = ["workdir", "cwd", "working_directory", "directory"];
/// A tool that runs a script in which commands may stand.
const SCRIPT_TOOL: &str = "exec";

/// What a call wanted to see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    /// What a person says: never shortened.
    Person,
    /// Something that the call names: a file, or what another agent wrote.
    Named {
        /// The file, where it is one and its name says which.
        file: Option<String>,
    },
    /// Whatever there is to print.
    Output,
}

impl Wish {
    /// What a call of `tool` wanted, with its arguments as JSON or as plain text.
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

    /// The one file that was asked for.
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

    /// Of a script, what any command in it wanted. Which of them printed what cannot be told.
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
