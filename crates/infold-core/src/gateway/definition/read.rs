//! Reads what a server lists. Each tool is read for itself: what can be mended is, what cannot is withheld, and both
//! are said.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::{Definition, ToolHints};
use crate::gateway::canonical::depth_of;
use crate::gateway::entry::ServerKey;
use crate::{strip_hostile, strip_hostile_in};

/// Tools of one server; what comes later is left out.
const TOOLS_MAX: usize = 2_000;

/// Bytes that one definition may have.
const DEFINITION_BYTES_MAX: usize = 64 * 1024;

/// How deep a definition may be nested.
const DEPTH_MAX: usize = 64;

/// Characters of a name, of which only the front is ever listed.
const NAME_CHARS_MAX: usize = 256;

/// Characters of a title.
const TITLE_CHARS_MAX: usize = 200;

/// Characters of a description.
const DESCRIPTION_CHARS_MAX: usize = 16_000;

/// Problems that are kept of one list.
const PROBLEMS_MAX: usize = 200;

/// What became of a tool that something is wrong with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefinitionFate {
    /// It is used, without what is wrong.
    Mended,
    /// It is not used.
    Withheld,
}

/// What is wrong with one tool of a list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{tool}: {problem}")]
pub struct DefinitionProblem {
    /// The tool's name, or its place in the list.
    pub tool: String,
    /// What is wrong.
    pub problem: String,
    /// What became of it.
    pub fate: DefinitionFate,
}

/// A server's list of tools, as far as it can be read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DefinitionsRead {
    /// The tools, in the server's order.
    pub definitions: Vec<Definition>,
    /// What is wrong, at most a bounded number.
    pub problems: Vec<DefinitionProblem>,
}

impl DefinitionsRead {
    /// Reads the tools of a list, all pages together.
    pub fn of<'a>(server: &ServerKey, tools: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut read = Self::default();
        let mut names = HashSet::new();
        for (at, tool) in tools.into_iter().enumerate() {
            if at == TOOLS_MAX {
                let problem = format!("the list has more than {TOOLS_MAX} tools: the rest is left out");
                read.note(format!("tool {}", at + 1), problem, DefinitionFate::Withheld);
                break;
            }
            match read.tool(server, at, tool) {
                Ok(definition) if names.insert(definition.tool.clone()) => read.definitions.push(definition),
                Ok(definition) => read.note(definition.tool, "is listed twice".to_owned(), DefinitionFate::Withheld),
                Err((tool, problem)) => read.note(tool, problem, DefinitionFate::Withheld),
            }
        }
        read
    }

    fn note(&mut self, tool: String, problem: String, fate: DefinitionFate) {
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(DefinitionProblem { tool, problem, fate });
        }
    }

    fn tool(&mut self, server: &ServerKey, at: usize, tool: &Value) -> Result<Definition, (String, String)> {
        let place = format!("tool {}", at + 1);
        let Some(fields) = tool.as_object() else { return Err((place, "is not an object".to_owned())) };
        let name = match fields.get("name") {
            Some(Value::String(name)) if !name.trim().is_empty() => name,
            _ => return Err((place, "has no name".to_owned())),
        };
        let shown: String = strip_hostile(name).chars().take(TITLE_CHARS_MAX).collect();
        if let Some(problem) = unusable(name, tool) {
            return Err((shown, problem));
        }
        let mut mended = Vec::new();
        let definition = Definition {
            server: server.clone(),
            tool: name.clone(),
            title: title(fields).map(|title| clean_text(title, TITLE_CHARS_MAX)).filter(|title| !title.is_empty()),
            description: description(fields, &mut mended),
            input: input(fields, &mut mended),
            output: output(fields, &mut mended),
            hints: hints(fields),
        };
        for problem in mended {
            self.note(shown.clone(), problem.to_owned(), DefinitionFate::Mended);
        }
        Ok(definition)
    }
}

/// Why a tool with this name cannot be used at all.
fn unusable(name: &str, tool: &Value) -> Option<String> {
    if depth_of(tool) > DEPTH_MAX {
        return Some(format!("is nested more than {DEPTH_MAX} deep"));
    }
    let bytes = tool.to_string().len();
    if bytes > DEFINITION_BYTES_MAX {
        return Some(format!("has {bytes} bytes, the limit is {DEFINITION_BYTES_MAX}"));
    }
    if strip_hostile(name) != name || name.contains(['\n', '\t']) {
        return Some("has characters in its name that cannot be seen".to_owned());
    }
    if name.chars().count() > NAME_CHARS_MAX {
        return Some(format!("has a name of more than {NAME_CHARS_MAX} characters"));
    }
    let tasks = tool.pointer("/execution/taskSupport").and_then(Value::as_str);
    (tasks == Some("required")).then(|| "runs as a task only, which infold does not relay".to_owned())
}

fn title(fields: &Map<String, Value>) -> Option<&str> {
    let own = fields.get("title").and_then(Value::as_str);
    own.or_else(|| fields.get("annotations")?.get("title")?.as_str())
}

fn description(fields: &Map<String, Value>, mended: &mut Vec<&'static str>) -> String {
    match fields.get("description") {
        Some(Value::String(text)) => clean_text(text, DESCRIPTION_CHARS_MAX),
        None | Some(Value::Null) => String::new(),
        Some(_) => {
            mended.push("its description is not a text");
            String::new()
        }
    }
}

/// A text without what cannot be seen, cut to its bound.
fn clean_text(text: &str, chars_max: usize) -> String {
    let clean = strip_hostile(text);
    match clean.trim().char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", &clean.trim()[..end]),
        None => clean.trim().to_owned(),
    }
}

/// The schema of the arguments. A tool without a readable one takes any object: its server checks them anyway.
fn input(fields: &Map<String, Value>, mended: &mut Vec<&'static str>) -> Value {
    match fields.get("inputSchema") {
        Some(schema @ Value::Object(_)) => strip_hostile_in(schema),
        None | Some(Value::Null | Value::Bool(true)) => json!({"type": "object"}),
        Some(_) => {
            mended.push("its inputSchema is not an object: any arguments are taken");
            json!({"type": "object"})
        }
    }
}

fn output(fields: &Map<String, Value>, mended: &mut Vec<&'static str>) -> Option<Value> {
    let schema = fields.get("outputSchema").filter(|schema| !schema.is_null())?;
    let is_readable = schema.as_object().is_some_and(|fields| fields.get("type").is_none_or(|kind| kind == "object"));
    if !is_readable {
        mended.push("its outputSchema is not one of an object: it is left out");
        return None;
    }
    Some(strip_hostile_in(schema))
}

fn hints(fields: &Map<String, Value>) -> ToolHints {
    let hint = |name: &str| fields.get("annotations")?.get(name)?.as_bool();
    ToolHints {
        read_only: hint("readOnlyHint"),
        destructive: hint("destructiveHint"),
        idempotent: hint("idempotentHint"),
        open_world: hint("openWorldHint"),
    }
}
