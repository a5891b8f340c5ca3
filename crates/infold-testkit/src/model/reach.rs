//! Which tools a model can call in a request: those that are listed, and deferred ones that a search in the same
//! request has loaded. A tool that was loaded only in another thread cannot be called.

use serde_json::Value;

use super::received::{Api, Received};

#[cfg(test)]
mod tests;

/// The name of Codex's tool that runs scripts.
pub(crate) const SCRIPTS: &str = "exec";

/// A tool that the model can call in a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    /// The namespace that the tool is listed in; `None` if it is in none.
    pub namespace: Option<String>,
    /// The tool's name, without the namespace.
    pub name: String,
    /// Which form its calls have.
    pub kind: ToolKind,
}

/// The form of a tool's calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolKind {
    /// A call has JSON arguments.
    Function,
    /// A call has plain text as its input.
    Custom,
    /// A call finds and loads deferred tools.
    Search,
}

impl Tool {
    /// The name with the namespace in front, as scripts spell it.
    pub fn spelled(&self) -> String {
        match &self.namespace {
            Some(namespace) => format!("{namespace}__{}", self.name),
            None => self.name.clone(),
        }
    }
}

impl Received {
    /// The tools that the model can call, in the order in which the request names them.
    pub fn tools(&self) -> Vec<Tool> {
        match self.api {
            Api::Messages | Api::CountTokens => anthropic(&self.body),
            Api::Responses => responses(&self.body),
            Api::Chat | Api::Ollama => chat(&self.body),
        }
    }

    /// The client's name for infold's tool `name`, such as `branch_create`, if the model can call it.
    pub fn spelled(&self, name: &str) -> Option<String> {
        let named = |spelled: &String| {
            let prefix = spelled.strip_suffix(name);
            prefix.is_some_and(|prefix| prefix.is_empty() || prefix.ends_with(['_', '.', '/', '-', ':']))
        };
        self.tools().iter().map(Tool::spelled).find(named)
    }

    /// Whether the model can run scripts that call other tools.
    pub fn runs_scripts(&self) -> bool {
        self.tools().iter().any(|tool| tool.name == SCRIPTS && tool.kind == ToolKind::Custom)
    }

    /// The name of the tool that loads deferred tools, if the client has one.
    pub fn search_tool(&self) -> Option<String> {
        self.tools().into_iter().find(|tool| tool.kind == ToolKind::Search).map(|tool| tool.spelled())
    }
}

fn function(name: &str) -> Tool {
    Tool { namespace: None, name: name.to_owned(), kind: ToolKind::Function }
}

/// The name of Claude Code's tool that loads deferred tools.
const CLAUDE_SEARCH: &str = "ToolSearch";

fn anthropic(body: &Value) -> Vec<Tool> {
    let loaded = references(body);
    let listed = body["tools"].as_array().into_iter().flatten();
    let in_reach = listed.filter(|tool| {
        let name = tool["name"].as_str().unwrap_or_default();
        tool["defer_loading"] != true || loaded.iter().any(|loaded| loaded == name)
    });
    let tools = in_reach.filter_map(|tool| tool["name"].as_str()).map(function);
    tools.map(|tool| if tool.name == CLAUDE_SEARCH { Tool { kind: ToolKind::Search, ..tool } } else { tool }).collect()
}

/// The names of the tools that the messages of an Anthropic request refer to as loaded.
pub(crate) fn references(body: &Value) -> Vec<String> {
    fn collect(value: &Value, names: &mut Vec<String>) {
        match value {
            Value::Array(values) => values.iter().for_each(|value| collect(value, names)),
            Value::Object(fields) if value["type"] == "tool_reference" => {
                names.extend(fields.get("tool_name").and_then(Value::as_str).map(str::to_owned));
            }
            Value::Object(_) => collect(&value["content"], names),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    let mut names = Vec::new();
    collect(&body["messages"], &mut names);
    names
}

/// The namespace whose tools are called by their names alone.
const PLAIN_NAMESPACE: &str = "functions";

fn responses(body: &Value) -> Vec<Tool> {
    let mut tools = Vec::new();
    let listed = body["tools"].as_array().into_iter().flatten();
    listed.for_each(|tool| add_item_tool(tool, None, &mut tools));
    for item in body["input"].as_array().into_iter().flatten() {
        if item["type"] == "tool_search_output" || item["type"] == "additional_tools" {
            let found = item["tools"].as_array().into_iter().flatten();
            found.for_each(|tool| add_item_tool(tool, None, &mut tools));
        }
    }
    tools
}

fn add_item_tool(tool: &Value, namespace: Option<&str>, tools: &mut Vec<Tool>) {
    let name = tool["name"].as_str();
    let kind = match tool["type"].as_str() {
        Some("namespace") => {
            let inner = tool["tools"].as_array().into_iter().flatten();
            let name = name.filter(|name| *name != PLAIN_NAMESPACE);
            inner.for_each(|inner| add_item_tool(inner, name, tools));
            return;
        }
        Some("tool_search") => {
            tools.push(Tool { namespace: None, name: "tool_search".to_owned(), kind: ToolKind::Search });
            return;
        }
        Some("custom") => ToolKind::Custom,
        _ => ToolKind::Function,
    };
    let Some(name) = name else { return };
    tools.push(Tool { namespace: namespace.map(str::to_owned), name: name.to_owned(), kind });
}

fn chat(body: &Value) -> Vec<Tool> {
    let listed = body["tools"].as_array().into_iter().flatten();
    listed.filter_map(|tool| tool["function"]["name"].as_str()).map(function).collect()
}
