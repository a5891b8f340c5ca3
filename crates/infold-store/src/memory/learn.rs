//! Learning: all that a batch of ends leads to, and the mark up to which was learnt, in one transaction. If another process
//! was faster, nothing is written.

use std::collections::BTreeMap;

use infold_core::memory::{BeliefMove, LessonSource, Memory, MemoryId, MemoryState};
use infold_core::{BranchId, Owner};
use rusqlite::{Transaction, params};

use super::asks::{self, NewAsk};
use super::keep::{self, EvidenceKind, Kept, KeptMemory, NewEvidence};
use super::row::{self, stored};
use super::undo::NewChange;
use super::{forget, pending::ShownMemory};
use crate::codec::column;
use crate::{Store, StoreError};

/// One write of a step.
#[derive(Debug, Clone)]
pub enum LearnWrite {
    /// A new memory, or new words for one that is there; see [`KeptMemory`].
    Keep {
        /// The memory.
        kept: Box<KeptMemory>,
        /// What speaks for it.
        evidence: NewEvidence,
    },
    /// What is believed of a memory moves. The same evidence of the same end moves it once.
    Move {
        /// Whose memory it is.
        owner: Owner,
        /// The memory.
        memory: MemoryId,
        /// By what.
        by: BeliefMove,
        /// Where that comes from.
        evidence: NewEvidence,
    },
    /// A memory gets another state.
    Turn {
        /// Whose memory it is.
        owner: Owner,
        /// The memory.
        memory: MemoryId,
        /// What becomes of it.
        state: MemoryState,
    },
    /// A model is to be asked about an ended branch.
    Ask(NewAsk),
    /// No model is to be asked about any end of a branch.
    LeaveUnasked {
        /// Whose branch it is.
        owner: Owner,
        /// The branch.
        branch: BranchId,
    },
}

/// What a batch of ends leads to.
#[derive(Debug, Clone)]
pub struct LearnStep {
    /// The mark that it was decided on.
    pub from: u64,
    /// The mark after it.
    pub to: u64,
    /// What is written, in order.
    pub writes: Vec<LearnWrite>,
    /// How many memories an owner may have.
    pub memories_max: u64,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
}

/// How learning went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LearnAnswer {
    /// It is done.
    Learnt {
        /// Memories that are new.
        made: u64,
        /// Lessons that were forgotten before, or found no room.
        left_out: u64,
        /// Memories that had to make room.
        evicted: u64,
    },
    /// Another process was faster: nothing was written.
    Overtaken,
}

impl Store {
    /// Learns from a batch of ends.
    pub async fn learn(&self, step: LearnStep) -> Result<LearnAnswer, StoreError> {
        let secret = *self.secret();
        self.inner.writer.run(move |transaction| learn(transaction, &step, &secret)).await
    }
}

fn learn(transaction: &Transaction<'_>, step: &LearnStep, secret: &[u8; 32]) -> Result<LearnAnswer, StoreError> {
    let moved = transaction
        .prepare_cached("UPDATE instance SET learnt = ?2 WHERE learnt = ?1")?
        .execute(params![step.from, step.to])?;
    if moved == 0 {
        return Ok(LearnAnswer::Overtaken);
    }
    let written = WrittenLessons::write(transaction, step, secret)?;
    count_shown(transaction, step)?;
    clear(transaction, step)?;
    let WrittenLessons { made, left_out, evicted } = written;
    Ok(LearnAnswer::Learnt { made, left_out, evicted })
}

/// What writing came to.
pub(super) struct WrittenLessons {
    pub(super) made: u64,
    left_out: u64,
    evicted: u64,
}

impl WrittenLessons {
    /// Writes all that a step leads to, in order.
    pub(super) fn write(
        transaction: &Transaction<'_>,
        step: &LearnStep,
        secret: &[u8; 32],
    ) -> Result<Self, StoreError> {
        let (mut quota, mut made, mut left_out) = (Quota::new(step.memories_max), 0, 0);
        let mut changes = BTreeMap::new();
        for write in &step.writes {
            match write {
                LearnWrite::Keep { kept, evidence } => {
                    let owner = &kept.memory.origin.owner;
                    if forget::was_forgotten(transaction, &kept.memory, secret)?
                        || !quota.make_room(transaction, &kept.memory)?
                    {
                        left_out += 1;
                        continue;
                    }
                    let change = change_of(transaction, &mut changes, owner, step.at_ms)?;
                    made += match keep::keep(transaction, kept, evidence, change)? {
                        Kept::New => 1,
                        Kept::Again => 0,
                    };
                }
                LearnWrite::Move { owner, memory, by, evidence } => {
                    move_once(transaction, owner, memory, *by, evidence)?;
                }
                LearnWrite::Turn { owner, memory, state } => {
                    let change = change_of(transaction, &mut changes, owner, step.at_ms)?;
                    turn(transaction, owner, memory, state, change)?;
                }
                LearnWrite::Ask(ask) => asks::list(transaction, ask)?,
                LearnWrite::LeaveUnasked { owner, branch } => asks::leave(transaction, owner, branch)?,
            }
        }
        Ok(Self { made, left_out, evicted: quota.evicted })
    }
}

fn change_of(
    transaction: &Transaction<'_>,
    changes: &mut BTreeMap<String, NewChange>,
    owner: &Owner,
    at_ms: u64,
) -> Result<NewChange, StoreError> {
    if let Some(change) = changes.get(owner.as_str()) {
        return Ok(*change);
    }
    let change = NewChange::begin(transaction, owner, "learnt", at_ms)?;
    changes.insert(owner.as_str().to_owned(), change);
    Ok(change)
}

