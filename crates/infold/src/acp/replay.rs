//! A session that is opened again, as what happened in it: the whole of it, also what compactions took out since.

use std::collections::HashMap;

use infold_agent::record::SessionRecord;
use infold_agent::session::{NumberedRecord, live};
use infold_agent::tools::FileTexts;
use infold_agent::tools::change::{FileChange, FileState};
use infold_agent::watch::AgentEvent;
use infold_agent::{ResultOutcome, SpokenBy, ThreadEntry};
use infold_core::record::Usage;
use infold_core::{Thread, grouped};
use serde_json::Value;

/// Something that happened.
pub enum Replayed {
    /// A person spoke.
    Words(String),
    /// The agent did something.
    Event(AgentEvent),
    /// A call opened a branch.
    Opened {
        /// The branch.
        branch_id: String,
        /// The thread of the call.
        parent: Thread,
        /// The call.
        call_id: String,
    },
}

/// What happened in a session, in order.
pub fn replayed(log: Vec<NumberedRecord>) -> Vec<Replayed> {
    let mut replay = Replay::default();
    for (_, record) in live(log) {
        replay.record(record);
    }
    let waiting = std::mem::take(&mut replay.waiting);
    waiting.into_iter().for_each(|entry| replay.entry(&Thread::Main, entry, &[]));
    replay.all
}

#[derive(Default)]
struct Replay {
    all: Vec<Replayed>,
    /// What each call was called with.
    calls: HashMap<String, Value>,
    /// What a person said meanwhile, and no model has seen.
    waiting: Vec<ThreadEntry>,
}

impl Replay {
    fn record(&mut self, record: SessionRecord) {
        match record {
            SessionRecord::Said { thread, entries } => {
                entries.into_iter().for_each(|entry| self.entry(&thread, entry, &[]));
            }
            SessionRecord::Answered { thread, entries, .. } => {
                entries.into_iter().for_each(|entry| self.entry(&thread, entry, &[]));
                self.all.push(Replayed::Event(AgentEvent::Answered { thread, usage: Usage::default() }));
            }
            SessionRecord::Result { thread, entry, changes, .. } => self.entry(&thread, entry, &changes),
            SessionRecord::Opened { thread, call, branch, .. } => {
                let branch_id = branch.to_string();
                self.all.push(Replayed::Opened { branch_id, parent: thread, call_id: call });
            }
            SessionRecord::Compacted { thread, result, .. } => {
                let (from, to) = (grouped(result.before_tokens), grouped(result.after_tokens));
                let receipt = format!("The context was compacted here: {from} tokens became {to}.");
                self.all.push(Replayed::Event(AgentEvent::Compacted { thread, result, receipt }));
            }
            SessionRecord::Interrupted { thread, said } => {
                self.entry(&thread, ThreadEntry::Assistant { text: said }, &[]);
            }
            SessionRecord::Waiting { entries } => self.waiting.extend(entries),
            SessionRecord::WaitingTaken { count } => drop(self.waiting.drain(..count.min(self.waiting.len()))),
            SessionRecord::Began(_)
            | SessionRecord::Instructed(_)
            | SessionRecord::ModelChosen { .. }
            | SessionRecord::Folded { .. }
            | SessionRecord::Noted { .. }
            | SessionRecord::Image { .. }
            | SessionRecord::TakenBack { .. }
            | SessionRecord::ImagesLeftOut { .. }
            | SessionRecord::SkillUsed { .. }
            | SessionRecord::Rewound { .. }
            | SessionRecord::Finished { .. } => {}
        }
    }

    fn entry(&mut self, thread: &Thread, entry: ThreadEntry, changes: &[FileChange]) {
        let thread = thread.clone();
        let happened = match entry {
            ThreadEntry::User { text, by: SpokenBy::Person, .. } if thread == Thread::Main => Replayed::Words(text),
            // What the agent says to a model by itself is no part of the conversation, and neither are sealed thoughts.
            ThreadEntry::User { .. } | ThreadEntry::Reasoning { .. } => return,
            ThreadEntry::Assistant { text } => Replayed::Event(AgentEvent::Text { thread, text }),
            ThreadEntry::Call { id, tool, arguments } => {
                self.calls.insert(id.clone(), arguments.clone());
                Replayed::Event(AgentEvent::Call { thread, call_id: id, tool, arguments })
            }
            ThreadEntry::Result { call, tool, text, outcome } => {
                let arguments = self.calls.get(&call).unwrap_or(&Value::Null);
                let edited = edited(&tool, arguments, changes);
                let is_error = outcome == ResultOutcome::Failed;
                Replayed::Event(AgentEvent::Result { thread, call_id: call, tool, is_error, text, edited })
            }
        };
        self.all.push(happened);
    }
}

/// What a call changed, as far as the call itself says it: the texts of files are not kept. Of an edit it is the part that
/// was replaced; a file that was written over is not shown.
fn edited(tool: &str, arguments: &Value, changes: &[FileChange]) -> Vec<FileTexts> {
    let text = |name: &str| arguments[name].as_str().map(str::to_owned);
    let texts = |change: &FileChange| {
        let (before, after) = match (tool, &change.before) {
            ("edit", _) => (Some(text("old")?), text("new")?),
            ("write", FileState::Absent) => (None, text("content")?),
            _ => return None,
        };
        Some(FileTexts { path: change.path.clone(), before, after })
    };
    changes.iter().filter_map(texts).collect()
}
