//! What becomes of results in the thread that they were seen in, as it stands.

use infold_core::view::Verb;
use infold_core::{Command, Counter, Operation, Scrubbed, Thread};
use infold_store::{Counted, Loaded, NewBlob};

use super::seen::{Instead, Seen};
use super::{Shown, Taken, TakenIn};
use crate::change::notice;

/// What was chosen, and what has to be recorded for it.
pub(super) struct Choice {
    pub(super) commands: Vec<Command>,
    pub(super) blobs: Vec<NewBlob>,
    pub(super) counted: Vec<Counted>,
    pub(super) taken: TakenIn,
}

/// What is left of a thread.
enum Room {
    /// Nothing bounds it.
    Unbounded,
    /// A branch's budget.
    Tokens(u64),
    /// It is over: nothing can be counted in it.
    Over,
}

impl Room {
    fn of(loaded: &Loaded, thread: &Thread) -> Self {
        if loaded.session.ended_at_ms.is_some() {
            return Self::Over;
        }
        let Thread::Branch(id) = thread else { return Self::Unbounded };
        match loaded.session.branches.get(id) {
            Some(branch) if branch.is_open() => Self::Tokens(branch.budget_left_tokens()),
            Some(_) | None => Self::Over,
        }
    }

    /// Whether there is room for so many tokens, which are counted only where that matters.
    fn has(&self, tokens: impl FnOnce() -> u64) -> bool {
        match self {
            Self::Unbounded => true,
            Self::Tokens(left_tokens) => tokens() <= *left_tokens,
            Self::Over => false,
        }
    }

    /// Takes an item in. A branch folds with what fills it, and with what does not fit any more.
    fn take(&mut self, tokens: u64) {
        match self {
            Self::Unbounded | Self::Over => {}
            Self::Tokens(left_tokens) if tokens >= *left_tokens => *self = Self::Over,
            Self::Tokens(left_tokens) => *left_tokens -= tokens,
        }
    }
}

impl Choice {
    pub(super) fn make(loaded: &Loaded, thread: &Thread, all: &[Seen], counter: Counter) -> Self {
        let mut room = Room::of(loaded, thread);
        let folded = match (&room, thread.branch()) {
            (Room::Over, Some(id)) => notice(&loaded.session, id),
            _ => None,
        };
        let taken = TakenIn { results: Vec::with_capacity(all.len()), folded };
        let mut choice = Self { commands: Vec::new(), blobs: Vec::new(), counted: Vec::new(), taken };
        for seen in all {
            let before = loaded.counted.iter().find(|counted| counted.call == seen.call);
            let is_repeated = choice.counted.iter().any(|counted| counted.call == seen.call);
            let shown = match before {
                Some(before) => again(before, seen),
                None if is_repeated || matches!(room, Room::Over) => seen.stays.clone(),
                None => choice.take(seen, thread, &mut room, counter),
            };
            choice.taken.results.push(Taken { call_id: seen.call_id.clone(), shown });
        }
        choice
    }

    /// Takes in a result that was not counted before.
    fn take(&mut self, seen: &Seen, thread: &Thread, room: &mut Room, counter: Counter) -> Shown {
        // The call itself is part of the model's answer, and is counted with that.
        let remarks_tokens = counter.count(seen.remarks.as_str());
        let tokens = |text: &Scrubbed| counter.count(text.as_str()) + remarks_tokens;
        let fits = |text: &Scrubbed| room.has(|| tokens(text));
        let goes = seen.instead.as_ref().filter(|instead| instead.is_long || !fits(&seen.content));
        let text = goes.map_or(&seen.content, |instead| text_instead(instead, seen, fits));
        let is_changed = goes.is_some() || seen.stays != Shown::AsItIs;
        if !counts(seen, thread, is_changed) {
            return seen.stays.clone();
        }
        let (tokens, fits) = (tokens(text), fits(text));
        let shown = match goes {
            Some(instead) if fits && text != &seen.content => {
                Shown::Reference { text: seen.with_remarks(text), blob: instead.blob.clone() }
            }
            Some(_) | None => seen.stays.clone(),
        };
        self.record(seen, thread, goes, text.clone(), tokens);
        let offloaded = match &shown {
            Shown::Reference { text, blob } => Some((blob.clone(), text.clone())),
            Shown::AsItIs | Shown::Parts(_) => None,
        };
        self.counted.push(Counted { call: seen.call, content: seen.digest, offloaded });
        room.take(tokens);
        shown
    }

    fn record(&mut self, seen: &Seen, thread: &Thread, goes: Option<&Instead>, text: Scrubbed, tokens: u64) {
        self.blobs.extend(goes.map(|instead| NewBlob {
            id: instead.blob.clone(),
            tool_name: seen.tool.clone(),
            content: seen.content.clone(),
            branch: thread.branch().cloned(),
        }));
        let operation = Operation {
            tool: seen.tool.clone(),
            call_id: seen.scrubbed_call_id.clone(),
            arguments: seen.arguments.clone(),
            result: text,
            blob: goes.map(|instead| instead.blob.clone()),
            tokens,
        };
        self.commands.push(Command::Observe { thread: Some(thread.clone()), operation: Box::new(operation) });
    }
}

/// Whether a result is counted. What opens and folds branches was counted when it did. In the main thread,
/// which nothing bounds, only what was changed is worth a write to disk.
fn counts(seen: &Seen, thread: &Thread, is_changed: bool) -> bool {
    match (Verb::of(seen.tool.as_str()), thread) {
        (Some(Verb::Open | Verb::Return | Verb::RollBack), _) => false,
        (Some(Verb::Read | Verb::Ask) | None, Thread::Branch(_)) => true,
        (Some(Verb::Read | Verb::Ask) | None, Thread::Main) => is_changed,
    }
}

/// What stands in place of a result: the most that has room, if that is shorter than the result itself.
fn text_instead<'a>(instead: &'a Instead, seen: &'a Seen, fits: impl Fn(&Scrubbed) -> bool) -> &'a Scrubbed {
    let is_shorter = |text: &Scrubbed| text.as_str().len() < seen.content.as_str().len();
    if is_shorter(&instead.shaped) && fits(&instead.shaped) {
        &instead.shaped
    } else if instead.is_long || is_shorter(&instead.reference) {
        &instead.reference
    } else {
        &seen.content
    }
}

/// What is shown of a result that was counted before, by a process that came to no more than that.
fn again(before: &Counted, seen: &Seen) -> Shown {
    match &before.offloaded {
        Some((blob, text)) if before.content == seen.digest => {
            Shown::Reference { text: text.clone(), blob: blob.clone() }
        }
        Some(_) | None => seen.stays.clone(),
    }
}