/// Moves what is believed of a memory, unless this end has done so before: a late result comes after its end.
fn move_once(
    transaction: &Transaction<'_>,
    owner: &Owner,
    memory: &MemoryId,
    by: BeliefMove,
    evidence: &NewEvidence,
) -> Result<(), StoreError> {
    if let Some((branch, generation)) = &evidence.branch {
        let sql = "SELECT 1 FROM memory_evidence WHERE memory = ?1 AND what = ?2 AND branch = ?3 AND generation = ?4";
        let key = params![memory.as_str(), by.as_str(), branch.as_str(), generation];
        if transaction.prepare_cached(sql)?.exists(key)? {
            return Ok(());
        }
    }
    let evidence = NewEvidence { kind: EvidenceKind::Moved(by), ..evidence.clone() };
    let moved = keep::move_belief(transaction, owner, memory, by, &evidence)?;
    let is_use = matches!(by, BeliefMove::HelpedBranch | BeliefMove::FailedBranch);
    if moved.is_some() && is_use {
        transaction.prepare_cached("UPDATE memories SET used = used + 1 WHERE id = ?1")?.execute([memory.as_str()])?;
    }
    Ok(())
}

fn turn(
    transaction: &Transaction<'_>,
    owner: &Owner,
    memory: &MemoryId,
    state: &MemoryState,
    change: NewChange,
) -> Result<(), StoreError> {
    let Some(found) = row::read(transaction, owner, memory)? else { return Ok(()) };
    change.note(transaction, owner, memory, Some(&found))?;
    let after = Memory { state: state.clone(), ..found.memory.clone() };
    keep::rewrite(transaction, &found, &after, None)
}

/// Counts what the openings of the branches that ended were given, once each.
fn count_shown(transaction: &Transaction<'_>, step: &LearnStep) -> Result<(), StoreError> {
    let mut statement = transaction.prepare_cached(
        "UPDATE memory_shown SET counted = 1 WHERE counted = 0 AND branch IN
             (SELECT branch FROM events WHERE id > ?1 AND id <= ?2 AND status IS NOT NULL)
         RETURNING memories, at, owner",
    )?;
    let mut rows = statement.query(params![step.from, step.to])?;
    let mut counted: Vec<(Vec<ShownMemory>, u64, String)> = Vec::new();
    while let Some(row) = rows.next()? {
        counted.push((column(row, 0, "memories")?, row.get(1)?, row.get(2)?));
    }
    for (memories, at_ms, owner) in counted {
        for shown in memories {
            transaction
                .prepare_cached(
                    "UPDATE memories SET shown = shown + 1, shown_at = max(coalesce(shown_at, 0), ?3)
                     WHERE id = ?1 AND owner = ?2",
                )?
                .execute(params![shown.id.as_str(), owner, at_ms])?;
        }
    }
    Ok(())
}

/// Deletes what was said about lessons at the ends that were learnt from, unless a later event says it anew.
fn clear(transaction: &Transaction<'_>, step: &LearnStep) -> Result<(), StoreError> {
    transaction
        .prepare_cached(
            "DELETE FROM memory_lessons WHERE (branch, generation) IN
                 (SELECT branch, generation FROM events WHERE id > ?1 AND id <= ?2 AND status IS NOT NULL)
             AND NOT EXISTS (SELECT 1 FROM events WHERE id > ?2 AND status IS NOT NULL
                 AND events.branch = memory_lessons.branch AND events.generation = memory_lessons.generation)",
        )?
        .execute(params![step.from, step.to])?;
    Ok(())
}

/// How many memories owners may still have. The one that is believed least of those that nobody wrote makes room.
pub(super) struct Quota {
    memories_max: u64,
    counts: BTreeMap<String, u64>,
    pub(super) evicted: u64,
}

impl Quota {
    pub(super) fn new(memories_max: u64) -> Self {
        Self { memories_max, counts: BTreeMap::new(), evicted: 0 }
    }

    /// Makes room for a memory. Returns whether there is some.
    pub(super) fn make_room(&mut self, transaction: &Transaction<'_>, memory: &Memory) -> Result<bool, StoreError> {
        let owner = &memory.origin.owner;
        if row::read(transaction, owner, &memory.id)?.is_some() {
            return Ok(true);
        }
        let count = match self.counts.get(owner.as_str()) {
            Some(count) => *count,
            None => transaction
                .prepare_cached("SELECT count(*) FROM memories WHERE owner = ?1")?
                .query_row([owner.as_str()], |row| row.get(0))?,
        };
        let has_room = count < self.memories_max || self.evict(transaction, owner)?;
        let after = if count < self.memories_max { count + 1 } else { count };
        self.counts.insert(owner.as_str().to_owned(), after);
        Ok(has_room)
    }

    fn evict(&mut self, transaction: &Transaction<'_>, owner: &Owner) -> Result<bool, StoreError> {
        let sql = format!(
            "SELECT {} FROM memories WHERE owner = ?1 AND source = ?2
             ORDER BY for_it / (for_it + against), evidence_at, id LIMIT 1",
            row::COLUMNS
        );
        let found = {
            let mut statement = transaction.prepare_cached(&sql)?;
            let mut rows = statement.query([owner.as_str(), LessonSource::Mechanical.as_str()])?;
            rows.next()?.map(stored).transpose()?
        };
        let Some(found) = found else { return Ok(false) };
        row::delete(transaction, &found)?;
        self.evicted += 1;
        Ok(true)
    }
}
