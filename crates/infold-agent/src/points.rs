//! Points: the records of a session that it can go back to, and what of the session is behind one.
//!
//! What must hold: at a point the main thread is as its model saw it then, so that the next request from there has the same
//! bytes.

use infold_core::{BranchId, Thread};

use crate::record::SessionRecord;
use crate::session::NumberedRecord;
use crate::{SpokenBy, ThreadEntry};

/// A record that a session can go back to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RewindPoint {
    /// The record's place in the log.
    pub record: u64,
    /// What happened there.
    pub kind: PointKind,
    /// What was said, or which tools were called.
    pub words: String,
}

/// What happened at a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PointKind {
    /// A person spoke.
    Said,
    /// The model answered.
    Answered,
    /// The main thread was started anew.
    Compacted,
}

impl PointKind {
    /// A word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Said => "said",
            Self::Answered => "answered",
            Self::Compacted => "compacted",
        }
    }
}

/// The points of a session, from the records that are still part of it.
pub fn points(live: &[NumberedRecord]) -> Vec<RewindPoint> {
    live.iter().filter_map(|(seq, record)| point(*seq, record)).collect()
}

fn point(seq: u64, record: &SessionRecord) -> Option<RewindPoint> {
    let (kind, words) = match record {
        SessionRecord::Said { thread: Thread::Main, entries } => (PointKind::Said, person_words(entries)?),
        SessionRecord::Answered { thread: Thread::Main, entries, .. } => (PointKind::Answered, model_words(entries)),
        SessionRecord::Compacted { thread: Thread::Main, result, .. } => {
            let from = infold_core::grouped(result.before_tokens);
            let to = infold_core::grouped(result.after_tokens);
            (PointKind::Compacted, format!("{from} tokens became {to}"))
        }
        SessionRecord::Began(_)
        | SessionRecord::Instructed(_)
        | SessionRecord::Said { .. }
        | SessionRecord::Waiting { .. }
        | SessionRecord::WaitingTaken { .. }
        | SessionRecord::ModelChosen { .. }
        | SessionRecord::Answered { .. }
        | SessionRecord::Result { .. }
        | SessionRecord::Opened { .. }
        | SessionRecord::Folded { .. }
        | SessionRecord::Compacted { .. }
        | SessionRecord::Noted { .. }
        | SessionRecord::Image { .. }
        | SessionRecord::Interrupted { .. }
        | SessionRecord::TakenBack { .. }
        | SessionRecord::ImagesLeftOut { .. }
        | SessionRecord::SkillUsed { .. }
        | SessionRecord::Rewound { .. }
        | SessionRecord::Finished { .. } => return None,
    };
    Some(RewindPoint { record: seq, kind, words })
}

/// The first words of a person in these entries; `None` if only the agent speaks.
pub fn person_words(entries: &[ThreadEntry]) -> Option<String> {
    let words = |entry: &ThreadEntry| match entry {
        ThreadEntry::User { text, by: SpokenBy::Person, .. } => Some(text.clone()),
        ThreadEntry::User { .. }
        | ThreadEntry::Assistant { .. }
        | ThreadEntry::Reasoning { .. }
        | ThreadEntry::Call { .. }
        | ThreadEntry::Result { .. } => None,
    };
    // A session that was taken over begins with all that was said in it, and the person's words now come last.
    entries.iter().rev().find_map(words)
}

/// The model's words in an answer, else the tools that it called.
fn model_words(entries: &[ThreadEntry]) -> String {
    let said = entries.iter().find_map(|entry| match entry {
        ThreadEntry::Assistant { text } => Some(text.clone()),
        ThreadEntry::User { .. }
        | ThreadEntry::Reasoning { .. }
        | ThreadEntry::Call { .. }
        | ThreadEntry::Result { .. } => None,
    });
    said.unwrap_or_else(|| {
        let called = entries.iter().filter_map(|entry| match entry {
            ThreadEntry::Call { tool, .. } => Some(tool.as_str()),
            ThreadEntry::User { .. }
            | ThreadEntry::Assistant { .. }
            | ThreadEntry::Reasoning { .. }
            | ThreadEntry::Result { .. } => None,
        });
        format!("({})", called.collect::<Vec<_>>().join(", "))
    })
}

/// The branches that were opened behind a record.
pub fn branches_behind(live: &[NumberedRecord], to: u64) -> Vec<BranchId> {
    let opened = |(seq, record): &NumberedRecord| match record {
        SessionRecord::Opened { branch, .. } if *seq > to => Some(branch.clone()),
        SessionRecord::Opened { .. }
        | SessionRecord::Began(_)
        | SessionRecord::Instructed(_)
        | SessionRecord::Said { .. }
        | SessionRecord::Waiting { .. }
        | SessionRecord::WaitingTaken { .. }
        | SessionRecord::ModelChosen { .. }
        | SessionRecord::Answered { .. }
        | SessionRecord::Result { .. }
        | SessionRecord::Folded { .. }
        | SessionRecord::Compacted { .. }
        | SessionRecord::Noted { .. }
        | SessionRecord::Image { .. }
        | SessionRecord::Interrupted { .. }
        | SessionRecord::TakenBack { .. }
        | SessionRecord::ImagesLeftOut { .. }
        | SessionRecord::SkillUsed { .. }
        | SessionRecord::Rewound { .. }
        | SessionRecord::Finished { .. } => None,
    };
    live.iter().filter_map(opened).collect()
}

#[cfg(test)]
mod tests;
