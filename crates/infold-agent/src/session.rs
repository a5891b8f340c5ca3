//! Sessions: what follows from a log. Pure: the same records always give the same session.
//!
//! What must hold: each thread's entries are what its model is sent, in order; a result is in the thread of its call; going
//! back gives exactly what was there.

use std::collections::{BTreeMap, BTreeSet};

use infold_core::compaction::SummaryFacts;
use infold_core::{BranchId, Thread};
use serde::{Deserialize, Serialize};

use crate::image::KnownImages;
use crate::record::{Beginning, SessionRecord, SkillPlace, SystemPrompt};
use crate::tools::change::FileChange;
use crate::{SpokenBy, ThreadEntry};

/// What comes behind the words of a model that was interrupted.
const INTERRUPTED: &str = "[Your answer was interrupted here by the person.]";
/// A session of the agent's.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AgentSession {
    /// What it began with; `None` if nothing was recorded yet.
    pub beginning: Option<Beginning>,
    /// Its threads.
    pub threads: BTreeMap<Thread, ThreadState>,
    /// What its models get before the conversation.
    pub system: Option<SystemPrompt>,
    /// What a person said while the agent was at work, and no model has seen yet.
    pub waiting: Vec<ThreadEntry>,
    /// The notes that the model keeps.
    pub notes: String,
    /// Skills whose instructions are in the prompt, in the order in which they were activated.
    pub skills: Vec<String>,
    /// How many records its log has.
    pub records: u64,
    /// How often it went back to an earlier record.
    pub rewinds: u64,
    /// The bytes of its images.
    pub images: KnownImages,
    /// The ids of all calls, also of those that a compaction or a rewind took out: none is given twice.
    pub calls: BTreeSet<String>,
}

/// A thread of a session.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ThreadState {
    /// What its model is sent.
    pub entries: Vec<ThreadEntry>,
    /// The thread and the call that opened it; `None` for the main thread.
    pub opened_by: Option<(Thread, String)>,
    /// Whether it is over.
    pub is_over: bool,
    /// How many answers its model gave.
    pub turns: u64,
    /// After how many answers it was started anew, each time.
    pub compacted_at: Vec<u64>,
    /// What its summary was made of, if it has one.
    pub facts: Option<SummaryFacts>,
}

/// A call that has no result yet.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenCall {
    /// The id that its result has to name.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// What it was called with.
    pub arguments: serde_json::Value,
}

/// What a thread needs next.
#[derive(Debug, Clone, PartialEq)]
pub enum NextStep {
    /// Its model has to answer.
    AskModel,
    /// These calls have to be carried out.
    RunCalls(Vec<OpenCall>),
    /// What a person said meanwhile has to be added to it.
    SayWaiting,
    /// Nothing: its model has said its last word, or nobody has said anything yet.
    Rest,
}

/// A record with its place in the log.
pub type NumberedRecord = (u64, SessionRecord);

impl AgentSession {
    /// The session that a whole log leads to.
    pub fn replay(log: Vec<NumberedRecord>) -> Self {
        Self::default().and(log)
    }

    /// The session that more of its log leads to, which does not go back behind what it was made of.
    pub(crate) fn and(mut self, log: Vec<NumberedRecord>) -> Self {
        let records = log.last().map_or(self.records, |(seq, _)| *seq);
        self.rewinds += log.iter().filter(|(_, record)| matches!(record, SessionRecord::Rewound { .. })).count() as u64;
        self.calls.extend(log.iter().flat_map(|(_, record)| record.calls()));
        for (_, record) in live(log) {
            self.apply(record);
        }
        self.records = records;
        self
    }

    /// Adds one record, which is not a rewind: those are found when a log is replayed.
    pub fn apply(&mut self, record: SessionRecord) {
        self.records += 1;
        self.calls.extend(record.calls());
        match record {
            SessionRecord::Began(beginning) => self.beginning = Some(beginning),
            SessionRecord::Instructed(system) => self.system = Some(system),
            SessionRecord::Said { thread, entries } => self.thread_mut(thread).entries.extend(entries),
            SessionRecord::Waiting { entries } => self.waiting.extend(entries),
            SessionRecord::WaitingTaken { count } => drop(self.waiting.drain(..count.min(self.waiting.len()))),
            SessionRecord::ModelChosen { provider, model } => {
                if let Some(beginning) = &mut self.beginning {
                    (beginning.provider, beginning.model) = (provider, model);
                }
            }
            SessionRecord::Answered { thread, entries, .. } => {
                let thread = self.thread_mut(thread);
                thread.entries.extend(entries);
                thread.turns += 1;
            }
            SessionRecord::Image { id, data, .. } => _ = self.images.insert(id, data),
            SessionRecord::Interrupted { thread, said } => self.thread_mut(thread).entries.extend(interrupted(said)),
            SessionRecord::TakenBack { thread, entry } => self.thread_mut(thread).take_back(entry),
            SessionRecord::ImagesLeftOut { thread } => self.thread_mut(thread).leave_images_out(),
            SessionRecord::Result { thread, entry, .. } => self.thread_mut(thread).entries.push(entry),
            SessionRecord::Opened { thread, call, branch, start } => {
                let opened = ThreadState { entries: start, opened_by: Some((thread, call)), ..ThreadState::default() };
                self.threads.insert(Thread::Branch(branch), opened);
            }
            SessionRecord::Folded { branch, .. } => self.thread_mut(Thread::Branch(branch)).is_over = true,
            SessionRecord::Compacted { thread, start, facts, .. } => {
                let thread = self.thread_mut(thread);
                thread.compacted_at.push(thread.turns);
                thread.facts = Some(*facts);
                thread.entries = start;
            }
            SessionRecord::Noted { text } => self.notes = text,
            SessionRecord::SkillUsed { name, place } => match place {
                SkillPlace::InPrompt => self.skills.push(name),
                SkillPlace::InConversation => {}
            },
            SessionRecord::Rewound { .. } | SessionRecord::Finished { .. } => {}
        }
    }

