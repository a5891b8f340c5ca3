//! Forgetting: memories go with everything that was derived from them and from nothing else. It is the one change that
//! cannot be undone. What stays are names and dates, and a keyed hash by which the same words are not learnt again.

use std::collections::{BTreeMap, BTreeSet};

use infold_core::memory::{Belief, LessonSource, Memory, MemoryId, ProjectKey};
use infold_core::{BranchId, Owner, Scrubbed, SessionId};
use rusqlite::{Transaction, params};

use super::held::{self, HeldText};
use super::keep::EvidenceKind;
use super::row::{self, StoredMemory};
use super::{asks, places};
use crate::connection::open_writer;
use crate::{Store, StoreError};

/// How often it is tried to empty the write-ahead log, which readers may hold.
const CHECKPOINTS_MAX: usize = 3;
/// A belief keeps so much on each side, whatever evidence is taken from it.
const BELIEF_MIN: f64 = 0.5;

/// What is to be forgotten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForgetSource {
    /// These memories.
    Memories(Vec<MemoryId>),
    /// All that was learnt in a session.
    Session(SessionId),
    /// All that was learnt in a branch.
    Branch(BranchId),
    /// All with a label: `import:`, `tool:` or `host:` and a name.
    Label(String),
    /// All of a project.
    Project(ProjectKey),
    /// All that people wrote.
    Hand,
}

/// What was forgotten, or would be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Forgotten {
    /// The memories, with their titles, in order of names.
    pub memories: Vec<(MemoryId, Scrubbed)>,
    /// How many others lost evidence.
    pub weakened: u64,
    /// How many archived branches were deleted.
    pub archived: u64,
    /// How many branches' lessons were deleted before they were learnt.
    pub pending: u64,
    /// Live sessions that hold text of it until they lapse.
    pub held: Vec<HeldText>,
}

/// What forgetting comes to.
#[derive(Default)]
struct ForgetPlan {
    memories: BTreeMap<MemoryId, StoredMemory>,
    /// Evidence that goes: its row, its memory, and by how much it counted.
    evidence: BTreeMap<i64, (MemoryId, Belief)>,
    /// Memories that have to be looked at yet.
    new: Vec<MemoryId>,
}

impl Store {
    /// Says what would be forgotten.
    pub async fn preview_forgetting(&self, owner: Owner, source: ForgetSource) -> Result<Forgotten, StoreError> {
        self.read(move |transaction| {
            let plan = plan(transaction, &owner, &source)?;
            report(transaction, &owner, &source, &plan)
        })
        .await
    }

    /// Forgets, and leaves no byte of the text in the database or its log, but for what live sessions hold.
    pub async fn forget_memories(
        &self,
        owner: Owner,
        source: ForgetSource,
        at_ms: u64,
    ) -> Result<Forgotten, StoreError> {
        let secret = *self.secret();
        let forgotten =
            self.inner.writer.run(move |transaction| forget(transaction, &owner, &source, &secret, at_ms)).await?;
        self.empty_log().await?;
        Ok(forgotten)
    }

    /// Writes the log back into the database and cuts it off, so that no page of before is left in it.
    async fn empty_log(&self) -> Result<(), StoreError> {
        let inner = std::sync::Arc::clone(&self.inner);
        let work = move || {
            let connection = open_writer(&inner.path, inner.readers.settings())?;
            for _ in 0..CHECKPOINTS_MAX {
                let is_busy: bool = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
                if !is_busy {
                    return Ok(());
                }
            }
            Err(StoreError::Busy)
        };
        tokio::task::spawn_blocking(work).await.map_err(|_| StoreError::Closed)?
    }
}

/// Whether words like these were forgotten. What a person writes is kept all the same.
pub(super) fn was_forgotten(
    transaction: &Transaction<'_>,
    memory: &Memory,
    secret: &[u8; 32],
) -> Result<bool, StoreError> {
    if memory.origin.source == LessonSource::Hand {
        return Ok(false);
    }
    let sql = "SELECT 1 FROM memory_forgotten WHERE owner = ?1 AND hash = ?2";
    let key = params![memory.origin.owner.as_str(), hash_of(memory, secret)];
    Ok(transaction.prepare_cached(sql)?.exists(key)?)
}

fn hash_of(memory: &Memory, secret: &[u8; 32]) -> [u8; 32] {
    let key = blake3::derive_key("infold 2026 words of forgotten memories", secret);
    *blake3::keyed_hash(&key, memory.lesson.text().as_str().as_bytes()).as_bytes()
}

