//! Lists of memories, and one memory with all that is known of it.

use infold_core::memory::{Belief, Memory, MemoryId, MemoryKind, MemoryState, ProjectKey, Trust};
use infold_core::{BranchId, Owner, Scrubbed, SessionId};
use rusqlite::{Row, Transaction, params};

use super::pending::ShownMemory;
use super::row::{self, StoredMemory, stored};
use super::{marks, places};
use crate::codec::column;
use crate::gateway::stored_text;
use crate::requests::parse_session_id;
use crate::{Store, StoreError, StoredMark};

/// How many openings are listed under a memory.
const SHOWN_MAX: usize = 100;

/// Which memories a list has, by what has become of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateFilter {
    /// Those that are shown.
    Live,
    /// Those that wait for review.
    Waiting,
    /// All.
    All,
}

impl StateFilter {
    /// Whether a list with this filter has memories of a state.
    pub fn takes(self, state: &MemoryState) -> bool {
        match self {
            Self::Live => *state == MemoryState::Live,
            Self::Waiting => *state == MemoryState::Waiting,
            Self::All => true,
        }
    }
}

/// Selects memories for a list.
#[derive(Debug, Clone)]
pub struct MemoryFilter {
    /// Only this owner's.
    pub owner: Owner,
    /// Only those that count in this project, by any of its names; `None` means all.
    pub project: Option<ProjectKey>,
    /// Only those of a kind.
    pub kind: Option<MemoryKind>,
    /// Only those of a state.
    pub state: StateFilter,
    /// Only those of a session.
    pub session: Option<SessionId>,
    /// Only those of a branch.
    pub branch: Option<BranchId>,
    /// How many of the first to skip.
    pub offset: usize,
    /// How many to return at most.
    pub limit: usize,
}

/// A memory in a list.
#[derive(Debug, Clone)]
pub struct MemoryRow {
    /// The memory.
    pub memory: Memory,
    /// How many openings it was given to.
    pub shown: u64,
    /// How many branches relied on it.
    pub used: u64,
    /// When it was given to an opening last, in milliseconds since 1970.
    pub shown_at_ms: Option<u64>,
    /// Whether lines that it is about were seen to be other ones.
    pub is_changed: bool,
    /// Whether the work on its git branch was seen to be in the trunk.
    pub is_merged: bool,
}

/// What is believed of a memory.
#[derive(Debug, Clone, PartialEq)]
pub struct BelievedMemory {
    /// Its name.
    pub id: MemoryId,
    /// What speaks for it and what against it.
    pub belief: Belief,
    /// How far its words are trusted.
    pub trust: Trust,
    /// When something last spoke for it or against it, in milliseconds since 1970.
    pub evidence_at_ms: u64,
}

/// What has spoken for a memory or against it.
#[derive(Debug, Clone, PartialEq)]
pub struct EvidenceRow {
    /// The word for it.
    pub what: String,
    /// By how much what speaks for the memory grew.
    pub for_it: f64,
    /// By how much what speaks against it grew.
    pub against: f64,
    /// The session that it comes from.
    pub session: Option<String>,
    /// The branch that it comes from.
    pub branch: Option<String>,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
}

/// An opening that was given memories.
#[derive(Debug, Clone, PartialEq)]
pub struct ShownRow {
    /// The branch that was opened.
    pub branch: BranchId,
    /// Its session.
    pub session: SessionId,
    /// The project that it works in.
    pub project: Option<ProjectKey>,
    /// The git branch that it works on.
    pub git_branch: Option<Scrubbed>,
    /// What it was given, the first first.
    pub memories: Vec<ShownMemory>,
    /// The tokens of the text that it was given.
    pub tokens: u64,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
}

/// A memory with all that is known of it.
#[derive(Debug, Clone)]
pub struct MemoryDetail {
    /// The memory.
    pub row: MemoryRow,
    /// What has spoken for it and against it, oldest first.
    pub evidence: Vec<EvidenceRow>,
    /// Openings that it was given to, the newest first.
    pub shown_in: Vec<ShownRow>,
    /// Lines of the files that it is about.
    pub marks: Vec<StoredMark>,
}

/// How many memories an owner has, and what they were used for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MemoryCounts {
    /// Those that are shown.
    pub live: u64,
    /// Those that wait for review.
    pub waiting: u64,
    /// Those that were replaced.
    pub replaced: u64,
    /// Those that were rejected.
    pub rejected: u64,
    /// How many memories openings were given since the time asked for.
    pub given: u64,
    /// How many branches relied on memories since then.
    pub used: u64,
}

