//! Parses OpenCode's messages, `{info, parts}`, from an export or from its message API.
//!
//! A tool part holds the call and its result in one `state`. A result that was pruned still has its text, but the model
//! no longer sees it. A compaction is a user message that names the first message it keeps, followed by an answer that
//! is marked as a summary.

use std::cell::LazyCell;

use infold_core::record::Usage;
use infold_core::transcript::{CallOutcome, HeldContent, Kind, Voice};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Unit;
use crate::content::{Speaker, compact, json_at};
use crate::document::DocumentPiece;
use crate::json_text::elements;
use crate::loose::{Count, Flag, List, Loose, Maybe, Str};
use crate::numbers::{CalledTools, EntryGroup, Numbers, items};
use crate::reader::{Entry, KeptEntries, ReportedUsage, Undo};

/// What the parser remembers from message to message.
#[derive(Default)]
pub(crate) struct OpenCode {
    tools: CalledTools,
    numbers: Numbers,
    /// The first message that is kept by a compaction whose summary has not come yet.
    kept_from: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct OpenCodeMessage<'a> {
    #[serde(borrow)]
    info: Maybe<Info<'a>>,
    #[serde(borrow)]
    parts: List<OpenCodePart<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Info<'a> {
    #[serde(borrow)]
    id: Str<'a>,
    #[serde(borrow)]
    role: Str<'a>,
    #[serde(borrow, rename = "sessionID")]
    session_id: Str<'a>,
    #[serde(borrow, rename = "parentID")]
    parent_id: Str<'a>,
    /// Whether an answer is a summary. On a user message the field is an object and means something else.
    summary: Flag,
    #[serde(borrow, rename = "modelID")]
    model_id: Str<'a>,
    tokens: Maybe<OpenCodeTokens>,
    /// On a session: the message from which on the person has undone everything.
    #[serde(borrow)]
    revert: Maybe<Revert<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Revert<'a> {
    #[serde(borrow, rename = "messageID")]
    message_id: Str<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct OpenCodeTokens {
    input: Count,
    output: Count,
    reasoning: Count,
    cache: Maybe<Cache>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Cache {
    read: Count,
    write: Count,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct OpenCodePart<'a> {
    #[serde(borrow, rename = "type")]
    kind: Str<'a>,
    text: Loose,
    synthetic: Flag,
    ignored: Flag,
    #[serde(borrow)]
    tool: Str<'a>,
    #[serde(borrow, rename = "callID")]
    call_id: Str<'a>,
    #[serde(borrow)]
    state: Maybe<OpenCodeToolState<'a>>,
    #[serde(borrow)]
    tail_start_id: Str<'a>,
    #[serde(borrow)]
    metadata: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct OpenCodeToolState<'a> {
    #[serde(borrow)]
    status: Str<'a>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    output: Loose,
    error: Loose,
    metadata: Maybe<StateMetadata>,
    time: Maybe<StateTime>,
    #[serde(borrow)]
    attachments: List<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct StateMetadata {
    exit: Count,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct StateTime {
    compacted: Count,
}

impl OpenCode {
    pub(crate) fn parse(&mut self, unit: &Unit<'_>) -> Result<Entry, serde_json::Error> {
        match unit.piece {
            DocumentPiece::Between => Ok(Entry::default()),
            DocumentPiece::Member(name) if name == "info" => {
                let info: Info<'_> = serde_json::from_str(unit.text)?;
                let undone = info.revert.0.and_then(|revert| revert.message_id.given()).map(Undo::From);
                Ok(Entry { session: info.id.given(), undoes: undone.unwrap_or_default(), ..Entry::default() })
            }
            DocumentPiece::Member(_) => Ok(Entry::default()),
            DocumentPiece::Element => self.message(unit),
        }
    }

    fn message(&mut self, unit: &Unit<'_>) -> Result<Entry, serde_json::Error> {
        let message: OpenCodeMessage<'_> = serde_json::from_str(unit.text)?;
        let info = message.info.0.unwrap_or_default();
        let mut entry = Entry {
            session: info.session_id.given(),
            id: info.id.given(),
            parent: info.parent_id.given(),
            ..Entry::default()
        };
        let is_answer = info.role.as_str() == "assistant";
        let is_summary = is_answer && info.summary.is_set();
        let kinds = if is_summary {
            self.summary(message.parts.0, &mut entry)
        } else {
            let speaker = if is_answer { Speaker::Model } else { Speaker::User(Voice::Person) };
            self.parts(message.parts.0, speaker, unit.text)
        };
        if kinds.is_empty() {
            return Ok(entry);
        }
        let number = self.numbers.number(EntryGroup::Alone);
        if let Some(tokens) = info.tokens.0.filter(|_| is_answer) {
            let usage = tokens.usage();
            if usage != Usage::default() {
                let model = info.model_id.as_str().to_owned();
                entry.usage.push(ReportedUsage { message: number, model, usage });
            }
        }
        entry.items = items(unit.number, number, kinds, &mut self.tools);
        Ok(entry)
    }

    /// Parses a summary, which replaces everything before it; an empty one is not finished and replaces nothing.
    fn summary(&mut self, parts: Vec<OpenCodePart<'_>>, entry: &mut Entry) -> Vec<(u32, Kind)> {
        let texts: Vec<String> = parts
            .into_iter()
            .filter(|part| part.kind.as_str() == "text")
            .filter_map(|part| part.text.0)
            .filter(|text| !text.is_empty())
            .collect();
        if texts.is_empty() {
            return Vec::new();
        }
        entry.kept = self.kept_from.take().map_or(KeptEntries::Nothing, KeptEntries::From);
        vec![(0, Kind::Compaction { summary: Some(texts.join("\n")), kept: Vec::new() })]
    }

    fn parts(&mut self, parts: Vec<OpenCodePart<'_>>, speaker: Speaker, text: &str) -> Vec<(u32, Kind)> {
        let unread = LazyCell::new(|| elements(text, "/parts"));
        let mut kinds = Vec::with_capacity(parts.len());
        for (number, part) in (0..).zip(parts) {
            match part.kind.as_str() {
                "text" if part.ignored.is_set() => {}
                "text" => {
                    let words = part.text.0.unwrap_or_default();
                    let is_synthetic = part.synthetic.is_set() && speaker != Speaker::Model;
                    let speaker = if is_synthetic { Speaker::User(Voice::Client) } else { speaker };
                    kinds.push((number, speaker.says(words)));
                }
                "reasoning" => {
                    let sealed_bytes = part.metadata.map_or(0, |metadata| sealed_bytes(metadata.get()));
                    kinds.push((number, Kind::Reasoning { text: part.text.0.unwrap_or_default(), sealed_bytes }));
                }
                "tool" => tool(number, part, &mut kinds),
                "compaction" => self.kept_from = part.tail_start_id.given(),
                // The client's own notes on steps and on the state of the files; the model does not see them.
                "step-start" | "step-finish" | "snapshot" | "patch" | "retry" => {}
                name => {
                    let json = json_at(&unread, number).to_owned();
                    kinds.push((number, Kind::Other { name: name.to_owned(), json }));
                }
            }
        }
        kinds
    }
}

/// Makes items of a tool part: the call, and its result if it has come.
fn tool(number: u32, part: OpenCodePart<'_>, kinds: &mut Vec<(u32, Kind)>) {
    let state = part.state.0.unwrap_or_default();
    let id = part.call_id.0.into_owned();
    let tool = part.tool.0.into_owned();
    let input = state.input.map_or_else(|| "{}".to_owned(), compact);
    kinds.push((number, Kind::Call { id: id.clone(), tool: tool.clone(), input }));
    let exited_badly = state.metadata.0.is_some_and(|metadata| metadata.exit.0.is_some_and(|code| code != 0));
    let (text, outcome) = match state.status.as_str() {
        "completed" if exited_badly => (state.output.0, CallOutcome::Failed),
        "completed" => (state.output.0, CallOutcome::Succeeded),
        "error" => (state.error.0.or(state.output.0), CallOutcome::Failed),
        // The call was still running when the session was exported.
        _ => return,
    };
    let is_cleared = state.time.0.is_some_and(|time| time.compacted.0.is_some());
    let held = if is_cleared { HeldContent::Cleared } else { HeldContent::Whole };
    kinds.push((number, Kind::Result { id, tool, text: text.unwrap_or_default(), outcome, held }));
    for attachment in state.attachments.0 {
        kinds.push((number, Kind::Other { name: "file".to_owned(), json: attachment.get().to_owned() }));
    }
}

impl OpenCodeTokens {
    fn usage(self) -> Usage {
        let cache = self.cache.0.unwrap_or_default();
        Usage {
            fresh_tokens: self.input.or_zero(),
            cache_read_tokens: cache.read.or_zero(),
            cache_write_tokens: cache.write.or_zero(),
            output_tokens: self.output.or_zero() + self.reasoning.or_zero(),
        }
    }
}

/// The total length of the reasoning seals in a part's metadata. Each provider has its own names for them.
fn sealed_bytes(metadata: &str) -> usize {
    fn sum(value: &serde_json::Value) -> usize {
        match value {
            serde_json::Value::Object(members) => members
                .iter()
                .map(|(name, value)| match value.as_str() {
                    Some(text)
                        if name.contains("ignature") || name.contains("ncrypted") || name.contains("edacted") =>
                    {
                        text.len()
                    }
                    _ => sum(value),
                })
                .sum(),
            _ => 0,
        }
    }
    serde_json::from_str(metadata).map_or(0, |value| sum(&value))
}

#[cfg(test)]
mod tests;
