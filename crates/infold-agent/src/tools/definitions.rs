//! The tools by name, and how a model is shown them. Each word here is paid for in every request.

use serde_json::{Value, json};

/// A tool of the agent's that works on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LocalTool {
    /// Shows lines of a file.
    Read,
    /// Writes a whole file.
    Write,
    /// Replaces a part of a file.
    Edit,
    /// Shows the files in a folder.
    List,
    /// Finds lines in files.
    Search,
    /// Runs a command.
    Shell,
}

/// A tool as a model is shown it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDefinition {
    /// The name that calls use.
    pub name: &'static str,
    /// What it does.
    pub description: &'static str,
    /// The JSON schema of its arguments.
    pub schema: Value,
}

impl LocalTool {
    /// All tools, in the order in which a model is shown them. The order never changes, because prompts are cached.
    pub const ALL: [Self; 6] = [Self::Read, Self::Write, Self::Edit, Self::List, Self::Search, Self::Shell];

    /// The tool of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// The name that calls use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Edit => "edit",
            Self::List => "list",
            Self::Search => "search",
            Self::Shell => "shell",
        }
    }

    /// The tool as a model is shown it.
    pub fn definition(self) -> ToolDefinition {
        ToolDefinition { name: self.name(), description: self.description(), schema: self.schema() }
    }

    fn description(self) -> &'static str {
        match self {
            Self::Read => "Shows lines of a text file, with their numbers.",
            Self::Write => "Writes a whole file; makes missing folders. To change a part of a file, use `edit`.",
            Self::Edit => {
                "Replaces a text that occurs once in a file. Give it as the file has it, without line numbers, with \
                 enough lines around it to be unique."
            }
            Self::List => "Shows files and folders as a tree, without those that git ignores.",
            Self::Search => "Finds lines that match a regular expression, in files that git does not ignore.",
            Self::Shell => {
                "Runs a command in the working folder, without input. What it leaves running is ended with it."
            }
        }
    }

    fn schema(self) -> Value {
        let text = |says: &str| json!({ "type": "string", "description": says });
        let number = |says: &str| json!({ "type": "integer", "minimum": 1, "description": says });
        let (fields, required) = match self {
            Self::Read => (
                json!({
                    "path": text("the file"),
                    "offset": number("first line; 1 if missing"),
                    "limit": number("how many lines"),
                }),
                json!(["path"]),
            ),
            Self::Write => {
                (json!({ "path": text("the file"), "content": text("all of its text") }), json!(["path", "content"]))
            }
            Self::Edit => (
                json!({
                    "path": text("the file"),
                    "old": text("the text to replace"),
                    "new": text("what to put in its place"),
                    "replace_all": { "type": "boolean", "description": "replace it wherever it occurs" },
                }),
                json!(["path", "old", "new"]),
            ),
            Self::List => (
                json!({ "path": text("the folder; the working folder if missing"), "depth": number("how many levels") }),
                json!([]),
            ),
            Self::Search => (
                json!({
                    "pattern": text("the regular expression"),
                    "path": text("file or folder to search; the working folder if missing"),
                    "glob": text("only files that match, such as `*.rs` or `src/**/*.ts`"),
                }),
                json!(["pattern"]),
            ),
            Self::Shell => (
                json!({ "command": text("the command line"), "timeout_seconds": number("its time limit") }),
                json!(["command"]),
            ),
        };
        json!({ "type": "object", "properties": fields, "required": required, "additionalProperties": false })
    }
}
