//! Claude Code's recordings: which lines it would load on resume.
//!
//! Lines form a tree by `uuid` and `parentUuid`. What counts is the way from the last line up to the
//! latest compaction, with what hangs beside it: the results of calls made at once, and the messages
//! that the compaction kept. What becomes of single lines is in `line`.

mod line;

#[cfg(test)]
mod tests;

pub use line::{Told, editable, has_blocks, is_answer, is_clients, is_typed, rewrite, told, uuid};

use std::collections::{HashMap, HashSet};

use serde_json::Value;
use serde_json::value::RawValue;

use super::Live;
use super::original::Span;
use super::splice::{Splice, fields};

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    User,
    Assistant,
    Attachment,
    System,
    /// Everything before it is no longer part of the context.
    Boundary,
    /// Part of the tree, but nothing that is said.
    Other,
}

/// What the survey keeps of a line.
#[derive(Debug)]
struct Line {
    live: Live,
    kind: Kind,
    uuid: String,
    parent: Option<String>,
    message: Option<String>,
    calls: Vec<String>,
    results: Vec<String>,
}

/// What a compaction kept of what was before it.
#[derive(Debug, Default)]
struct Preserved {
    anchor: Option<String>,
    uuids: Vec<String>,
    /// From which line to which, where an older version does not list them.
    segment: Option<(String, String)>,
}

/// The tree of a recording.
#[derive(Debug, Default)]
pub struct Survey {
    lines: Vec<Line>,
    preserved: Preserved,
    /// The session's id.
    pub session: Option<String>,
    /// The model that answered last.
    pub model: Option<String>,
}

impl Survey {
    /// Takes in a line. What is part of no tree is passed over.
    pub fn look(&mut self, number: u64, span: Span, text: &str) {
        let Some(fields) = fields(text) else { return };
        let field = |name: &str| fields.iter().rev().find(|(key, _)| key == name).map(|(_, value)| *value);
        if field("isSidechain").is_some_and(|value| value.get() == "true") {
            return;
        }
        let Some(uuid) = string(field("uuid")) else { return };
        let message = field("message").and_then(|message| serde_json::from_str(message.get()).ok());
        let message: Message<'_> = message.unwrap_or_default();
        let kind = match (string(field("type")).as_deref(), string(field("subtype")).as_deref()) {
            (Some("user"), _) => Kind::User,
            (Some("assistant"), _) => Kind::Assistant,
            (Some("attachment"), _) if is_snapshot(field("attachment")) => Kind::Other,
            (Some("attachment"), _) => Kind::Attachment,
            (Some("system"), Some("compact_boundary")) => Kind::Boundary,
            (Some("system"), _) => Kind::System,
            _ => Kind::Other,
        };
        self.session = string(field("sessionId")).or(self.session.take());
        if kind == Kind::Boundary {
            self.preserved = preserved(field("compactMetadata"));
        }
        if kind == Kind::Assistant {
            // The client itself answers as "<synthetic>" where no model was asked.
            self.model = message.model.filter(|model| !model.starts_with('<')).or(self.model.take());
        }
        let blocks: Vec<Block> =
            message.content.and_then(|content| serde_json::from_str(content.get()).ok()).unwrap_or_default();
        self.lines.push(Line {
            live: Live { number, span },
            kind,
            uuid,
            parent: string(field("parentUuid")),
            message: message.id,
            calls: blocks.iter().filter_map(|block| block.call().cloned()).collect(),
            results: blocks.into_iter().filter_map(|block| block.tool_use_id).collect(),
        });
    }

    /// The lines that the client would load, in the order in which the model saw them.
    pub fn live(&self) -> Vec<Live> {
        let chain = self.chain();
        let Some(first) = chain.first().copied() else { return Vec::new() };
        let mut order = self.with_parallel(&chain);
        if self.lines[first].kind == Kind::Boundary {
            self.insert_preserved(&mut order, first);
        }
        let is_said = |at: &usize| match self.lines[*at].kind {
            Kind::User | Kind::Assistant | Kind::Attachment | Kind::System => true,
            Kind::Boundary | Kind::Other => false,
        };
        order.into_iter().filter(is_said).map(|at| self.lines[at].live).collect()
    }

    /// The way from the latest compaction, or the beginning, to the last line. It follows the links and
    /// not the file: a result can be written before its call.
    fn chain(&self) -> Vec<usize> {
        let by_uuid: HashMap<&str, usize> =
            self.lines.iter().enumerate().map(|(at, line)| (line.uuid.as_str(), at)).collect();
        let Some(mut at) = self.lines.iter().rposition(|line| line.kind != Kind::Other) else { return Vec::new() };
        let mut chain = vec![at];
        let mut seen = HashSet::from([at]);
        while self.lines[at].kind != Kind::Boundary {
            let Some(parent) = &self.lines[at].parent else { break };
            // A parent that is missing was left out by the client's own cleaning, and the line before
            // stands in for it. One that has been passed would lead in a circle.
            let before = || self.lines[..at].iter().rposition(|line| line.kind != Kind::Other);
            let Some(next) = by_uuid.get(parent.as_str()).copied().or_else(before) else { break };
            if !seen.insert(next) {
                break;
            }
            at = next;
            chain.push(at);
        }
        chain.reverse();
        chain
    }

