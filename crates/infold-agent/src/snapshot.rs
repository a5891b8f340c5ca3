//! Snapshots: what a session is resumed from after a compaction, so that a resume does not read all of a long log.
//!
//! A session with images has no new snapshot: their bytes are in the log, which is read then.
//!
//! What must hold: a snapshot and the records behind it give the same session as the whole log. One that cannot be read,
//! or that a rewind went back behind, is not used.

use std::collections::{BTreeMap, BTreeSet};

use infold_core::Thread;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ThreadEntry;
use crate::record::{Beginning, SessionRecord, SystemPrompt};
use crate::session::{AgentSession, NumberedRecord, ThreadState};

/// The first message of a snapshot: what it holds beside the entries of the main thread.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    /// How many records the log had.
    through: u64,
    beginning: Option<Beginning>,
    system: Option<SystemPrompt>,
    #[serde(default)]
    waiting: Vec<ThreadEntry>,
    notes: String,
    skills: Vec<String>,
    /// How often the session went back.
    #[serde(default)]
    rewinds: u64,
    /// The ids of all calls so far. A snapshot without them is from before they were kept, and is not used.
    calls: BTreeSet<String>,
    /// The main thread without its entries, which follow.
    main: ThreadState,
    /// The other threads.
    threads: BTreeMap<Thread, ThreadState>,
}

/// A session as the messages of a snapshot.
pub(crate) fn messages(session: &AgentSession) -> Vec<Value> {
    let mut threads = session.threads.clone();
    let mut main = threads.remove(&Thread::Main).unwrap_or_default();
    let entries = std::mem::take(&mut main.entries);
    let head = Head {
        through: session.records,
        beginning: session.beginning.clone(),
        system: session.system.clone(),
        waiting: session.waiting.clone(),
        notes: session.notes.clone(),
        skills: session.skills.clone(),
        rewinds: session.rewinds,
        calls: session.calls.clone(),
        main,
        threads,
    };
    let head = serde_json::to_value(head).unwrap_or_default();
    let entries = entries.iter().map(|entry| serde_json::to_value(entry).unwrap_or_default());
    std::iter::once(head).chain(entries).collect()
}

/// How many records the log had when a snapshot was made; `None` if it is none of ours.
pub fn through(messages: &str) -> Option<u64> {
    read(messages).map(|session| session.records)
}

/// The session that a snapshot and the records behind it lead to; `None` if they do not fit together, and the whole log
/// has to be read.
pub fn resume(messages: &str, behind: Vec<NumberedRecord>) -> Option<AgentSession> {
    let session = read(messages)?;
    let through = session.records;
    let goes_back = |record: &SessionRecord| matches!(record, SessionRecord::Rewound { to } if *to < through);
    if behind.iter().any(|(_, record)| goes_back(record)) {
        return None;
    }
    Some(session.and(behind))
}

fn read(messages: &str) -> Option<AgentSession> {
    let messages: Vec<Value> = serde_json::from_str(messages).ok()?;
    let (head, entries) = messages.split_first()?;
    let head: Head = serde_json::from_value(head.clone()).ok()?;
    let entries = entries.iter().map(|entry| serde_json::from_value(entry.clone()));
    let entries = entries.collect::<Result<Vec<ThreadEntry>, _>>().ok()?;
    let mut threads = head.threads;
    threads.insert(Thread::Main, ThreadState { entries, ..head.main });
    Some(AgentSession {
        beginning: head.beginning,
        system: head.system,
        threads,
        waiting: head.waiting,
        notes: head.notes,
        skills: head.skills,
        records: head.through,
        rewinds: head.rewinds,
        calls: head.calls,
        images: Default::default(),
    })
}
