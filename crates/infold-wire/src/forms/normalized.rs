//! Parses sessions of any client in one plain form, one session on each line: `{session, agent, events, calls,
//! compactions, subagents}`. `calls` are requests to the model; they and `compactions` refer to events by their index.

use std::collections::VecDeque;

use infold_core::record::Usage;
use infold_core::transcript::{CallOutcome, HeldContent, Item, ItemPosition, Kind, Subtask, Voice};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::Unit;
use crate::client_words::voice_of;
use crate::loose::{Count, Flag, List, Loose, Str};
use crate::numbers::{CalledTools, EntryGroup, Numbers};
use crate::reader::{Entry, ReportedUsage};

#[derive(Default, Deserialize)]
#[serde(default)]
struct NormalizedSession<'a> {
    #[serde(borrow)]
    session: Str<'a>,
    #[serde(borrow)]
    agent: Str<'a>,
    #[serde(borrow)]
    events: List<NormalizedEvent<'a>>,
    #[serde(borrow)]
    calls: List<NormalizedCall<'a>>,
    #[serde(borrow)]
    compactions: List<Compaction<'a>>,
    #[serde(borrow)]
    subagents: List<Subagent<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NormalizedEvent<'a> {
    #[serde(borrow)]
    k: Str<'a>,
    t: Loose,
    #[serde(borrow)]
    tool: Str<'a>,
    #[serde(borrow)]
    id: Str<'a>,
    #[serde(borrow)]
    meta: Str<'a>,
    call: Count,
    err: Flag,
    sig: Count,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NormalizedCall<'a> {
    ev: Count,
    prompt: Count,
    cr: Count,
    cw: Count,
    out: Count,
    #[serde(borrow)]
    model: Str<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Compaction<'a> {
    ev: Count,
    #[serde(borrow)]
    kind: Str<'a>,
    #[serde(borrow)]
    ids: List<Str<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Subagent<'a> {
    #[serde(borrow)]
    id: Str<'a>,
    /// The messages, each a list of speaker, tool and words.
    #[serde(borrow)]
    msgs: List<&'a RawValue>,
}

/// Parses one line, which is a whole session.
pub(crate) fn parse(unit: &Unit<'_>) -> Result<Entry, serde_json::Error> {
    let session: NormalizedSession<'_> = serde_json::from_str(unit.text)?;
    let mut entry = Entry { session: session.session.given(), ..Entry::default() };
    let mut numbers = Numbers::default();
    let mut tools = CalledTools::default();
    let clearings: Vec<Compaction<'_>> =
        session.compactions.0.into_iter().filter(|compaction| compaction.kind.as_str() == "micro").collect();
    // The message that each event is in, because requests refer to events.
    let mut messages = Vec::with_capacity(session.events.0.len());
    for (number, event) in (0_u32..).zip(session.events.0) {
        let place = ItemPosition { entry: unit.number, part: number };
        for clearing in clearings.iter().filter(|clearing| clearing.ev.0 == Some(i64::from(number))) {
            let kind = Kind::Clearing { calls: clearing.ids.0.iter().map(|id| id.as_str().to_owned()).collect() };
            entry.items.push(Item { place, message: numbers.number(EntryGroup::Alone), kind });
        }
        let message = numbers.number(group(&event, session.agent.as_str()));
        messages.push(message);
        let mut kind = kind(event);
        tools.pass(&mut kind);
        entry.items.push(Item { place, message, kind });
    }
    let behind = messages.last().map_or(0, |last| last + 1);
    entry.usage = session
        .calls
        .0
        .into_iter()
        .filter_map(|call| {
            let event = usize::try_from(call.ev.0?).ok()?;
            // The answer to the last request may not have been recorded.
            let message = messages.get(event).copied().unwrap_or(behind);
            Some(ReportedUsage { message, usage: call.usage(), model: call.model.0.into_owned() })
        })
        .collect();
    entry.subtasks = session.subagents.0.into_iter().map(|subagent| subagent.subtask(unit.number)).collect();
    Ok(entry)
}

/// The message that an event belongs to: events of one answer form a message, and so do results in a row.
fn group(event: &NormalizedEvent<'_>, agent: &str) -> EntryGroup {
    match (event.k.as_str(), event.call.0) {
        ("asst" | "think" | "call", Some(call)) => EntryGroup::Answer(call.to_string()),
        // In Codex every item is a message of its own.
        ("result", _) if agent != "codex" => EntryGroup::Results,
        _ => EntryGroup::Alone,
    }
}

fn kind(event: NormalizedEvent<'_>) -> Kind {
    let text = event.t.0.unwrap_or_default();
    match event.k.as_str() {
        "asst" => Kind::Assistant { text },
        "think" => Kind::Reasoning { text, sealed_bytes: usize::try_from(event.sig.or_zero()).unwrap_or_default() },
        "call" => Kind::Call { id: event.id.0.into_owned(), tool: event.tool.0.into_owned(), input: text },
        "result" => {
            let outcome = match event.err.0 {
                Some(true) => CallOutcome::Failed,
                Some(false) => CallOutcome::Succeeded,
                None => CallOutcome::Unsaid,
            };
            let held = crate::content::held(&text);
            Kind::Result { id: event.id.0.into_owned(), tool: event.tool.0.into_owned(), text, outcome, held }
        }
        "summary" => {
            let summary = if text.is_empty() { None } else { Some(text) };
            Kind::Compaction { summary, kept: Vec::new() }
        }
        _ => match event.meta.as_str() {
            "system" | "developer" => Kind::System { text },
            "" | "user" => Kind::User { voice: voice_of(&text), text },
            _ => Kind::User { text, voice: Voice::Client },
        },
    }
}

impl NormalizedCall<'_> {
    fn usage(&self) -> Usage {
        let cache_read_tokens = self.cr.or_zero();
        let cache_write_tokens = self.cw.or_zero();
        Usage {
            fresh_tokens: self.prompt.or_zero().saturating_sub(cache_read_tokens + cache_write_tokens),
            cache_read_tokens,
            cache_write_tokens,
            output_tokens: self.out.or_zero(),
        }
    }
}

impl Subagent<'_> {
    /// The work of a subagent as a subtask. Its calls have no ids in this form, so results are matched to calls in
    /// order.
    fn subtask(self, entry: u64) -> Subtask {
        let mut items = Vec::with_capacity(self.msgs.0.len());
        let mut open: VecDeque<(String, String)> = VecDeque::new();
        for (part, message) in (0_u32..).zip(self.msgs.0) {
            let (who, tool, text): (String, String, String) = match serde_json::from_str(message.get()) {
                Ok(said) => said,
                Err(_) => continue,
            };
            let kind = match who.as_str() {
                "call" => {
                    let id = format!("{}.{part}", self.id.as_str());
                    open.push_back((id.clone(), tool.clone()));
                    Kind::Call { id, tool, input: text }
                }
                "result" => {
                    let (id, tool) = open.pop_front().unwrap_or_default();
                    Kind::Result { id, tool, text, outcome: CallOutcome::Unsaid, held: HeldContent::Whole }
                }
                "asst" => Kind::Assistant { text },
                "think" => Kind::Reasoning { text, sealed_bytes: 0 },
                _ => Kind::User { text, voice: Voice::Person },
            };
            items.push(Item { place: ItemPosition { entry, part }, message: u64::from(part), kind });
        }
        Subtask { call: self.id.0.into_owned(), items }
    }
}

#[cfg(test)]
mod tests;