const SHOWN_COLUMNS: &str = "branch, session, project, git_branch, memories, tokens, at";

impl Store {
    /// Lists memories in the order in which they were made.
    pub async fn memories(&self, query: MemoryFilter) -> Result<Vec<MemoryRow>, StoreError> {
        self.read(move |transaction| list(transaction, &query)).await
    }

    /// Reads a memory with all that is known of it; `None` if its owner has no such memory.
    pub async fn memory(&self, owner: Owner, id: MemoryId) -> Result<Option<MemoryDetail>, StoreError> {
        self.read(move |transaction| {
            let Some(found) = row::read(transaction, &owner, &id)? else { return Ok(None) };
            Ok(Some(MemoryDetail {
                evidence: evidence(transaction, &id)?,
                shown_in: shown_in(transaction, &owner, &id)?,
                marks: marks::of_memory(transaction, &id)?,
                row: listed(transaction, found)?,
            }))
        })
        .await
    }

    /// Says what is believed of each live memory that counts in a project, in the order of their names.
    pub async fn believed_memories(
        &self,
        owner: Owner,
        project: ProjectKey,
    ) -> Result<Vec<BelievedMemory>, StoreError> {
        self.read(move |transaction| {
            let project = places::project_named(transaction, &owner, &project)?;
            let mut statement = transaction.prepare_cached(
                "SELECT id, for_it, against, trust, evidence_at FROM memories
                 WHERE owner = ?1 AND state = 'live' AND (project = ?2 OR project IS NULL) ORDER BY id",
            )?;
            let mut rows = statement.query([owner.as_str(), project.as_str()])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                found.push(BelievedMemory {
                    id: row::id_of(row.get("id")?)?,
                    belief: Belief { for_it: row.get("for_it")?, against: row.get("against")? },
                    trust: row::word(row, "trust", Trust::parse)?,
                    evidence_at_ms: row.get("evidence_at")?,
                });
            }
            Ok(found)
        })
        .await
    }

    /// Reads memories of an owner by their names, in that order. Those that are not there are left out.
    pub async fn memory_rows(&self, owner: Owner, ids: Vec<MemoryId>) -> Result<Vec<MemoryRow>, StoreError> {
        self.read(move |transaction| {
            let mut found = Vec::with_capacity(ids.len());
            for id in &ids {
                if let Some(memory) = row::read(transaction, &owner, id)? {
                    found.push(listed(transaction, memory)?);
                }
            }
            Ok(found)
        })
        .await
    }

    /// Reads what the opening of a branch was given; `None` if its owner has no such branch or nothing was noted.
    pub async fn shown_to_branch(&self, owner: Owner, branch: BranchId) -> Result<Option<ShownRow>, StoreError> {
        self.read(move |transaction| {
            let sql = format!("SELECT {SHOWN_COLUMNS} FROM memory_shown WHERE branch = ?1 AND owner = ?2");
            let mut statement = transaction.prepare_cached(&sql)?;
            let mut rows = statement.query([branch.as_str(), owner.as_str()])?;
            rows.next()?.map(shown_row).transpose()
        })
        .await
    }

    /// Reads which openings of a session were given memories, in the order in which they were opened, at most so many.
    pub async fn shown_in_session(
        &self,
        owner: Owner,
        session: SessionId,
        limit: usize,
    ) -> Result<Vec<ShownRow>, StoreError> {
        self.read(move |transaction| {
            let sql = format!(
                "SELECT {SHOWN_COLUMNS} FROM memory_shown WHERE owner = ?1 AND session = ?2 AND memories <> '[]'
                 ORDER BY at, branch LIMIT ?3"
            );
            let mut statement = transaction.prepare_cached(&sql)?;
            let mut rows = statement.query(params![owner.as_str(), session.as_str(), limit])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                found.push(shown_row(row)?);
            }
            Ok(found)
        })
        .await
    }

    /// Counts an owner's memories, and what they were used for since a time.
    pub async fn memory_counts(&self, owner: Owner, since_ms: u64) -> Result<MemoryCounts, StoreError> {
        self.read(move |transaction| {
            let state = |state: &str| -> Result<u64, StoreError> {
                let sql = "SELECT count(*) FROM memories WHERE owner = ?1 AND state = ?2";
                Ok(transaction.prepare_cached(sql)?.query_row([owner.as_str(), state], |row| row.get(0))?)
            };
            let since = |sql: &str| -> Result<u64, StoreError> {
                let key = params![owner.as_str(), since_ms];
                Ok(transaction.prepare_cached(sql)?.query_row(key, |row| row.get(0))?)
            };
            Ok(MemoryCounts {
                live: state("live")?,
                waiting: state("waiting")?,
                replaced: state("replaced")?,
                rejected: state("rejected")?,
                given: since(
                    "SELECT coalesce(sum(json_array_length(memories)), 0) FROM memory_shown WHERE owner = ?1 AND at >= ?2",
                )?,
                used: since(
                    "SELECT count(*) FROM memory_evidence WHERE owner = ?1 AND at >= ?2
                     AND what IN ('helped a branch', 'a branch failed with it')",
                )?,
            })
        })
        .await
    }
}

