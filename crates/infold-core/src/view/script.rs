//! Scripts: some clients have their model write code, and our tools are called from inside of it (Codex: `exec`, and
//! `wait` for a script that takes long).
//!
//! Such a call is in no transcript. What our tools answered is stored by the id of the call that ran the script. Where
//! that is lost, an answer that the script printed whole counts, if the script's source shows a call of ours.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use serde::Deserialize;
use serde_json::Value;

use super::answers::{self, Act};
use super::{CallBlock, ResultBlock, StoredDecisions};
use crate::{BranchId, IdKey, OwnTool, ToolEffect};

/// How many opening braces in front of an id are tried as the start of the object that holds it.
const TRIES_MAX: usize = 64;
/// In a script's source, what comes before the name of a tool.
const TOOLS: &str = "tools.";
/// What comes between the client's lines about a script (how it ended, how long it took) and what the script printed.
const OUTPUT: &str = "\nOutput:\n";
/// The beginning of the result of a script that still runs. The name of the script's cell follows.
const GOES_ON: &str = "Script running with cell ID ";

/// Whether a tool runs scripts that may call other tools, or waits for one that runs.
pub fn runs_scripts(tool: &str) -> bool {
    matches!(tool, "exec" | "wait")
}

/// Whether a call read an offloaded result back, by itself or in a script: what it gave is not offloaded again.
pub fn reads_back(tool: &str, arguments: &str) -> bool {
    let reads = |own: OwnTool| own.effect() == ToolEffect::Read && spelled(arguments, own).is_some();
    ToolEffect::of(tool) == Some(ToolEffect::Read) || runs_scripts(tool) && OwnTool::ALL.into_iter().any(reads)
}

/// Whether a call runs a script whose source shows that it opens, folds or goes back to branches.
pub fn changes_tree(call: &CallBlock<'_>) -> bool {
    let source = call.arguments.as_deref().filter(|_| runs_scripts(&call.tool));
    source.is_some_and(|source| tree_tools().any(|own| spelled(source, own).is_some()))
}

/// A call of one of our tools that a script made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptedCall {
    /// The tool, by our own name for it.
    pub tool: String,
    /// What it was called with, as JSON.
    pub arguments: String,
    /// What the tool answered to the script. The model may never see it.
    pub answer: String,
}

/// How a script opened a branch.
#[derive(Debug, Clone)]
pub(super) struct ByScript {
    /// The tool that opened it, as the script spells it, if its source shows that.
    pub tool: Option<String>,
    /// What it was opened with, as JSON; `None` where the call is not stored and only what was printed is left.
    pub arguments: Option<String>,
}

/// What was learnt of scripts while a transcript is read.
#[derive(Debug, Default)]
pub(super) struct Scripts<'a> {
    /// The source of each script that still ran when its call was answered, by the name of its cell.
    cells: HashMap<&'a str, &'a str>,
    /// Calls whose first result was read. A script that prints more while it runs gives a second one.
    answered: HashSet<&'a str>,
}

/// The arguments of `wait`.
#[derive(Deserialize)]
struct Wait {
    cell_id: Value,
}

impl<'a> Scripts<'a> {
    /// What the calls of our tools did that the script of `call` made, in their order.
    pub fn acts(
        &mut self,
        call: &'a CallBlock<'_>,
        result: &'a ResultBlock<'_>,
        known: &StoredDecisions,
        key: &IdKey,
    ) -> Vec<Act> {
        if !runs_scripts(&call.tool) || !self.answered.insert(&call.id) {
            return Vec::new();
        }
        let source = self.source(call);
        let printed = result.text.as_deref().unwrap_or_default();
        if let (Some(source), Some(rest)) = (source, printed.strip_prefix(GOES_ON)) {
            self.cells.insert(rest.lines().next().unwrap_or_default().trim(), source);
        }
        match known.scripted.get(&*call.id) {
            Some(calls) => calls.iter().filter_map(|call| stored_act(call, source, key)).collect(),
            None => source.map_or_else(Vec::new, |source| printed_acts(source, printed, known, key)),
        }
    }

    /// The source of the script that a call runs, or waits for.
    fn source(&self, call: &'a CallBlock<'_>) -> Option<&'a str> {
        let arguments = call.arguments.as_deref()?;
        let Ok(Wait { cell_id }) = serde_json::from_str(arguments) else { return Some(arguments) };
        let cell = cell_id.as_str().map_or_else(|| cell_id.to_string(), str::to_owned);
        self.cells.get(cell.as_str()).copied()
    }
}

/// What a stored call did.
fn stored_act(call: &ScriptedCall, source: Option<&str>, key: &IdKey) -> Option<Act> {
    let own = OwnTool::spelled(&call.tool)?;
    let mut act = answers::read(own.effect(), &call.answer, key)?;
    if let Act::Open(opened) = &mut act {
        let tool = source.and_then(|source| spelled(source, own)).map(str::to_owned);
        let arguments = Some(call.arguments.clone());
        opened.script = Some(ByScript { tool, arguments });
    }
    Some(act)
}

