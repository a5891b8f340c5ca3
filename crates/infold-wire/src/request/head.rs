//! Reads what a request has beside its conversation: the tools, and by them and a few words the kind of request.

use std::borrow::Cow;

use infold_core::view::{BlockKind, RequestKind, TranscriptStart};

use super::json::At;
use super::{Api, Document, Request, RequestEntry};
use crate::client_words::{asks_for_compaction, is_summary};

/// A tool that a request offers to the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedTool<'a> {
    /// The name as the client spells it. A namespace comes first, followed by two underscores.
    pub name: Cow<'a, str>,
    /// The MCP server that the tool belongs to, if the name says so (`mcp__server__tool`).
    pub server: Option<String>,
    /// Whether the model has to load it before it can call it.
    pub is_deferred: bool,
    /// The length of its definition as JSON, in bytes.
    pub bytes: usize,
}

/// The type of an entry that lists tools, which Codex uses in place of the field `tools` for models that write scripts.
pub(super) const ADDITIONAL_TOOLS: &str = "additional_tools";

/// The namespace that calls leave out: its tools are called by their names alone.
const PLAIN_NAMESPACE: &str = "functions";

/// The tools of a request, in order; those in a namespace are listed one by one.
pub(super) fn tools<'a>(request: &Request<'a>) -> Vec<ListedTool<'a>> {
    lists(request).flat_map(|list| listed(request, list, None)).collect()
}

/// The definitions in the request's field `tools` that the model sees, each with its MCP server.
pub(super) fn shown_tools<'a>(request: &Request<'a>) -> Vec<(Option<String>, &'a str)> {
    let document = &request.document;
    let own = document.field(0, "tools").into_iter().flat_map(|list| document.elements(list));
    let shown = own.filter(|tool| !is_flagged(document, *tool, "defer_loading"));
    let server = |name: Cow<'a, str>| {
        let rest = name.strip_prefix("mcp__")?;
        Some(rest.split("__").next().unwrap_or(rest).to_owned())
    };
    shown.map(|tool| (document.text_field(tool, "name").and_then(server), document.raw(tool))).collect()
}

fn is_flagged(document: &Document<'_>, at: At, key: &str) -> bool {
    document.field(at, key).is_some_and(|flag| document.raw(flag) == "true")
}

/// The lists of tools in a request: the field `tools`, and those among its entries.
fn lists<'r>(request: &'r Request<'_>) -> impl Iterator<Item = At> + 'r {
    let document = &request.document;
    let entries = request.entries.iter().filter(|entry| lists_tools(request, entry));
    let added = entries.filter_map(|entry| document.field(entry.at, "tools"));
    document.field(0, "tools").into_iter().chain(added)
}

/// Whether an entry is a list of tools rather than part of the conversation.
pub(super) fn lists_tools(request: &Request<'_>, entry: &RequestEntry) -> bool {
    request.api == Api::Responses && request.document.text_field(entry.at, "type").as_deref() == Some(ADDITIONAL_TOOLS)
}

/// The tools in a list, where `namespace` is the one that the list belongs to.
fn listed<'a>(request: &Request<'a>, list: At, namespace: Option<&str>) -> Vec<ListedTool<'a>> {
    let document = &request.document;
    let mut tools = Vec::new();
    for tool in document.elements(list) {
        // The Chat API has a tool's own fields one level deeper.
        let fields = document.field(tool, "function").unwrap_or(tool);
        let kind = || document.text_field(tool, "type");
        let Some(name) = document.text_field(fields, "name").or_else(kind) else { continue };
        if let (Some(inner), None) = (document.field(tool, "tools"), namespace) {
            tools.extend(listed(request, inner, Some(&name)));
            continue;
        }
        let is_deferred = is_flagged(document, fields, "defer_loading");
        let name = joined(namespace, name);
        tools.push(ListedTool { server: server_of(&name), name, is_deferred, bytes: document.raw(tool).len() });
    }
    tools
}

/// A tool's name with its namespace before it.
pub(crate) fn joined<'a>(namespace: Option<&str>, name: Cow<'a, str>) -> Cow<'a, str> {
    match namespace {
        Some(namespace) if !matches!(namespace, "" | PLAIN_NAMESPACE) => Cow::Owned(format!("{namespace}__{name}")),
        _ => name,
    }
}

fn server_of(name: &str) -> Option<String> {
    let (server, _) = name.strip_prefix("mcp__")?.split_once("__")?;
    Some(server.to_owned())
}

/// The names of the tools in a list of definitions.
pub(super) fn names<'a>(document: &Document<'a>, list: At) -> Vec<Cow<'a, str>> {
    let mut names = Vec::new();
    for tool in document.elements(list) {
        let Some(name) = document.text_field(tool, "name") else { continue };
        match document.field(tool, "tools") {
            Some(inner) => {
                let inner = document.elements(inner).filter_map(|tool| document.text_field(tool, "name"));
                names.extend(inner.map(|tool| joined(Some(&name), tool)));
            }
            None => names.push(name),
        }
    }
    names
}

/// The kind of request by its form: one that ends by asking for a summary is a compaction, and one without tools is a
/// side request.
pub(super) fn kind_hint(request: &Request<'_>) -> RequestKind {
    if request.api == Api::Responses && ends_with_trigger(request) {
        return RequestKind::Compaction;
    }
    let words = request.blocks.iter().rposition(|block| matches!(block.kind, BlockKind::User { .. }));
    let is_behind_the_model = |at: &usize| {
        let behind = &request.blocks[*at..];
        behind.iter().all(|block| !matches!(block.kind, BlockKind::Assistant | BlockKind::Call(_)))
    };
    if words.filter(is_behind_the_model).is_some_and(|at| asks_for_compaction(&request.words(at))) {
        return RequestKind::Compaction;
    }
    let has_tools = lists(request).any(|list| request.document.elements(list).next().is_some());
    if has_tools { RequestKind::Turn } else { RequestKind::Side }
}

/// Whether a conversation begins with a summary, which its first words show.
pub(super) fn beginning(request: &Request<'_>) -> TranscriptStart {
    let first = request.blocks.iter().position(|block| !matches!(block.kind, BlockKind::Instruction));
    let is_words = |at: &usize| matches!(request.blocks[*at].kind, BlockKind::User { .. });
    match first.filter(is_words).is_some_and(|at| is_summary(&request.words(at))) {
        true => TranscriptStart::Summary,
        false => TranscriptStart::Words,
    }
}

fn ends_with_trigger(request: &Request<'_>) -> bool {
    let last = request.entries.last();
    last.is_some_and(|entry| request.document.text_field(entry.at, "type").as_deref() == Some("compaction_trigger"))
}