fn plan(transaction: &Transaction<'_>, owner: &Owner, source: &ForgetSource) -> Result<ForgetPlan, StoreError> {
    let mut plan = ForgetPlan { new: named(transaction, owner, source)?, ..ForgetPlan::default() };
    if let Some((column, value)) = evidence_filter(source) {
        plan.take_evidence(transaction, owner, column, value)?;
    }
    while let Some(id) = plan.new.pop() {
        if plan.memories.contains_key(&id) {
            continue;
        }
        let Some(found) = row::read(transaction, owner, &id)? else { return Err(StoreError::UnknownMemory(id)) };
        plan.take_evidence(transaction, owner, "from_memory", id.as_str())?;
        plan.memories.insert(id, found);
    }
    let ForgetPlan { memories, evidence, .. } = &mut plan;
    evidence.retain(|_, (memory, _)| !memories.contains_key(memory));
    Ok(plan)
}

/// The memories that a source names by itself.
fn named(transaction: &Transaction<'_>, owner: &Owner, source: &ForgetSource) -> Result<Vec<MemoryId>, StoreError> {
    let (column, value) = match source {
        ForgetSource::Memories(ids) => return Ok(ids.clone()),
        ForgetSource::Session(session) => ("session", session.as_str().to_owned()),
        ForgetSource::Branch(branch) => ("branch", branch.as_str().to_owned()),
        ForgetSource::Label(label) => ("label", label.clone()),
        ForgetSource::Project(project) => {
            ("project", places::project_named(transaction, owner, project)?.as_str().to_owned())
        }
        ForgetSource::Hand => ("source", LessonSource::Hand.as_str().to_owned()),
    };
    let sql = format!("SELECT id FROM memories WHERE owner = ?1 AND {column} = ?2 ORDER BY id");
    let mut statement = transaction.prepare_cached(&sql)?;
    let mut rows = statement.query([owner.as_str(), value.as_str()])?;
    let mut found = Vec::new();
    while let Some(named) = rows.next()? {
        found.push(row::id_of(named.get(0)?)?);
    }
    Ok(found)
}

/// By which column evidence that comes from a source is found.
fn evidence_filter(source: &ForgetSource) -> Option<(&'static str, &str)> {
    match source {
        ForgetSource::Session(session) => Some(("session", session.as_str())),
        ForgetSource::Branch(branch) => Some(("branch", branch.as_str())),
        ForgetSource::Memories(_) | ForgetSource::Label(_) | ForgetSource::Project(_) | ForgetSource::Hand => None,
    }
}

impl ForgetPlan {
    /// Takes evidence away. A memory goes if its words came with that evidence, or if it is left with none.
    fn take_evidence(
        &mut self,
        transaction: &Transaction<'_>,
        owner: &Owner,
        column: &str,
        value: &str,
    ) -> Result<(), StoreError> {
        let sql = format!(
            "SELECT memory_evidence.id, memory, what, memory_evidence.for_it, memory_evidence.against
             FROM memory_evidence JOIN memories ON memories.id = memory
             WHERE memory_evidence.owner = ?1 AND memories.owner = ?1 AND memory_evidence.{column} = ?2
             ORDER BY memory_evidence.id"
        );
        let mut statement = transaction.prepare_cached(&sql)?;
        let mut rows = statement.query([owner.as_str(), value])?;
        while let Some(evidence) = rows.next()? {
            let (id, memory) = (evidence.get(0)?, row::id_of(evidence.get(1)?)?);
            let what: String = evidence.get(2)?;
            let by = Belief { for_it: evidence.get(3)?, against: evidence.get(4)? };
            let is_new = self.evidence.insert(id, (memory.clone(), by)).is_none();
            let has_its_words = what == EvidenceKind::Reworded.as_str();
            if is_new && (has_its_words || self.leaves_nothing(transaction, &memory)?) {
                self.new.push(memory);
            }
        }
        Ok(())
    }

