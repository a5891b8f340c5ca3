//! A whole session as a transcript, for people and other programs: everything that was said in it, also what a compaction
//! has taken out of the prompt. What the session went back from is not part of it.

use std::collections::HashMap;

use infold_core::Thread;
use infold_core::transcript::{Client, Item, ItemPosition, Kind, Subtask, Transcript, Voice};

use crate::record::SessionRecord;
use crate::session::{NumberedRecord, live};
use crate::{SpokenBy, ThreadEntry};

/// The transcript of a session's log. Branches are subtasks of the calls that opened them.
pub fn transcript(session: &str, log: Vec<NumberedRecord>) -> Transcript {
    let mut threads: HashMap<Thread, Vec<Item>> = HashMap::new();
    let mut opened: Vec<(Thread, String)> = Vec::new();
    for (seq, record) in live(log) {
        let (thread, kinds) = match record {
            SessionRecord::Said { thread, entries } | SessionRecord::Answered { thread, entries, .. } => {
                (thread, kinds(&entries))
            }
            SessionRecord::Interrupted { thread, said } => (thread, vec![Kind::Assistant { text: said }]),
            SessionRecord::Result { thread, entry, .. } => (thread, vec![entry.kind()]),
            SessionRecord::Opened { branch, call, start, .. } => {
                let thread = Thread::Branch(branch);
                opened.push((thread.clone(), call));
                // What a branch inherits is in its parent.
                (thread, start.last().map(|brief| vec![brief.kind()]).unwrap_or_default())
            }
            SessionRecord::Compacted { thread, start, .. } => {
                let summary = start.iter().find_map(agents_words);
                (thread, vec![Kind::Compaction { summary, kept: Vec::new() }])
            }
            SessionRecord::TakenBack { thread, .. } => {
                let said = threads.entry(thread).or_default();
                let is_persons = |item: &Item| matches!(item.kind, Kind::User { voice: Voice::Person, .. });
                said.iter().rposition(is_persons).map(|at| said.remove(at));
                continue;
            }
            SessionRecord::Began(_)
            | SessionRecord::Instructed(_)
            | SessionRecord::Waiting { .. }
            | SessionRecord::WaitingTaken { .. }
            | SessionRecord::ModelChosen { .. }
            | SessionRecord::Folded { .. }
            | SessionRecord::Noted { .. }
            | SessionRecord::Image { .. }
            | SessionRecord::ImagesLeftOut { .. }
            | SessionRecord::SkillUsed { .. }
            | SessionRecord::Rewound { .. }
            | SessionRecord::Finished { .. } => continue,
        };
        let items =
            (0..).zip(kinds).map(|(part, kind)| Item { place: ItemPosition { entry: seq, part }, message: seq, kind });
        threads.entry(thread).or_default().extend(items);
    }
    let subtasks = opened.into_iter().map(|(thread, call)| {
        let items = threads.remove(&thread).unwrap_or_default();
        Subtask { call, items }
    });
    let subtasks = subtasks.collect();
    let items = threads.remove(&Thread::Main).unwrap_or_default();
    Transcript { client: Client::Infold, session: Some(session.to_owned()), items, calls: Vec::new(), subtasks }
}

fn kinds(entries: &[ThreadEntry]) -> Vec<Kind> {
    entries.iter().map(ThreadEntry::kind).collect()
}

/// Words of the agent's own: at the beginning of a thread that was started anew, the receipt.
fn agents_words(entry: &ThreadEntry) -> Option<String> {
    match entry {
        ThreadEntry::User { text, by: SpokenBy::Agent, .. } => Some(text.clone()),
        ThreadEntry::User { .. }
        | ThreadEntry::Assistant { .. }
        | ThreadEntry::Reasoning { .. }
        | ThreadEntry::Call { .. }
        | ThreadEntry::Result { .. } => None,
    }
}

#[cfg(test)]
mod tests;