    /// What a thread needs next. A person's words come between two steps of the main thread, never in front of a result that
    /// its model waits for.
    pub fn next_step(&self, thread: &Thread) -> NextStep {
        let step = self.threads.get(thread).map_or(NextStep::Rest, ThreadState::next_step);
        match step {
            NextStep::AskModel | NextStep::Rest if *thread == Thread::Main && !self.waiting.is_empty() => {
                NextStep::SayWaiting
            }
            step => step,
        }
    }

    /// The branch that a call opened, if it did.
    pub fn opened_by(&self, thread: &Thread, call: &str) -> Option<&BranchId> {
        let is_it = |state: &ThreadState| state.opened_by.as_ref().is_some_and(|(by, id)| by == thread && id == call);
        self.threads.iter().find(|(_, state)| is_it(state)).and_then(|(name, _)| name.branch())
    }

    fn thread_mut(&mut self, thread: Thread) -> &mut ThreadState {
        self.threads.entry(thread).or_default()
    }
}

impl ThreadState {
    /// What the thread needs next, by itself.
    fn next_step(&self) -> NextStep {
        if self.is_over {
            return NextStep::Rest;
        }
        let open = self.open_calls();
        if !open.is_empty() {
            return NextStep::RunCalls(open);
        }
        match self.entries.last() {
            Some(ThreadEntry::User { .. } | ThreadEntry::Result { .. }) => NextStep::AskModel,
            Some(ThreadEntry::Assistant { .. } | ThreadEntry::Reasoning { .. } | ThreadEntry::Call { .. }) | None => {
                NextStep::Rest
            }
        }
    }

    /// Calls without a result.
    pub fn open_calls(&self) -> Vec<OpenCall> {
        let mut open: Vec<OpenCall> = Vec::new();
        for entry in &self.entries {
            match entry {
                ThreadEntry::Call { id, tool, arguments } => {
                    open.push(OpenCall { id: id.clone(), tool: tool.clone(), arguments: arguments.clone() });
                }
                ThreadEntry::Result { call, .. } => open.retain(|waiting| waiting.id != *call),
                ThreadEntry::User { .. } | ThreadEntry::Assistant { .. } | ThreadEntry::Reasoning { .. } => {}
            }
        }
        open
    }

    /// The model's last words; empty if it has said none since somebody else spoke.
    pub fn last_words(&self) -> String {
        let mut words: Vec<&str> = Vec::new();
        for entry in self.entries.iter().rev() {
            match entry {
                ThreadEntry::Assistant { text } => words.push(text),
                ThreadEntry::Reasoning { .. } | ThreadEntry::Call { .. } => {}
                ThreadEntry::User { .. } | ThreadEntry::Result { .. } => break,
            }
        }
        words.reverse();
        words.join("\n\n")
    }
}

/// What a thread goes on from after an interrupt: the model's words, and on the user's side that they are not all.
fn interrupted(said: String) -> [ThreadEntry; 2] {
    [ThreadEntry::Assistant { text: said }, ThreadEntry::user(INTERRUPTED, SpokenBy::Agent)]
}

/// The records that are still part of their session: a rewind takes those out that it went back from.
pub fn live(log: Vec<NumberedRecord>) -> Vec<NumberedRecord> {
    let mut live: Vec<NumberedRecord> = Vec::with_capacity(log.len());
    for (seq, record) in log {
        match record {
            SessionRecord::Rewound { to } => live.retain(|(seq, _)| *seq <= to),
            record => live.push((seq, record)),
        }
    }
    live
}

/// The changes of files behind a record, the newest first: what a rewind to that record has to undo.
pub fn changes_behind(log: Vec<NumberedRecord>, to: u64) -> Vec<FileChange> {
    let behind = live(log).into_iter().filter(|(seq, _)| *seq > to);
    let mut changes: Vec<FileChange> = behind
        .filter_map(|(_, record)| match record {
            SessionRecord::Result { changes, .. } => Some(changes),
            _ => None,
        })
        .flatten()
        .collect();
    changes.reverse();
    changes
}