    /// Adds what hangs beside the chain: the other lines of its messages, and the results of its calls,
    /// each behind the message that it belongs to.
    fn with_parallel(&self, chain: &[usize]) -> Vec<usize> {
        let first = if self.lines[chain[0]].kind == Kind::Boundary { chain[0] } else { 0 };
        let on_chain: HashSet<usize> = chain.iter().copied().collect();
        let beside = || (first..self.lines.len()).filter(|at| !on_chain.contains(at));
        let ends: HashMap<&str, usize> =
            chain.iter().filter_map(|at| Some((self.lines[*at].message.as_deref()?, *at))).collect();
        let mut behind: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut open: HashMap<&str, usize> = HashMap::new();
        for at in chain.iter().copied().chain(beside()) {
            let line = &self.lines[at];
            let Some(end) = line.message.as_deref().and_then(|message| ends.get(message)).copied() else { continue };
            if !on_chain.contains(&at) {
                behind.entry(end).or_default().push(at);
            }
            open.extend(line.calls.iter().map(|call| (call.as_str(), end)));
        }
        for id in chain.iter().flat_map(|at| &self.lines[*at].results) {
            open.remove(id.as_str());
        }
        for at in beside() {
            let ends: Vec<usize> = self.lines[at].results.iter().filter_map(|id| open.remove(id.as_str())).collect();
            if let Some(end) = ends.first() {
                behind.entry(*end).or_default().push(at);
            }
        }
        chain.iter().flat_map(|at| std::iter::once(*at).chain(behind.remove(at).unwrap_or_default())).collect()
    }

    /// Puts what the compaction kept behind its summary, where the client puts it.
    fn insert_preserved(&self, order: &mut Vec<usize>, boundary: usize) {
        let wanted: HashSet<&str> = self.preserved.uuids.iter().map(String::as_str).collect();
        let listed = (0..boundary).filter(|at| wanted.contains(self.lines[*at].uuid.as_str()));
        let kept = if wanted.is_empty() { self.segment(boundary) } else { listed.collect() };
        let anchor = self.preserved.anchor.as_deref();
        let behind = order.iter().position(|at| Some(self.lines[*at].uuid.as_str()) == anchor).unwrap_or(0);
        order.splice(behind + 1..behind + 1, kept);
    }

    /// The lines that a compaction kept, where it only says from which to which.
    fn segment(&self, boundary: usize) -> Vec<usize> {
        let Some((head, tail)) = &self.preserved.segment else { return Vec::new() };
        let before = &self.lines[..boundary];
        let by_uuid: HashMap<&str, usize> =
            before.iter().enumerate().map(|(at, line)| (line.uuid.as_str(), at)).collect();
        let mut segment = Vec::new();
        let mut seen = HashSet::new();
        let mut next = by_uuid.get(tail.as_str());
        while let Some(at) = next.filter(|at| seen.insert(**at)) {
            segment.push(*at);
            if before[*at].uuid == *head {
                segment.reverse();
                return segment;
            }
            next = before[*at].parent.as_deref().and_then(|parent| by_uuid.get(parent));
        }
        Vec::new()
    }
}

#[derive(Debug, Default, serde::Deserialize)]
struct Message<'a> {
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    model: Option<String>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
}

#[derive(Debug, serde::Deserialize)]
struct Block {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    tool_use_id: Option<String>,
}

impl Block {
    fn call(&self) -> Option<&String> {
        self.id.as_ref().filter(|_| self.kind == "tool_use")
    }
}

fn string(value: Option<&RawValue>) -> Option<String> {
    serde_json::from_str(value?.get()).ok()
}

/// Whether an attachment is the client's note of its own prompt, which is long and never sent.
fn is_snapshot(attachment: Option<&RawValue>) -> bool {
    let kind = attachment.and_then(|attachment| Splice::new(attachment.get()).get(&["type"]));
    kind == Some("\"prompt_snapshot\"")
}

fn preserved(metadata: Option<&RawValue>) -> Preserved {
    let metadata: Value = metadata.and_then(|metadata| serde_json::from_str(metadata.get()).ok()).unwrap_or_default();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let (kept, segment) = (&metadata["preservedMessages"], &metadata["preservedSegment"]);
    Preserved {
        anchor: text(&kept["anchorUuid"]).or_else(|| text(&segment["anchorUuid"])),
        uuids: kept["uuids"].as_array().into_iter().flatten().filter_map(text).collect(),
        segment: text(&segment["headUuid"]).zip(text(&segment["tailUuid"])),
    }
}
