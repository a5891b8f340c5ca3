//! Reads what a model called a tool with. What is wrong with it is said so that the model can put it right.

#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use super::LocalTool;

/// A call of a tool, read and checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LocalCall {
    /// Shows lines of a file.
    Read(ReadCall),
    /// Writes a whole file.
    Write(WriteCall),
    /// Replaces a part of a file.
    Edit(EditCall),
    /// Shows the files in a folder.
    List(ListCall),
    /// Finds lines in files.
    Search(SearchCall),
    /// Runs a command.
    Shell(ShellCall),
}

/// What `read` takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadCall {
    pub(super) path: String,
    pub(super) offset_line: usize,
    pub(super) lines: Option<usize>,
    /// Bytes of what it shows, if the call or its caller bounds them.
    pub(super) bytes_max: Option<usize>,
}

/// What `write` takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteCall {
    pub(super) path: String,
    pub(super) content: String,
}

/// What `edit` takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditCall {
    pub(super) path: String,
    pub(super) old: String,
    pub(super) new: String,
    pub(super) places: Places,
}

/// Where an edit replaces a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Places {
    /// In the only place where it is.
    One,
    /// Wherever it is.
    All,
}

/// What `list` takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListCall {
    pub(super) path: String,
    pub(super) depth: Option<usize>,
}

/// What `search` takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchCall {
    pub(super) pattern: String,
    pub(super) path: String,
    pub(super) glob: Option<String>,
}

/// What `shell` takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellCall {
    pub(super) command: String,
    pub(super) timeout_seconds: Option<u64>,
}

impl LocalCall {
    /// The same, showing no more than this of a file; the model learns how to read on.
    #[must_use]
    pub fn showing_at_most(self, bytes_max: usize) -> Self {
        match self {
            Self::Read(call) => Self::Read(ReadCall { bytes_max: Some(bytes_max), ..call }),
            other => other,
        }
    }

    /// Reads the arguments of a call.
    ///
    /// # Errors
    ///
    /// What is wrong with them, and what the tool takes.
    pub fn read(tool: LocalTool, arguments: &Value) -> Result<Self, String> {
        let empty = Map::new();
        let fields = match arguments {
            Value::Object(fields) => fields,
            Value::Null => &empty,
            Value::String(_) | Value::Array(_) | Value::Bool(_) | Value::Number(_) => {
                return Err(format!("the arguments of `{}` are not a JSON object: send one", tool.name()));
            }
        };
        let mut given = GivenArguments { tool, fields, taken: Vec::new() };
        let call = match tool {
            LocalTool::Read => Self::Read(ReadCall {
                path: given.text("path", "name the file")?,
                offset_line: given.number("offset")?.unwrap_or(1),
                lines: given.number("limit")?,
                bytes_max: None,
            }),
            LocalTool::Write => Self::Write(WriteCall {
                path: given.text("path", "name the file")?,
                content: given.text("content", "give all of the file's text")?,
            }),
            LocalTool::Edit => Self::Edit(EditCall {
                path: given.text("path", "name the file")?,
                old: given.text("old", "give the text to replace, as the file has it")?,
                new: given.text("new", "give what is to be in its place; an empty text takes it out")?,
                places: given.places()?,
            }),
            LocalTool::List => Self::List(ListCall { path: given.path_or_here()?, depth: given.number("depth")? }),
            LocalTool::Search => Self::Search(SearchCall {
                pattern: given.text("pattern", "give a regular expression")?,
                path: given.path_or_here()?,
                glob: given.optional_text("glob")?,
            }),
            LocalTool::Shell => Self::Shell(ShellCall {
                command: given.text("command", "give a command line")?,
                timeout_seconds: given.number("timeout_seconds")?.map(|seconds| seconds as u64),
            }),
        };
        given.nothing_else()?;
        call.checked()
    }

    /// The tool that is called.
    pub fn tool(&self) -> LocalTool {
        match self {
            Self::Read(_) => LocalTool::Read,
            Self::Write(_) => LocalTool::Write,
            Self::Edit(_) => LocalTool::Edit,
            Self::List(_) => LocalTool::List,
            Self::Search(_) => LocalTool::Search,
            Self::Shell(_) => LocalTool::Shell,
        }
    }

    fn checked(self) -> Result<Self, String> {
        match &self {
            Self::Edit(call) if call.old.is_empty() => {
                Err("`old` is empty: give the text to replace; to make a file, use `write`".to_owned())
            }
            Self::Edit(call) if call.old == call.new => {
                Err("`old` and `new` are the same: there is nothing to change".to_owned())
            }
            Self::Shell(call) if call.command.trim().is_empty() => {
                Err("`command` is empty: give a command line".to_owned())
            }
            Self::Shell(call) if call.command.contains('\0') => {
                Err("`command` holds a zero byte: write it as an escape".to_owned())
            }
            _ => Ok(self),
        }
    }
}

/// The arguments of a call, and which of them have been read.
struct GivenArguments<'a> {
    tool: LocalTool,
    fields: &'a Map<String, Value>,
    taken: Vec<&'static str>,
}

impl GivenArguments<'_> {
    fn field(&mut self, name: &'static str) -> Option<&Value> {
        self.taken.push(name);
        self.fields.get(name).filter(|value| !value.is_null())
    }

    fn optional_text(&mut self, name: &'static str) -> Result<Option<String>, String> {
        match self.field(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(format!("`{name}` is not a string: send it as one")),
        }
    }

    fn text(&mut self, name: &'static str, what_to_do: &str) -> Result<String, String> {
        self.optional_text(name)?.ok_or_else(|| format!("`{name}` is missing: {what_to_do}"))
    }

    fn path_or_here(&mut self) -> Result<String, String> {
        Ok(self.optional_text("path")?.filter(|path| !path.is_empty()).unwrap_or_else(|| ".".to_owned()))
    }

    /// A number from 1 on. Models write it as a string at times.
    fn number(&mut self, name: &'static str) -> Result<Option<usize>, String> {
        let read = match self.field(name) {
            None => return Ok(None),
            Some(Value::Number(number)) => number.as_u64(),
            Some(Value::String(text)) => text.trim().parse().ok(),
            Some(_) => None,
        };
        let number = read.filter(|number| *number > 0).and_then(|number| usize::try_from(number).ok());
        number.map(Some).ok_or_else(|| format!("`{name}` is not a whole number from 1 on: send one, or leave it out"))
    }

    fn places(&mut self) -> Result<Places, String> {
        match self.field("replace_all") {
            None | Some(Value::Bool(false)) => Ok(Places::One),
            Some(Value::Bool(true)) => Ok(Places::All),
            Some(_) => Err("`replace_all` is neither true nor false: send one of them, or leave it out".to_owned()),
        }
    }

    /// Refuses arguments that the tool does not know: what is ignored would be taken as done.
    fn nothing_else(&self) -> Result<(), String> {
        let unknown = self.fields.keys().find(|name| !self.taken.contains(&name.as_str()));
        unknown.map_or(Ok(()), |name| {
            let known = self.taken.join("`, `");
            Err(format!("`{name}` is no argument of `{}`: it takes `{known}`", self.tool.name()))
        })
    }
}
