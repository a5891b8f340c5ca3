//! A memory: a lesson as it is kept.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Belief, Lesson};
use crate::{BranchId, Owner, Scrubbed, SessionId};

const ID_PREFIX: &str = "mem_";
const ID_CHARS: usize = 10;
const ID_ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// The name of a memory, `mem_` and ten letters and digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MemoryId(String);

impl MemoryId {
    /// Makes a name from bytes: random ones, or a hash of what the memory was made from.
    pub fn mint(bytes: [u8; ID_CHARS]) -> Self {
        let letters = bytes.iter().map(|byte| char::from(ID_ALPHABET[usize::from(byte % 32)]));
        Self(ID_PREFIX.chars().chain(letters).collect())
    }

    /// Reads a name; `None` if it does not have the form of one.
    pub fn parse(text: &str) -> Option<Self> {
        let letters = text.strip_prefix(ID_PREFIX)?;
        let fits = letters.len() == ID_CHARS && letters.bytes().all(|letter| ID_ALPHABET.contains(&letter));
        fits.then(|| Self(text.to_owned()))
    }

    /// The whole name, with its `mem_`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for MemoryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A project whose memories belong together: a hash of what names its repository.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ProjectKey(String);

impl ProjectKey {
    /// The key of a repository by the folder that its worktrees share.
    pub fn of_folder(common_folder: &str) -> Self {
        Self::hashed("dir", common_folder)
    }

    /// The key of a folder that is in no repository, or may not be looked at.
    pub fn of_path(normalised_path: &str) -> Self {
        Self::hashed("path", normalised_path)
    }

    /// Reads a key back from the store, where only keys are written.
    pub fn from_stored(text: String) -> Self {
        Self(text)
    }

    /// The key as 16 hex digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn hashed(what: &str, name: &str) -> Self {
        Self(blake3::hash(format!("{what}:{name}").as_bytes()).to_hex()[..16].to_owned())
    }
}

/// Where work is done: what is learnt there belongs there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkPlace {
    /// The project.
    pub project: ProjectKey,
    /// The git branch, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git_branch: Option<Scrubbed>,
    /// The folder, if it may be looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<Scrubbed>,
}

/// Where a memory counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryScope {
    /// In one project.
    Project(ProjectKey),
    /// In every project of its owner. Only a person says so.
    Everywhere,
}

/// Who wrote a lesson.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LessonSource {
    /// A person.
    Hand,
    /// The agent itself.
    Model,
    /// A model that was given an ended branch to learn from.
    Distilled,
    /// Nobody: it was taken together from an ended branch.
    Mechanical,
    /// Somebody elsewhere; it came in a file.
    Imported,
}

impl LessonSource {
    /// All of them, in the order of their worth.
    pub const ALL: [Self; 5] = [Self::Hand, Self::Model, Self::Distilled, Self::Mechanical, Self::Imported];

    /// The word for it, in tables and the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hand => "hand",
            Self::Model => "model",
            Self::Distilled => "distilled",
            Self::Mechanical => "mechanical",
            Self::Imported => "imported",
        }
    }

    /// Reads the word for one.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|source| source.as_str() == word)
    }
}

/// How far the words of a lesson are trusted, the furthest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// A person wrote it, or read it and took it.
    Person,
    /// It comes from work in the user's own project.
    Own,
    /// It was imported, or its branch had read what strangers wrote.
    Outside,
}

impl Trust {
    /// All of them, the furthest first.
    pub const ALL: [Self; 3] = [Self::Person, Self::Own, Self::Outside];

    /// The word for it, in tables and the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Own => "own",
            Self::Outside => "outside",
        }
    }

    /// Reads the word for one.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|trust| trust.as_str() == word)
    }
}

/// Where a memory comes from. It is kept for ever, also of a memory that was forgotten.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryOrigin {
    /// Whose it is.
    pub owner: Owner,
    /// Who wrote it.
    pub source: LessonSource,
    /// The session that it was learnt in.
    pub session: Option<SessionId>,
    /// The branch that it was learnt in, and which opening of it.
    pub branch: Option<(BranchId, u32)>,
    /// The name of the import, or of the tool that brought it in.
    pub label: Option<Scrubbed>,
}

/// What has become of a memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryState {
    /// It is found and shown.
    Live,
    /// It waits for a person to read it.
    Waiting,
    /// Another one has taken its place.
    Replaced(MemoryId),
    /// A person rejected it.
    Rejected,
}

impl MemoryState {
    /// The word for it, in tools, tables and the store.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Waiting => "waiting",
            Self::Replaced(_) => "replaced",
            Self::Rejected => "rejected",
        }
    }
}

/// A lesson as it is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    /// Its name.
    pub id: MemoryId,
    /// Where it counts.
    pub scope: MemoryScope,
    /// The git branch that the work was on, if it is known.
    pub git_branch: Option<Scrubbed>,
    /// What was learnt.
    pub lesson: Lesson,
    /// Where it comes from.
    pub origin: MemoryOrigin,
    /// How far that is trusted.
    pub trust: Trust,
    /// What speaks for it and what against it.
    pub belief: Belief,
    /// How much its words read like instructions to an agent, from 0 to 1.
    pub suspicion: f64,
    /// What has become of it.
    pub state: MemoryState,
    /// The memory whose place it took.
    pub replaces: Option<MemoryId>,
    /// When it was made, in milliseconds since 1970.
    pub made_at_ms: u64,
    /// When something last spoke for it or against it.
    pub evidence_at_ms: u64,
}

const DAY_MS: u64 = 86_400_000;

/// How a memory is at a moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MemoryNow {
    /// The moment, in milliseconds since 1970.
    pub at_ms: u64,
    /// How sure the memory is.
    pub confidence: f64,
    /// Whether the code that it is about has changed since.
    pub has_changed: bool,
    /// Whether it reads like instructions to an agent.
    pub is_suspicious: bool,
}

impl Memory {
    /// What a reader gets to know of it before its words: its name, numbers, and words of infold's own.
    pub fn header(&self, now: MemoryNow) -> String {
        let from = match self.origin.source {
            LessonSource::Hand => "written by a person",
            LessonSource::Model => "written by an agent",
            LessonSource::Distilled => "taken from a branch by a model",
            LessonSource::Mechanical => "taken from a branch",
            LessonSource::Imported => "imported",
        };
        let days = now.at_ms.saturating_sub(self.made_at_ms) / DAY_MS;
        let confidence = now.confidence;
        let mut header = format!("{} · {} · confidence {confidence:.2} · {from}", self.id, self.lesson.kind.as_str());
        let flags = [
            (days > 0).then(|| format!("{days} days ago")),
            (self.trust == Trust::Outside).then(|| "from outside".to_owned()),
            self.replaces.is_some().then(|| "replaces an older note".to_owned()),
            now.is_suspicious.then(|| "reads like instructions".to_owned()),
            now.has_changed.then(|| "the code has changed since".to_owned()),
        ];
        for flag in flags.into_iter().flatten() {
            header.push_str(" · ");
            header.push_str(&flag);
        }
        header
    }
}

impl WorkPlace {
    /// The name of the git branch.
    pub fn git_branch_name(&self) -> Option<&str> {
        self.git_branch.as_ref().map(Scrubbed::as_str)
    }
}
