//! Sessions: what follows from a log. Pure: the same records always give the same session.
//!
//! What must hold: each thread's entries are what its model is sent, in order; a result is in the thread of its call; going
//! back gives exactly what was there.

use std::collections::BTreeMap;

use infold_core::compaction::SummaryFacts;
use infold_core::{BranchId, Thread};
use serde::{Deserialize, Serialize};

use crate::Entry;
use crate::record::{Beginning, Record};
use crate::tools::change::FileChange;

/// A session of the agent's.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AgentSession {
    /// What it began with; `None` if nothing was recorded yet.
    pub beginning: Option<Beginning>,
    /// Its threads.
    pub threads: BTreeMap<Thread, ThreadState>,
    /// The notes that the model keeps.
    pub notes: String,
    /// Skills that were activated, in order.
    pub skills: Vec<String>,
    /// How many records its log has.
    pub records: u64,
    /// How often it went back to an earlier record.
    pub rewinds: u64,
}

/// A thread of a session.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ThreadState {
    /// What its model is sent.
    pub entries: Vec<Entry>,
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
pub enum Step {
    /// Its model has to answer.
    AskModel,
    /// These calls have to be carried out.
    RunCalls(Vec<OpenCall>),
    /// Nothing: its model has said its last word, or nobody has said anything yet.
    Rest,
}

/// A record with its place in the log.
pub type NumberedRecord = (u64, Record);

impl AgentSession {
    /// The session that a whole log leads to.
    pub fn replay(log: Vec<NumberedRecord>) -> Self {
        Self::default().and(log)
    }

    /// The session that more of its log leads to, which does not go back behind what it was made of.
    pub(crate) fn and(mut self, log: Vec<NumberedRecord>) -> Self {
        let records = log.last().map_or(self.records, |(seq, _)| *seq);
        self.rewinds += log.iter().filter(|(_, record)| matches!(record, Record::Rewound { .. })).count() as u64;
        for (_, record) in live(log) {
            self.apply(record);
        }
        self.records = records;
        self
    }

    /// Adds one record, which is not a rewind: those are found when a log is replayed.
    pub fn apply(&mut self, record: Record) {
        self.records += 1;
        match record {
            Record::Began(beginning) => self.beginning = Some(beginning),
            Record::Said { thread, entries } => self.thread_mut(thread).entries.extend(entries),
            Record::Answered { thread, entries, .. } => {
                let thread = self.thread_mut(thread);
                thread.entries.extend(entries);
                thread.turns += 1;
            }
            Record::Result { thread, entry, .. } => self.thread_mut(thread).entries.push(entry),
            Record::Opened { thread, call, branch, start } => {
                let opened = ThreadState { entries: start, opened_by: Some((thread, call)), ..ThreadState::default() };
                self.threads.insert(Thread::Branch(branch), opened);
            }
            Record::Folded { branch, .. } => self.thread_mut(Thread::Branch(branch)).is_over = true,
            Record::Compacted { thread, start, facts, .. } => {
                let thread = self.thread_mut(thread);
                thread.compacted_at.push(thread.turns);
                thread.facts = Some(*facts);
                thread.entries = start;
            }
            Record::Noted { text } => self.notes = text,
            Record::SkillUsed { name } => self.skills.push(name),
            Record::Rewound { .. } | Record::Finished { .. } => {}
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
    /// What the thread needs next.
    pub fn next_step(&self) -> Step {
        if self.is_over {
            return Step::Rest;
        }
        let open = self.open_calls();
        if !open.is_empty() {
            return Step::RunCalls(open);
        }
        match self.entries.last() {
            Some(Entry::User { .. } | Entry::Result { .. }) => Step::AskModel,
            Some(Entry::Assistant { .. } | Entry::Reasoning { .. } | Entry::Call { .. }) | None => Step::Rest,
        }
    }

    /// Calls without a result.
    pub fn open_calls(&self) -> Vec<OpenCall> {
        let mut open: Vec<OpenCall> = Vec::new();
        for entry in &self.entries {
            match entry {
                Entry::Call { id, tool, arguments } => {
                    open.push(OpenCall { id: id.clone(), tool: tool.clone(), arguments: arguments.clone() });
                }
                Entry::Result { call, .. } => open.retain(|waiting| waiting.id != *call),
                Entry::User { .. } | Entry::Assistant { .. } | Entry::Reasoning { .. } => {}
            }
        }
        open
    }

    /// The model's last words; empty if it has said none since somebody else spoke.
    pub fn last_words(&self) -> String {
        let mut words: Vec<&str> = Vec::new();
        for entry in self.entries.iter().rev() {
            match entry {
                Entry::Assistant { text } => words.push(text),
                Entry::Reasoning { .. } | Entry::Call { .. } => {}
                Entry::User { .. } | Entry::Result { .. } => break,
            }
        }
        words.reverse();
        words.join("\n\n")
    }
}

/// The records that are still part of their session: a rewind takes those out that it went back from.
pub fn live(log: Vec<NumberedRecord>) -> Vec<NumberedRecord> {
    let mut live: Vec<NumberedRecord> = Vec::with_capacity(log.len());
    for (seq, record) in log {
        match record {
            Record::Rewound { to } => live.retain(|(seq, _)| *seq <= to),
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
            Record::Result { changes, .. } => Some(changes),
            _ => None,
        })
        .flatten()
        .collect();
    changes.reverse();
    changes
}
