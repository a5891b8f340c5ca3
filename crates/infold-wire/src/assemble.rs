//! Puts the entries of a recording together into a transcript: what the model saw, in the order in which it saw it.
//!
//! Three things cannot be known from a single entry and are done here. A person who goes back and asks again leaves
//! entries behind that are no longer part of the session; they are dropped. Pieces of one answer may lie apart, with
//! results between them; they are brought together. A compaction may only name the entries that it keeps; their items
//! are copied into it.
//!
//! Reading entries is left to `reader` and `forms`, and which entries are dropped to `live`.

use std::collections::{BTreeSet, HashMap, HashSet};

use infold_core::transcript::{Item, Kind, ModelCall, Subtask, Transcript};

use crate::form::Format;
use crate::live::Outlines;
use crate::numbers::{EntryGroup, Numbers};
use crate::order::AnswerOrder;
use crate::reader::{Entry, KeptEntries, ReportedUsage, Undo};

/// How many bytes of kept items may be copied into the compactions of a session, all together.
const KEPT_BYTES_MAX: usize = 256 << 20;

/// The entries of one session so far, without their bytes.
pub(crate) struct Assembly {
    format: Format,
    session: Option<String>,
    entries: Vec<Entry>,
    subtasks: Vec<Subtask>,
}

impl Assembly {
    pub(crate) fn new(format: Format) -> Self {
        Self { format, session: None, entries: Vec::new(), subtasks: Vec::new() }
    }

    pub(crate) fn push(&mut self, mut entry: Entry) {
        // A transcript needs the items but not the bytes that they were read from.
        entry.raw = Vec::new();
        if self.session.is_none() {
            self.session = entry.session.take();
        }
        self.subtasks.append(&mut entry.subtasks);
        let is_needed =
            !entry.items.is_empty() || entry.id.is_some() || !entry.usage.is_empty() || entry.undoes != Undo::Nothing;
        if is_needed {
            self.entries.push(entry);
        }
    }

    /// Builds the transcript when all entries are there.
    pub(crate) fn finish(mut self) -> Transcript {
        let agents: HashMap<String, String> = self.entries.iter().filter_map(|entry| entry.agent.clone()).collect();
        let (mut main, aside): (Vec<Entry>, Vec<Entry>) =
            self.entries.into_iter().partition(|entry| entry.subtask.is_none());
        let mut groups = by_subtask(aside);
        // A subagent's own file has only lines of that subagent; there they are the main thread.
        let is_agents_file = groups.len() == 1 && main.iter().all(|entry| entry.items.is_empty());
        if is_agents_file {
            main = groups.pop().map(|(_, entries)| entries).unwrap_or_default();
        }
        let (mut main, given_up) = without_given_up(main, self.format);
        let gone = given_up_calls(&main, &given_up);
        let prompts = prompts(main.iter().chain(&given_up));
        match self.format {
            Format::ClaudeCode => main = together(main),
            // Instructions come before the conversation, wherever the document has them.
            Format::Anthropic | Format::OpenAi => main.sort_by_key(|entry| entry.number != 0),
            Format::Codex | Format::OpenCode | Format::Infold | Format::Normalized => {}
        }
        fill_in_kept(&mut main, KEPT_BYTES_MAX);
        let mut known: HashMap<String, usize> =
            (0..).zip(&self.subtasks).map(|(at, subtask)| (subtask.call.clone(), at)).collect();
        for (name, entries) in groups {
            let call = agents.get(&name).cloned().or_else(|| started_by(&entries, &prompts)).unwrap_or(name);
            let items = numbered(together(entries)).0;
            add_subtask(&mut self.subtasks, &mut known, Subtask { call, items });
        }
        self.subtasks.retain(|subtask| !gone.contains(&subtask.call));
        let (items, calls) = numbered(main);
        Transcript { client: self.format.client(), session: self.session, items, calls, subtasks: self.subtasks }
    }
}

