//! Parses infold's own log, one event on each line.
//!
//! A single line says which thread it belongs to. What a thread saw follows from the whole log, and
//! `infold_core::recording` works that out.

use infold_core::transcript::{Subtask, Transcript};
use infold_core::{Event, Thread, recording};

use super::Unit;
use crate::form::Format;
use crate::reader::Entry;

/// Parses one event into the items that it adds to its own thread.
pub(crate) fn parse(unit: &Unit<'_>) -> Result<Entry, serde_json::Error> {
    let event: Event = serde_json::from_str(unit.text)?;
    let thread = match &event {
        Event::BranchOpened(opening) => opening.parent.clone(),
        Event::OperationSeen { thread, .. } => thread.clone(),
        _ => Thread::Main,
    };
    let mut items = recording::items(std::slice::from_ref(&event), &thread, None);
    for item in &mut items {
        item.place.entry = unit.number;
        // Every event is a message of its own.
        item.message = unit.number - 1;
    }
    Ok(Entry { items, subtask: thread.branch().map(ToString::to_string), ..Entry::default() })
}

/// Builds the transcript of a whole log: the main thread, and each branch as a subtask.
pub(crate) fn transcript(events: &[Event], session: Option<String>) -> Transcript {
    let subtasks = events
        .iter()
        .filter_map(|event| match event {
            Event::BranchOpened(opening) => Some(Subtask {
                call: opening.branch.to_string(),
                items: recording::items(events, &Thread::Branch(opening.branch.clone()), None),
            }),
            _ => None,
        })
        .collect();
    let items = recording::items(events, &Thread::Main, None);
    Transcript { client: Format::Infold.client(), session, items, calls: Vec::new(), subtasks }
}

#[cfg(test)]
mod tests;