fn list(transaction: &Transaction<'_>, query: &MemoryFilter) -> Result<Vec<MemoryRow>, StoreError> {
    let project = match &query.project {
        Some(project) => Some(places::project_named(transaction, &query.owner, project)?),
        None => None,
    };
    let state = match query.state {
        StateFilter::Live => Some("live"),
        StateFilter::Waiting => Some("waiting"),
        StateFilter::All => None,
    };
    let sql = format!(
        "SELECT {} FROM memories WHERE owner = ?1 AND (?2 IS NULL OR project = ?2 OR project IS NULL)
         AND (?3 IS NULL OR kind = ?3) AND (?4 IS NULL OR state = ?4) AND (?5 IS NULL OR session = ?5)
         AND (?6 IS NULL OR branch = ?6) ORDER BY made_at, id LIMIT ?7 OFFSET ?8",
        row::COLUMNS
    );
    let mut statement = transaction.prepare_cached(&sql)?;
    let mut rows = statement.query(params![
        query.owner.as_str(),
        project.as_ref().map(ProjectKey::as_str),
        query.kind.map(MemoryKind::as_str),
        state,
        query.session.as_ref().map(SessionId::as_str),
        query.branch.as_ref().map(BranchId::as_str),
        query.limit,
        query.offset
    ])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(listed(transaction, stored(row)?)?);
    }
    Ok(found)
}

fn listed(transaction: &Transaction<'_>, found: StoredMemory) -> Result<MemoryRow, StoreError> {
    Ok(MemoryRow {
        is_changed: marks::is_changed(transaction, &found.memory.id)?,
        shown: found.shown,
        used: found.used,
        shown_at_ms: found.shown_at_ms,
        is_merged: found.merged_at_ms.is_some(),
        memory: found.memory,
    })
}

fn evidence(transaction: &Transaction<'_>, id: &MemoryId) -> Result<Vec<EvidenceRow>, StoreError> {
    let sql = "SELECT what, for_it, against, session, branch, at FROM memory_evidence WHERE memory = ?1 ORDER BY id";
    let mut statement = transaction.prepare_cached(sql)?;
    let rows = statement.query_map([id.as_str()], |row| {
        Ok(EvidenceRow {
            what: row.get(0)?,
            for_it: row.get(1)?,
            against: row.get(2)?,
            session: row.get(3)?,
            branch: row.get(4)?,
            at_ms: row.get(5)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn shown_in(transaction: &Transaction<'_>, owner: &Owner, id: &MemoryId) -> Result<Vec<ShownRow>, StoreError> {
    let sql = format!(
        "SELECT {SHOWN_COLUMNS} FROM memory_shown WHERE owner = ?1
         AND EXISTS (SELECT 1 FROM json_each(memories) WHERE value ->> 'id' = ?2) ORDER BY at DESC, branch LIMIT ?3"
    );
    let mut statement = transaction.prepare_cached(&sql)?;
    let mut rows = statement.query(params![owner.as_str(), id.as_str(), SHOWN_MAX])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(shown_row(row)?);
    }
    Ok(found)
}

fn shown_row(row: &Row<'_>) -> Result<ShownRow, StoreError> {
    Ok(ShownRow {
        branch: BranchId::from_stored(row.get(0)?),
        session: parse_session_id(row.get(1)?)?,
        project: row.get::<_, Option<String>>(2)?.map(ProjectKey::from_stored),
        git_branch: row.get::<_, Option<String>>(3)?.map(stored_text),
        memories: column(row, 4, "memories")?,
        tokens: row.get(5)?,
        at_ms: row.get(6)?,
    })
}