/// Groups entries by their subtask, in the order in which the subtasks began.
fn by_subtask(entries: Vec<Entry>) -> Vec<(String, Vec<Entry>)> {
    let mut groups: Vec<(String, Vec<Entry>)> = Vec::new();
    let mut index: HashMap<String, usize> = HashMap::new();
    for entry in entries {
        let name = entry.subtask.clone().unwrap_or_default();
        let at = *index.entry(name.clone()).or_insert_with(|| {
            groups.push((name, Vec::new()));
            groups.len() - 1
        });
        groups[at].1.push(entry);
    }
    groups
}

/// Separates the entries that are still part of the session from those that a person gave up by going back.
fn without_given_up(entries: Vec<Entry>, format: Format) -> (Vec<Entry>, Vec<Entry>) {
    let mut live = Outlines::of(&entries).live(format).into_iter();
    entries.into_iter().partition(|_| live.next().unwrap_or(true))
}

/// The ids of calls that only appear in given-up entries: what subagents did for them is given up, too.
fn given_up_calls(live: &[Entry], given_up: &[Entry]) -> HashSet<String> {
    let calls = |entries: &[Entry]| -> HashSet<String> {
        let items = entries.iter().flat_map(|entry| &entry.items);
        items.filter_map(|item| if let Kind::Call { id, .. } = &item.kind { Some(id.clone()) } else { None }).collect()
    };
    calls(given_up).difference(&calls(live)).cloned().collect()
}

/// Sorts entries into the order in which the model saw them.
fn together(entries: Vec<Entry>) -> Vec<Entry> {
    let places = AnswerOrder::of(&entries).together(|_| true);
    let mut entries: Vec<Option<Entry>> = entries.into_iter().map(Some).collect();
    places.into_iter().filter_map(|at| entries[at].take()).collect()
}

/// Copies the items that compactions keep into them, the latest compaction first. Once `room_bytes` are used up, which
/// is more than any client keeps, earlier compactions stay empty. That costs little: the session continues from the
/// latest one, and only requests that are long past saw the others.
fn fill_in_kept(entries: &mut [Entry], mut room_bytes: usize) {
    let mut index: HashMap<String, usize> = HashMap::new();
    for (at, entry) in entries.iter().enumerate() {
        if let Some(id) = &entry.id {
            index.entry(id.clone()).or_insert(at);
        }
    }
    for at in (0..entries.len()).rev() {
        let places: Box<dyn Iterator<Item = usize>> = match &entries[at].kept {
            KeptEntries::Nothing => continue,
            KeptEntries::From(id) => Box::new(index.get(id).map_or(at..at, |from| *from..at)),
            KeptEntries::These(ids) => {
                let named: BTreeSet<usize> = ids.iter().filter_map(|id| index.get(id).copied()).collect();
                Box::new(named.into_iter().filter(move |place| *place < at))
            }
        };
        let mut filled = Vec::new();
        for place in places {
            let items = entries[place].items.iter().filter(|item| !matches!(item.kind, Kind::Compaction { .. }));
            // An entry without items costs something too, so that the number of entries looked at is bounded as well.
            let cost_bytes = size_of::<Item>() + items.clone().map(bytes_of).sum::<usize>();
            let Some(left_bytes) = room_bytes.checked_sub(cost_bytes) else { return };
            room_bytes = left_bytes;
            filled.extend(items.cloned());
        }
        let compaction = entries[at].items.iter_mut().find_map(|item| match &mut item.kind {
            Kind::Compaction { kept, .. } => Some(kept),
            _ => None,
        });
        if let Some(kept) = compaction {
            *kept = filled;
        }
    }
}

/// The approximate size of one more copy of an item.
fn bytes_of(item: &Item) -> usize {
    let text_bytes = match &item.kind {
        Kind::Result { text, .. } => text.len(),
        Kind::Clearing { calls } => calls.iter().map(String::len).sum(),
        _ => item.text().len(),
    };
    size_of::<Item>() + text_bytes
}

