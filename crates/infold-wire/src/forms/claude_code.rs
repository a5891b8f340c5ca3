//! Parses Claude Code's JSONL: a line for each block of an answer, for each user message, attachment and notice.
//!
//! Lines with the same message id are one answer. A compaction is recorded as a boundary line and, some attachments
//! later, a user line with the summary. Here it is one item before those attachments, because the model sees the
//! summary first. What the client shows only to the person (titles, durations, errors of the API) has no items.

mod attachment;
mod fields;
mod subagents;

use std::collections::{HashMap, VecDeque};

use infold_core::transcript::{Item, ItemPosition, Kind, Voice};
use serde_json::value::RawValue;

use super::Unit;
use crate::content::{Content, Speaker, kinds};
use crate::loose::Maybe;
use crate::numbers::{CalledTools, EntryGroup, Numbers, items};
use crate::reader::{Entry, KeptEntries, ReportedUsage};
use fields::{ClaudeLine, ClaudeMessage, Compact, Micro};

/// How many answers are remembered, because a further piece of an earlier answer may still come.
const ANSWERS_MAX: usize = 64;
/// The model name on lines that the client wrote itself in the model's place.
const NO_MODEL: &str = "<synthetic>";

/// What the parser remembers from line to line.
#[derive(Default)]
pub(crate) struct ClaudeCode {
    tools: CalledTools,
    numbers: Numbers,
    subtask_numbers: HashMap<String, Numbers>,
    /// The ids of the latest answers, each with the number of the message that it began with.
    answers: VecDeque<(String, u64)>,
    boundary: Option<Boundary>,
    /// For lines of subagents that do not name their agent: the first line of the thread that each line belongs to.
    sidechain_roots: HashMap<String, String>,
}

/// A compaction whose summary has not come yet.
struct Boundary {
    place: ItemPosition,
    message: u64,
    kept: KeptEntries,
    /// Items recorded between the boundary and the summary, which the model sees after the summary.
    waiting: Vec<Item>,
}

impl ClaudeCode {
    pub(crate) fn parse(&mut self, unit: &Unit<'_>) -> Result<Entry, serde_json::Error> {
        let line: ClaudeLine<'_> = serde_json::from_str(unit.text)?;
        let mut entry = Entry {
            session: line.session_id.given(),
            id: line.uuid.given(),
            parent: line.parent_uuid.given().or_else(|| line.logical_parent_uuid.given()),
            ..Entry::default()
        };
        match line.kind.as_str() {
            "user" | "assistant" => self.message(line, unit, &mut entry),
            "progress" => self.progress(line, unit, &mut entry),
            "attachment" => self.attachment(&line, unit, &mut entry),
            "system" => self.system(&line, unit, &mut entry),
            _ => {}
        }
        Ok(entry)
    }

    pub(crate) fn finish(&mut self) -> Vec<Item> {
        self.boundary.take().map(|boundary| boundary.into_items(None)).unwrap_or_default()
    }

    fn message(&mut self, line: ClaudeLine<'_>, unit: &Unit<'_>, entry: &mut Entry) {
        if line.is_sidechain.is_set() {
            entry.subtask = Some(self.sidechain(&line));
        }
        let is_answer = line.kind.as_str() == "assistant";
        let Maybe(Some(message)) = line.message else { return };
        // The client reports an error of the API here: no model said it, and none sees it.
        if line.is_api_error_message.is_set() {
            return;
        }
        // Where no model was asked, the client answers itself and puts a name in angle brackets.
        entry.model = message.model.given().filter(|model| is_answer && !model.starts_with('<'));
        if line.is_compact_summary.is_set() {
            self.summary(message.content.into_text(), unit.number, entry);
            return;
        }
        let voice = if line.is_meta.is_set() { Voice::Client } else { Voice::Person };
        let speaker = if is_answer { Speaker::Model } else { Speaker::User(voice) };
        entry.group = group(speaker, &message);
        entry.is_prompt = !is_answer && entry.group == EntryGroup::Alone && !line.is_meta.is_set();
        if let Some(agent) = line.tool_use_result.0.and_then(|result| result.agent_id.given())
            && let Some(call) = first_answered(&message.content)
        {
            entry.agent = Some((agent, call));
        }
        let usage = message.usage.0.filter(|_| is_answer && message.model.as_str() != NO_MODEL);
        let kinds = kinds(message.content, speaker, unit.text, "/message/content");
        if kinds.is_empty() {
            return;
        }
        let number = self.number(entry);
        if entry.subtask.is_none() {
            entry.items.extend(self.finish());
        }
        if let Some(usage) = usage {
            let model = message.model.0.into_owned();
            let message = self.first_piece(&entry.group).unwrap_or(number);
            entry.usage.push(ReportedUsage { message, model, usage: usage.into() });
        }
        entry.items.extend(items(unit.number, number, kinds, &mut self.tools));
    }

