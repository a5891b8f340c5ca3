//! Takes over a session that another client recorded: its transcript as entries that any provider takes.
//!
//! What must hold: the entries are what the model of the recording saw last, so what a compaction replaced and what was
//! cleared stays away; reasoning is left out, because it belongs to a request that is not sent any more; each call has
//! its result right behind the calls of its answer; ids are unique and of a form that all providers take; tools keep their
//! names. A transcript that begins with the model gets a note in front of it, because providers want the user first.

use std::collections::{HashMap, HashSet};

use infold_core::transcript::{CLEARED, CallOutcome, HeldContent, Item, Kind, Transcript, Voice};
use serde_json::Value;

use super::rounds::{SentIds, close_open_calls, is_blank};
use crate::{ResultOutcome, SpokenBy, ThreadEntry};

/// What comes in front of a session whose beginning is not known.
const BEGINNING: &str = "(The beginning of this session is not known.)";

/// The entries of a recorded session, as its model saw it last.
pub fn entries_of(transcript: &Transcript) -> Vec<ThreadEntry> {
    let items = last_seen(&transcript.items);
    let cleared = cleared_calls(&items);
    let mut ids = SentIds::default();
    // The new id of the latest call with each of the recording's ids.
    let mut known: HashMap<&str, String> = HashMap::new();
    let entries = items.into_iter().filter_map(|item| match &item.kind {
        Kind::User { text, voice } => words(text, *voice),
        Kind::Compaction { summary, .. } => summary.as_deref().and_then(|text| words(text, Voice::Client)),
        Kind::Assistant { text } => (!is_blank(text)).then(|| ThreadEntry::Assistant { text: text.clone() }),
        Kind::Call { id, tool, input } => {
            let new = ids.of(id);
            known.insert(id, new.clone());
            Some(ThreadEntry::Call { id: new, tool: tool.clone(), arguments: arguments(input) })
        }
        Kind::Result { id, tool, text, outcome, held } => {
            let is_cleared = *held == HeldContent::Cleared || cleared.contains(id.as_str());
            Some(ThreadEntry::Result {
                call: known.get(id.as_str())?.clone(),
                tool: tool.clone(),
                text: if is_cleared { CLEARED.to_owned() } else { text.clone() },
                outcome: match outcome {
                    CallOutcome::Unsaid | CallOutcome::Succeeded => ResultOutcome::Succeeded,
                    CallOutcome::Failed => ResultOutcome::Failed,
                },
            })
        }
        Kind::Other { name, .. } => words(&format!("[{name}, left out]"), Voice::Client),
        Kind::System { .. } | Kind::Reasoning { .. } | Kind::Clearing { .. } => None,
    });
    in_order(entries.collect())
}

/// The items from the latest compaction on that left a summary to read, with what it kept. A summary that is sealed says
/// nothing, and all that it was made of is still there.
fn last_seen(items: &[Item]) -> Vec<&Item> {
    let is_start = |item: &Item| match &item.kind {
        Kind::Compaction { summary, .. } => summary.as_deref().is_some_and(|summary| !is_blank(summary)),
        _ => false,
    };
    let Some(at) = items.iter().rposition(is_start) else { return items.iter().collect() };
    let kept = match &items[at].kind {
        Kind::Compaction { kept, .. } => kept.as_slice(),
        _ => &[],
    };
    std::iter::once(&items[at]).chain(kept).chain(&items[at + 1..]).collect()
}

fn cleared_calls<'a>(items: &[&'a Item]) -> HashSet<&'a str> {
    let clearings = items.iter().filter_map(|item| match &item.kind {
        Kind::Clearing { calls } => Some(calls),
        _ => None,
    });
    clearings.flatten().map(String::as_str).collect()
}

fn words(text: &str, voice: Voice) -> Option<ThreadEntry> {
    let by = match voice {
        Voice::Person => SpokenBy::Person,
        Voice::Client => SpokenBy::Agent,
    };
    (!is_blank(text)).then(|| ThreadEntry::user(text, by))
}

/// What a call was made with: an object, or the plain text that some tools take.
fn arguments(input: &str) -> Value {
    let read = serde_json::from_str::<Value>(input).ok().filter(Value::is_object);
    read.unwrap_or_else(|| Value::String(input.to_owned()))
}

/// Puts each result right behind the calls of its answer, once, and closes calls without one.
fn in_order(mut entries: Vec<ThreadEntry>) -> Vec<ThreadEntry> {
    entries.extend(close_open_calls(&entries));
    let mut results: HashMap<String, ThreadEntry> = HashMap::new();
    for entry in &entries {
        if let ThreadEntry::Result { call, .. } = entry {
            results.entry(call.clone()).or_insert_with(|| entry.clone());
        }
    }
    let mut ordered = Vec::with_capacity(entries.len() + 1);
    if entries.first().is_some_and(|entry| !matches!(entry, ThreadEntry::User { .. })) {
        ordered.push(ThreadEntry::user(BEGINNING, SpokenBy::Agent));
    }
    let mut open: Vec<ThreadEntry> = Vec::new();
    for entry in entries {
        match &entry {
            ThreadEntry::Call { id, .. } => {
                open.extend(results.remove(id));
                ordered.push(entry);
            }
            ThreadEntry::User { .. } => {
                ordered.append(&mut open);
                ordered.push(entry);
            }
            ThreadEntry::Result { .. } => ordered.append(&mut open),
            ThreadEntry::Assistant { .. } | ThreadEntry::Reasoning { .. } => ordered.push(entry),
        }
    }
    ordered.append(&mut open);
    ordered
}

#[cfg(test)]
mod tests;