/// What a script did, by the answers that it printed. If the store knows branches of the session, only those count: a
/// script can print anything.
fn printed_acts(source: &str, printed: &str, known: &StoredDecisions, key: &IdKey) -> Vec<Act> {
    let is_own = |branch: &BranchId| known.branches.is_empty() || known.branches.contains_key(branch);
    let called: Vec<(ToolEffect, &str)> =
        tree_tools().filter_map(|own| Some((own.effect(), spelled(source, own)?))).collect();
    let mut acts: Vec<Act> = Vec::new();
    for object in objects(printed, |id| BranchId::verify(id, key).is_some()) {
        let object = &printed[object];
        let read =
            |(effect, tool): &(ToolEffect, &str)| Some((answers::read(*effect, object, key)?, (*tool).to_owned()));
        let Some((mut act, tool)) = called.iter().find_map(read) else { continue };
        if let Act::Open(opened) = &mut act {
            opened.script = Some(ByScript { tool: Some(tool), arguments: None });
        }
        if is_own(act.branch()) && !acts.iter().any(|other| other.is_same(&act)) {
            acts.push(act);
        }
    }
    acts
}

/// Our tools that change the tree.
fn tree_tools() -> impl Iterator<Item = OwnTool> {
    OwnTool::ALL.into_iter().rev().filter(|own| own.effect().changes_tree())
}

/// The name by which a script's source calls a tool of ours: `tools.mcp__infold__branch_create(…)`.
fn spelled(source: &str, own: OwnTool) -> Option<&str> {
    source.match_indices(TOOLS).find_map(|(at, _)| {
        let word = &source[at + TOOLS.len()..];
        let end = word.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '$').unwrap_or(word.len());
        let is_called = word[end..].trim_start().starts_with('(');
        (is_called && own.is_spelled(&word[..end])).then(|| &word[..end])
    })
}

/// The JSON objects in a text that hold branches' ids, as ranges of bytes. Each is the outermost object around its id.
fn objects(text: &str, is_branch: impl Fn(&str) -> bool) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut end = 0;
    for (at, _) in answers::ids(text).filter(|(_, id)| is_branch(id)) {
        if at < end {
            continue;
        }
        let starts = memchr::memrchr_iter(b'{', &text.as_bytes()[..at]).take_while(|start| *start >= end);
        let longest = starts.take(TRIES_MAX).filter_map(|start| Some((start, object_end(&text[start..])? + start)));
        if let Some((from, to)) = longest.filter(|(_, to)| *to > at).last() {
            found.push(from..to);
            end = to;
        }
    }
    found
}

/// The length in bytes of the JSON value that a text begins with.
fn object_end(text: &str) -> Option<usize> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<serde::de::IgnoredAny>();
    values.next()?.ok()?;
    Some(values.byte_offset())
}

/// What a script printed beside our answers about these branches; `None` if it printed nothing else.
pub(super) fn beside(printed: &str, branches: &[&BranchId]) -> Option<String> {
    let is_fine = printed.starts_with("Script completed\n") || printed.starts_with(GOES_ON);
    let body = printed.split_once(OUTPUT).filter(|_| is_fine).map_or(printed, |(_, body)| body);
    let mut rest = String::with_capacity(body.len());
    let mut from = 0;
    let is_branch = |id: &str| branches.iter().any(|branch| branch.as_str() == id);
    for object in objects(body, is_branch).into_iter().filter(|object| is_answer(&body[object.clone()])) {
        rest.push_str(&body[from..object.start]);
        from = object.end;
    }
    rest.push_str(&body[from..]);
    let rest = rest.trim();
    (!rest.is_empty()).then(|| rest.to_owned())
}

/// Whether a script printed a message: as it is, quoted in JSON, or quoted twice.
pub(super) fn holds(printed: &str, message: &str) -> bool {
    let quoted = serde_json::to_string(message).unwrap_or_default();
    let inner = quoted.trim_matches('"');
    let twice = serde_json::to_string(inner).unwrap_or_default();
    [message, inner, twice.trim_matches('"')].iter().any(|form| printed.contains(form))
}

/// The text in the content of a result, which is a JSON string or a list of parts.
pub(super) fn text_of(content: &[u8]) -> String {
    match serde_json::from_slice(content) {
        Ok(Value::String(text)) => text,
        Ok(Value::Array(parts)) => {
            let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        Ok(_) | Err(_) => String::new(),
    }
}

/// Whether an object is an answer of ours and nothing else, by itself or as the protocol wraps it.
fn is_answer(object: &str) -> bool {
    let Ok(Value::Object(fields)) = serde_json::from_str(object) else { return false };
    let is_wrapped = fields.keys().all(|key| matches!(&**key, "content" | "structuredContent" | "isError" | "_meta"));
    is_wrapped || fields.contains_key("branch_id") || fields.contains_key("rolled_back_to")
}

#[cfg(test)]
mod tests;