    /// The number of the message that an answer began with, to which its usage belongs.
    fn first_piece(&self, group: &EntryGroup) -> Option<u64> {
        let EntryGroup::Answer(id) = group else { return None };
        self.answers.iter().find(|(known, _)| known == id).map(|(_, message)| *message)
    }

    /// The number of the message that a line belongs to.
    fn number(&mut self, entry: &Entry) -> u64 {
        let numbers = match &entry.subtask {
            Some(subtask) => self.subtask_numbers.entry(subtask.clone()).or_default(),
            None => &mut self.numbers,
        };
        let number = numbers.number(entry.group.clone());
        if let EntryGroup::Answer(id) = &entry.group
            && self.first_piece(&entry.group).is_none()
        {
            self.answers.push_back((id.clone(), number));
            if self.answers.len() > ANSWERS_MAX {
                self.answers.pop_front();
            }
        }
        number
    }

    fn summary(&mut self, text: String, number: u64, entry: &mut Entry) {
        let place = ItemPosition { entry: number, part: 0 };
        let boundary = self.boundary.take().unwrap_or_else(|| Boundary {
            place,
            message: self.numbers.number(EntryGroup::Alone),
            kept: KeptEntries::Nothing,
            waiting: Vec::new(),
        });
        entry.kept = boundary.kept.clone();
        entry.items = Boundary { place, ..boundary }.into_items(Some(text));
    }

    fn attachment(&mut self, line: &ClaudeLine<'_>, unit: &Unit<'_>, entry: &mut Entry) {
        if line.is_sidechain.is_set() {
            entry.subtask = Some(self.sidechain(line));
        }
        let Some((text, voice)) = attachment::words(line) else { return };
        self.put(Kind::User { text, voice }, unit, entry);
    }

    fn system(&mut self, line: &ClaudeLine<'_>, unit: &Unit<'_>, entry: &mut Entry) {
        match line.subtype.as_str() {
            "compact_boundary" => {
                let metadata =
                    line.compact_metadata.map(RawValue::get).and_then(|json| serde_json::from_str(json).ok());
                entry.items = self.finish();
                self.boundary = Some(Boundary {
                    place: ItemPosition { entry: unit.number, part: 0 },
                    message: self.numbers.number(EntryGroup::Alone),
                    kept: metadata.map(Compact::into_kept).unwrap_or_default(),
                    waiting: Vec::new(),
                });
            }
            "microcompact_boundary" => {
                let metadata = line.microcompact_metadata.map(RawValue::get);
                let micro: Micro<'_> = metadata.and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
                let calls = micro.compacted_tool_ids.0.into_iter().map(|id| id.0.into_owned()).collect();
                self.put(Kind::Clearing { calls }, unit, entry);
            }
            "local_command" => {
                if let Some(text) = line.content.0.clone() {
                    self.put(Kind::User { text, voice: Voice::Client }, unit, entry);
                }
            }
            _ => {}
        }
    }

    /// Adds one item in a message of its own. If a compaction waits for its summary, the item goes after that summary.
    fn put(&mut self, kind: Kind, unit: &Unit<'_>, entry: &mut Entry) {
        let number = self.number(entry);
        let item = Item { place: ItemPosition { entry: unit.number, part: 0 }, message: number, kind };
        match (&mut self.boundary, &entry.subtask) {
            (Some(boundary), None) => boundary.waiting.push(item),
            _ => entry.items.push(item),
        }
    }
}

impl Boundary {
    fn into_items(self, summary: Option<String>) -> Vec<Item> {
        let kind = Kind::Compaction { summary, kept: Vec::new() };
        let mut items = vec![Item { place: self.place, message: self.message, kind }];
        items.extend(self.waiting);
        items
    }
}

fn group(speaker: Speaker, message: &ClaudeMessage<'_>) -> EntryGroup {
    match speaker {
        Speaker::Model => message.id.given().map_or(EntryGroup::Alone, EntryGroup::Answer),
        Speaker::System | Speaker::User(_) if first_answered(&message.content).is_some() => EntryGroup::Results,
        Speaker::System | Speaker::User(_) => EntryGroup::Alone,
    }
}

/// The id of the first call that a message has a result for.
fn first_answered(content: &Content<'_>) -> Option<String> {
    let result = content.blocks().iter().find(|block| block.kind.as_str() == "tool_result")?;
    Some(result.tool_use_id.as_str().to_owned())
}

#[cfg(test)]
mod tests;