/// Numbers the messages again, in their final order, and finds the item that each request's answer begins with.
fn numbered(entries: Vec<Entry>) -> (Vec<Item>, Vec<ModelCall>) {
    let mut numbers = Numbers::default();
    let mut items: Vec<Item> = Vec::new();
    let mut first_items: HashMap<u64, usize> = HashMap::new();
    let mut reports: Vec<ReportedUsage> = Vec::new();
    for entry in entries {
        reports.extend(entry.usage);
        let last = entry.items.last().map(|item| item.message);
        let mut current = None;
        let mut number = 0;
        for mut item in entry.items {
            if current != Some(item.message) {
                current = Some(item.message);
                let group = if current == last { entry.group.clone() } else { EntryGroup::Alone };
                number = numbers.number(group);
                first_items.entry(item.message).or_insert(items.len());
            }
            item.message = number;
            if let Kind::Compaction { kept, .. } = &mut item.kind {
                for kept in kept {
                    kept.message = number;
                }
            }
            items.push(item);
        }
    }
    name_tools(&mut items);
    let calls = calls(reports, &first_items, items.len());
    (items, calls)
}

/// Fills in the tool names of results that were recorded before their calls.
fn name_tools(items: &mut [Item]) {
    let is_nameless = |item: &Item| matches!(&item.kind, Kind::Result { tool, .. } if tool.is_empty());
    if !items.iter().any(is_nameless) {
        return;
    }
    let tools: HashMap<String, String> = items
        .iter()
        .filter_map(|item| match &item.kind {
            Kind::Call { id, tool, .. } => Some((id.clone(), tool.clone())),
            _ => None,
        })
        .collect();
    for item in items {
        if let Kind::Result { id, tool, .. } = &mut item.kind
            && tool.is_empty()
            && let Some(known) = tools.get(id)
        {
            tool.clone_from(known);
        }
    }
}

/// The requests to the model, each with the first item of its answer. If a request has several usage reports, the last
/// counts.
fn calls(reports: Vec<ReportedUsage>, first_items: &HashMap<u64, usize>, end: usize) -> Vec<ModelCall> {
    let behind = first_items.keys().max().map_or(0, |last| last + 1);
    let mut calls: Vec<ModelCall> = Vec::new();
    let mut index: HashMap<u64, usize> = HashMap::new();
    for ReportedUsage { message, model, usage } in reports {
        let first_item = match first_items.get(&message) {
            Some(first_item) => *first_item,
            None if message == behind => end,
            None => continue,
        };
        match index.get(&message) {
            Some(at) => (calls[*at].model, calls[*at].usage) = (model, usage),
            None => {
                index.insert(message, calls.len());
                calls.push(ModelCall { first_item, model, usage });
            }
        }
    }
    calls.sort_by_key(|call| call.first_item);
    calls
}

/// The prompts that calls gave to subagents, each with the id of its call.
fn prompts<'e>(entries: impl Iterator<Item = &'e Entry>) -> HashMap<String, String> {
    #[derive(serde::Deserialize)]
    struct Input {
        prompt: String,
    }
    let mut prompts = HashMap::new();
    for item in entries.flat_map(|entry| &entry.items) {
        if let Kind::Call { id, tool, input } = &item.kind
            && matches!(tool.as_str(), "Task" | "Agent" | "task")
            && let Ok(Input { prompt }) = serde_json::from_str(input)
        {
            prompts.insert(prompt, id.clone());
        }
    }
    prompts
}

/// The call that started a subagent, found by the prompt that the subagent began with.
fn started_by(entries: &[Entry], prompts: &HashMap<String, String>) -> Option<String> {
    entries.iter().flat_map(|entry| &entry.items).find_map(|item| match &item.kind {
        Kind::User { text, .. } => prompts.get(text).cloned(),
        _ => None,
    })
}

/// Adds a subtask; if it was recorded twice, the recording with more items stays. `known` is the index of each call's
/// subtask.
fn add_subtask(subtasks: &mut Vec<Subtask>, known: &mut HashMap<String, usize>, subtask: Subtask) {
    match known.get(&subtask.call) {
        Some(at) if subtasks[*at].items.len() < subtask.items.len() => subtasks[*at] = subtask,
        Some(_) => {}
        None => {
            known.insert(subtask.call.clone(), subtasks.len());
            subtasks.push(subtask);
        }
    }
}

#[cfg(test)]
mod tests;
