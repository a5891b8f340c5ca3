//! What an append writes for memories: what a branch was given at its opening, and what it said about lessons at its end.

use infold_core::memory::{Lesson, MemoryId, ProjectKey};
use infold_core::{BranchId, Event, Scrubbed, Session};
use rusqlite::{OptionalExtension, Transaction, params};
use serde::{Deserialize, Serialize};

use super::places;
use crate::codec::{Payload, to_json};
use crate::{Append, StoreError};

/// Whether a lesson may be taken together from what a branch did, if it gave none itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Extraction {
    /// It may.
    #[default]
    Wished,
    /// The branch said that nothing should be learnt from it.
    Unwanted,
}

/// What a branch said about lessons when it returned. It is written with the end of the branch that returns, or with its
/// late result; where an append has neither, nothing is written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewLessons {
    /// What it learnt, in order.
    #[serde(default)]
    pub lessons: Vec<Lesson>,
    /// Memories that it relied on.
    #[serde(default)]
    pub used: Vec<MemoryId>,
    /// Whether a lesson may be taken together from what it did.
    #[serde(default)]
    pub extraction: Extraction,
}

/// A memory that a branch was given, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShownMemory {
    /// The memory.
    pub id: MemoryId,
    /// Its place among those that were given, counted from 1.
    pub rank: u32,
    /// The parts of its score: words of infold's own, and numbers.
    pub parts: serde_json::Value,
}

/// What the opening of a branch could be given, and where the branch works. It is written with the opening, without those
/// that found no room in it; where an append has no opening, nothing is written.
#[derive(Debug, Clone, Default)]
pub struct NewShown {
    /// The project that the branch works in.
    pub project: Option<ProjectKey>,
    /// The git branch that it works on.
    pub git_branch: Option<Scrubbed>,
    /// What it could be given, the first first.
    pub memories: Vec<ShownMemory>,
}

/// Which opening of its branch an event is about, and how the branch ended, if something can be learnt from that: the
/// view `outbox` selects rows by it. After a rollback something may have to be unlearnt.
pub(crate) fn end_columns(event: &Event, after: &Session) -> (Option<u32>, Option<&'static str>) {
    match event {
        Event::BranchEnded { generation, reason, .. } => {
            (Some(*generation), reason.can_teach().then(|| reason.status().as_str()))
        }
        Event::ResultAmended { branch, generation, .. } => {
            (Some(*generation), after.branches.get(branch).map(|branch| branch.status.as_str()))
        }
        Event::RolledBack { .. } => (None, Some("rolled_back")),
        _ => (None, None),
    }
}

pub(crate) fn write_lessons(transaction: &Transaction<'_>, key: &str, append: &Append) -> Result<(), StoreError> {
    let Some(new) = &append.lessons else { return Ok(()) };
    let Some((branch, generation)) = append.decision.events.iter().find_map(returned) else { return Ok(()) };
    let session = &append.decision.after;
    let project: Option<Option<String>> = transaction
        .prepare_cached("SELECT project FROM memory_shown WHERE branch = ?1")?
        .query_row([branch.as_str()], |row| row.get(0))
        .optional()?;
    let project = project.flatten().map(ProjectKey::from_stored);
    if places::is_silenced(transaction, &session.owner, Some(&session.id), project.as_ref())? {
        return Ok(());
    }
    transaction
        .prepare_cached(
            "INSERT OR REPLACE INTO memory_lessons (branch, generation, session, content) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(params![branch.as_str(), generation, key, Payload(to_json("lessons", new)?)])?;
    Ok(())
}

/// The branch whose own return an event records.
fn returned(event: &Event) -> Option<(&BranchId, u32)> {
    match event {
        Event::BranchEnded { branch, generation, reason, .. } => reason.is_return().then_some((branch, *generation)),
        Event::ResultAmended { branch, generation, .. } => Some((branch, *generation)),
        _ => None,
    }
}

pub(crate) fn write_shown(transaction: &Transaction<'_>, append: &Append) -> Result<(), StoreError> {
    let Some(new) = &append.shown else { return Ok(()) };
    let opening = append.decision.events.iter().find_map(|event| match event {
        Event::BranchOpened(opening) => Some(opening),
        _ => None,
    });
    let Some(opening) = opening else { return Ok(()) };
    let session = &append.decision.after;
    let (given, tokens) = match &opening.injected {
        Some(injected) => (injected.memories.as_slice(), injected.tokens),
        None => (&[][..], 0),
    };
    let given: Vec<&ShownMemory> = new.memories.iter().filter(|shown| given.contains(&shown.id)).collect();
    transaction
        .prepare_cached(
            "INSERT OR REPLACE INTO memory_shown (branch, owner, session, project, git_branch, memories, tokens, at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute(params![
            opening.branch.as_str(),
            session.owner.as_str(),
            session.id.as_str(),
            new.project.as_ref().map(ProjectKey::as_str),
            new.git_branch.as_ref().map(Scrubbed::as_str),
            to_json("memories", &given)?,
            tokens,
            append.at_ms
        ])?;
    Ok(())
}