    fn leaves_nothing(&self, transaction: &Transaction<'_>, memory: &MemoryId) -> Result<bool, StoreError> {
        let mut statement = transaction.prepare_cached("SELECT id FROM memory_evidence WHERE memory = ?1")?;
        let mut rows = statement.query([memory.as_str()])?;
        while let Some(evidence) = rows.next()? {
            if !self.evidence.contains_key(&evidence.get(0)?) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn forget(
    transaction: &Transaction<'_>,
    owner: &Owner,
    source: &ForgetSource,
    secret: &[u8; 32],
    at_ms: u64,
) -> Result<Forgotten, StoreError> {
    let plan = plan(transaction, owner, source)?;
    let report = report(transaction, owner, source, &plan)?;
    for (row, (memory, by)) in &plan.evidence {
        weaken(transaction, owner, memory, *by)?;
        transaction.prepare_cached("DELETE FROM memory_evidence WHERE id = ?1")?.execute([row])?;
    }
    for found in plan.memories.values() {
        note_forgotten(transaction, &found.memory, secret, at_ms)?;
        row::delete(transaction, found)?;
        asks::leave_memory(transaction, owner, &found.memory.id)?;
    }
    // What went wrong in learning may be said with words of a lesson.
    transaction.prepare_cached("UPDATE memory_failures SET problem = ''")?.execute([])?;
    transaction.prepare_cached("UPDATE memory_spending SET problem = NULL")?.execute([])?;
    if let ForgetSource::Project(project) = source {
        asks::leave_project(transaction, owner, &places::project_named(transaction, owner, project)?)?;
    }
    for rows in beside(owner, source) {
        let sql = format!("DELETE FROM {}", rows.filter);
        transaction.prepare_cached(&sql)?.execute([rows.key, rows.name])?;
    }
    Ok(report)
}

/// Takes from the belief in a memory what evidence had given it.
fn weaken(transaction: &Transaction<'_>, owner: &Owner, id: &MemoryId, by: Belief) -> Result<(), StoreError> {
    let Some(mut found) = row::read(transaction, owner, id)? else { return Ok(()) };
    let Belief { for_it, against } = &mut found.memory.belief;
    *for_it = (*for_it - by.for_it).max(BELIEF_MIN);
    *against = (*against - by.against).max(BELIEF_MIN);
    row::write(transaction, &found.memory, found.ordinal)?;
    Ok(())
}

fn note_forgotten(
    transaction: &Transaction<'_>,
    memory: &Memory,
    secret: &[u8; 32],
    at_ms: u64,
) -> Result<(), StoreError> {
    let origin = &memory.origin;
    transaction
        .prepare_cached(
            "INSERT OR REPLACE INTO memory_forgotten
                 (memory, owner, source, session, branch, generation, hash, made_at, at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?
        .execute(params![
            memory.id.as_str(),
            origin.owner.as_str(),
            origin.source.as_str(),
            origin.session.as_ref().map(SessionId::as_str),
            origin.branch.as_ref().map(|(branch, _)| branch.as_str()),
            origin.branch.as_ref().map(|(_, generation)| generation),
            hash_of(memory, secret),
            memory.made_at_ms,
            at_ms
        ])?;
    Ok(())
}

/// Rows that a source has left beside memories.
struct RowsBeside {
    /// The table, and which of its rows.
    filter: &'static str,
    key: String,
    name: String,
}

/// Archived branches of a source, then its lessons that wait to be learnt, then what a model would be asked about.
fn beside(owner: &Owner, source: &ForgetSource) -> Vec<RowsBeside> {
    let rows = |filter, key: &str, name: &str| RowsBeside { filter, key: key.to_owned(), name: name.to_owned() };
    let (owner, of_owner) = (owner.as_str(), format!("{}/", owner.as_str()));
    match source {
        ForgetSource::Session(session) => vec![
            rows("archive WHERE owner = ?1 AND session = ?2", owner, session.as_str()),
            rows("memory_lessons WHERE session = ?1 || ?2", &of_owner, session.as_str()),
            rows("memory_asks WHERE owner = ?1 AND session = ?2", owner, session.as_str()),
        ],
        ForgetSource::Branch(branch) => vec![
            rows("archive WHERE owner = ?1 AND branch = ?2", owner, branch.as_str()),
            rows(
                "memory_lessons WHERE substr(session, 1, length(?1)) = ?1 AND branch = ?2",
                &of_owner,
                branch.as_str(),
            ),
            rows("memory_asks WHERE owner = ?1 AND branch = ?2", owner, branch.as_str()),
        ],
        ForgetSource::Memories(_) | ForgetSource::Label(_) | ForgetSource::Project(_) | ForgetSource::Hand => {
            Vec::new()
        }
    }
}

/// What a plan comes to, in numbers and names.
fn report(
    transaction: &Transaction<'_>,
    owner: &Owner,
    source: &ForgetSource,
    plan: &ForgetPlan,
) -> Result<Forgotten, StoreError> {
    let mut counts = [0, 0];
    for (count, rows) in counts.iter_mut().zip(beside(owner, source)) {
        let sql = format!("SELECT count(*) FROM {}", rows.filter);
        *count = transaction.prepare_cached(&sql)?.query_row([rows.key, rows.name], |row| row.get(0))?;
    }
    let [archived, pending] = counts;
    let ids: Vec<MemoryId> = plan.memories.keys().cloned().collect();
    let mut sessions: Vec<SessionId> =
        plan.memories.values().filter_map(|found| found.memory.origin.session.clone()).collect();
    if let ForgetSource::Session(session) = source {
        sessions.push(session.clone());
    }
    let mut held = held::in_openings(transaction, owner, &ids)?;
    held.extend(held::in_logs(transaction, owner, &sessions)?);
    let weakened: BTreeSet<&MemoryId> = plan.evidence.values().map(|(memory, _)| memory).collect();
    Ok(Forgotten {
        memories: plan.memories.iter().map(|(id, found)| (id.clone(), found.memory.lesson.title.clone())).collect(),
        weakened: weakened.len() as u64,
        archived,
        pending,
        held,
    })
}
