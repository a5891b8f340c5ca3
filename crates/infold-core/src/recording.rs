//! An infold session's own log, read as a transcript: what one thread's model got to see.
//!
//! A thread sees its brief, its own calls, and for each branch that it opened the call with what came back. Work
//! inside a branch is in that branch's thread alone, and what a rollback has discarded is in no thread. A branch that
//! was opened again and has not ended yet has given nothing back, whatever it gave the first time.
//!
//! What must hold: each call is in one message with its result, so removing whole messages never separates the two.

use std::collections::{BTreeMap, BTreeSet};

use crate::transcript::{CallOutcome, HeldContent, Item, ItemPosition, Kind, Voice};
use crate::{BranchId, EndReason, Event, Opening, Operation, OwnTool, Scrubbed, Status, Thread};

/// Shown as the result of a branch that is still at work.
const STILL_OPEN: &str = "[This branch is still open and has not returned yet.]";

/// What `thread` got to see of a session that has this log. `inherited` is the context that the session began with, if
/// it is a fork: the log has only the handle of that.
pub fn items(events: &[Event], thread: &Thread, inherited: Option<&str>) -> Vec<Item> {
    let ends = Ends::of(events);
    let mut writer = TranscriptWriter::default();
    for (entry, event) in (1..).zip(events) {
        match event {
            Event::SessionForked { origin, prompt } if *thread == Thread::Main => {
                writer.inherit(entry, origin.preamble.as_str(), inherited.unwrap_or_default());
                writer.words(entry, prompt.as_ref());
            }
            Event::BranchOpened(opening) if thread.branch() == Some(&opening.branch) => {
                writer.words(entry, Some(&opening_message(opening)));
            }
            Event::BranchOpened(opening) if opening.parent == *thread && !ends.discarded.contains(&opening.branch) => {
                writer.branch(entry, opening, ends.last.get(&opening.branch));
            }
            Event::OperationSeen { thread: seen_in, operation } if seen_in == thread => {
                writer.operation(entry, operation);
            }
            Event::SessionStarted { .. }
            | Event::SessionForked { .. }
            | Event::BranchOpened(_)
            | Event::BranchActivated { .. }
            | Event::OperationSeen { .. }
            | Event::Said { .. }
            | Event::Answered { .. }
            | Event::BudgetWarning { .. }
            | Event::BudgetExhausted { .. }
            | Event::BranchEnded { .. }
            | Event::ResultAmended { .. }
            | Event::RolledBack { .. }
            | Event::EndsReported { .. }
            | Event::SessionEnded {} => {}
        }
    }
    writer.items
}

/// How the branches of a log have ended by the log's last event.
#[derive(Default)]
struct Ends<'a> {
    /// Why each branch ended and what it gave back; open branches are not in it.
    last: BTreeMap<&'a BranchId, (EndReason, &'a Scrubbed)>,
    discarded: BTreeSet<&'a BranchId>,
}

impl<'a> Ends<'a> {
    fn of(events: &'a [Event]) -> Self {
        let mut ends = Self::default();
        for event in events {
            match event {
                Event::BranchEnded { branch, reason, result, .. } => {
                    ends.last.insert(branch, (*reason, result));
                }
                Event::ResultAmended { branch, result, .. } => {
                    if let Some(last) = ends.last.get_mut(branch) {
                        last.1 = result;
                    }
                }
                Event::RolledBack { reopened, discarded, .. } => {
                    ends.last.retain(|branch, _| !reopened.contains(*branch));
                    ends.discarded.extend(discarded);
                }
                Event::SessionStarted { .. }
                | Event::SessionForked { .. }
                | Event::BranchOpened(_)
                | Event::BranchActivated { .. }
                | Event::OperationSeen { .. }
                | Event::Said { .. }
                | Event::Answered { .. }
                | Event::BudgetWarning { .. }
                | Event::BudgetExhausted { .. }
                | Event::EndsReported { .. }
                | Event::SessionEnded {} => {}
            }
        }
        ends
    }
}

/// Collects items; each call of a method writes one message.
#[derive(Default)]
struct TranscriptWriter {
    items: Vec<Item>,
    message: u64,
    part: u32,
}

impl TranscriptWriter {
    /// Writes one message that holds an item for each kind, all read from the log's entry `entry`.
    fn message<const N: usize>(&mut self, entry: u64, kinds: [Kind; N]) {
        let same_entry = self.items.last().is_some_and(|last| last.place.entry == entry);
        self.part = if same_entry { self.part } else { 0 };
        for kind in kinds {
            self.items.push(Item { place: ItemPosition { entry, part: self.part }, message: self.message, kind });
            self.part += 1;
        }
        self.message += 1;
    }

    fn words(&mut self, entry: u64, text: Option<&Scrubbed>) {
        if let Some(text) = text {
            let text = text.as_str().to_owned();
            self.message(entry, [Kind::User { text, voice: Voice::Person }]);
        }
    }

    /// Writes what a fork began with. It counts as the client's words, because the person never wrote them.
    fn inherit(&mut self, entry: u64, preamble: &str, context: &str) {
        let text = if context.is_empty() { preamble.to_owned() } else { format!("{preamble}\n\n{context}") };
        self.message(entry, [Kind::User { text, voice: Voice::Client }]);
    }

    fn operation(&mut self, entry: u64, operation: &Operation) {
        let id = match &operation.call_id {
            Some(id) => id.as_str().to_owned(),
            None => format!("call_{entry}"),
        };
        let tool = operation.tool.as_str().to_owned();
        let input = operation.arguments.as_str().to_owned();
        let text = operation.result.as_str().to_owned();
        let call = Kind::Call { id: id.clone(), tool: tool.clone(), input };
        self.message(
            entry,
            [call, Kind::Result { id, tool, text, outcome: CallOutcome::Unsaid, held: HeldContent::Whole }],
        );
    }

    fn branch(&mut self, entry: u64, opening: &Opening, end: Option<&(EndReason, &Scrubbed)>) {
        let id = opening.branch.to_string();
        let tool = OwnTool::BranchCreate.name().to_owned();
        let call = Kind::Call { id: id.clone(), tool: tool.clone(), input: brief(opening) };
        let (text, outcome) = match end {
            Some((reason, result)) => (result.as_str().to_owned(), outcome(*reason)),
            None => (STILL_OPEN.to_owned(), CallOutcome::Unsaid),
        };
        self.message(entry, [call, Kind::Result { id, tool, text, outcome, held: HeldContent::Whole }]);
    }
}

/// The message that a branch's own thread begins with.
fn opening_message(opening: &Opening) -> Scrubbed {
    let injected = opening.injected.as_ref().map(|given| &given.text);
    let parts: Vec<&Scrubbed> = [&opening.description].into_iter().chain(&opening.prompt).chain(injected).collect();
    Scrubbed::join(&parts, "\n\n")
}

/// The arguments of the call that opened a branch, as its caller wrote them.
fn brief(opening: &Opening) -> String {
    let mut input = serde_json::json!({ "description": opening.description });
    if let Some(prompt) = &opening.prompt {
        input["prompt"] = serde_json::json!(prompt);
    }
    input.to_string()
}

fn outcome(reason: EndReason) -> CallOutcome {
    match reason.status() {
        Status::Completed => CallOutcome::Succeeded,
        Status::Timeout | Status::Failed => CallOutcome::Failed,
        Status::Created | Status::Active => CallOutcome::Unsaid,
    }
}

#[cfg(test)]
mod tests;
