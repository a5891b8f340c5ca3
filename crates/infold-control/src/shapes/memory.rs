//! JSON of memories: what was learnt, what speaks for it, and where it was shown.

mod changed;
mod found;
mod of_session;
mod projects;

use infold_core::Scrubbed;
use infold_core::memory::{Memory, MemoryId, MemoryScope, MemoryState};
use infold_engine::{AskStatus, EvidenceRow, ListedMemory, MemoryPage, ShownDetail, ShownRow, WhyShown};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::moment::Moment;
pub(crate) use changed::{ChangeUndone, ImportDone, MemoriesForgotten, MemoryChanges};
use found::{SearchReason, SearchedSummary};
pub(crate) use of_session::SessionMemories;
pub(crate) use projects::{MemoryProjects, SilenceState};

/// Part of the caller's memories.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MemoryList {
    /// The memories: those that fit best first, or in the order in which they were made.
    memories: Vec<SearchedSummary>,
    /// How many are passed over.
    offset: usize,
    /// At most how many are listed.
    limit: usize,
    /// Where the next page begins; null if this is the last one.
    next_offset: Option<usize>,
    /// How many memories of the caller's are shown.
    live: u64,
    /// How many wait for review.
    waiting: u64,
    /// How many memories were given to branches in the last day.
    given_in_a_day: u64,
    /// How many branches relied on one in the last day.
    used_in_a_day: u64,
    /// The model that is asked for lessons, and what it takes; null if none is.
    distilling: Option<Distilling>,
}

/// The model that is asked for lessons of branches whose agents wrote none.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Distilling {
    /// Its name.
    model: String,
    /// How many ended branches wait for it.
    waiting: u64,
    /// Requests of today (UTC).
    requests_today: u64,
    /// Tokens that it took today.
    tokens_today: u64,
    /// Tokens that it may take a day.
    tokens_per_day: u64,
    /// Why it wrote nothing the last time it was asked today; null if it did.
    problem: Option<String>,
}

impl From<&AskStatus> for Distilling {
    fn from(asking: &AskStatus) -> Self {
        let AskStatus { model, spending, tokens_per_day } = asking;
        Self {
            model: model.clone(),
            waiting: spending.waiting,
            requests_today: spending.requests,
            tokens_today: spending.tokens,
            tokens_per_day: *tokens_per_day,
            problem: spending.problem.clone(),
        }
    }
}

impl MemoryList {
    pub(crate) fn new(page: &MemoryPage, offset: usize, limit: usize, next_offset: Option<usize>) -> Self {
        let reasons = page.reasons.iter().map(|reason| Some(SearchReason::from(reason)));
        let reasons = reasons.chain(std::iter::repeat_with(|| None));
        let listed = page.memories.iter().zip(reasons);
        Self {
            memories: listed.take(limit).map(|(memory, found)| SearchedSummary::new(memory, found)).collect(),
            offset,
            limit,
            next_offset,
            live: page.counts.live,
            waiting: page.counts.waiting,
            given_in_a_day: page.counts.given,
            used_in_a_day: page.counts.used,
            distilling: page.asking.as_ref().map(Distilling::from),
        }
    }
}

/// A memory at a glance.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MemorySummary {
    #[serde(flatten)]
    words: MemoryWords,
    /// How sure it is, from 0 to 1.
    confidence: f64,
    /// How many branches it was given to.
    shown: u64,
    /// How many branches relied on it.
    used: u64,
    /// When it was given to a branch last.
    shown_at: Option<Moment>,
    /// Whether the code that it is about has changed since.
    has_changed: bool,
    /// Whether the work on its git branch was seen to be in the trunk.
    is_merged: bool,
}

impl From<&ListedMemory> for MemorySummary {
    fn from(listed: &ListedMemory) -> Self {
        Self {
            words: MemoryWords::from(&listed.row.memory),
            confidence: rounded(listed.confidence),
            shown: listed.row.shown,
            used: listed.row.used,
            shown_at: listed.row.shown_at_ms.map(Moment),
            has_changed: listed.row.is_changed,
            is_merged: listed.row.is_merged,
        }
    }
}

/// What a memory says, and where it comes from.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MemoryWords {
    /// Its name.
    memory_id: String,
    /// The lesson in a line.
    title: String,
    /// The lesson in a few sentences.
    lesson: String,
    /// What it tells its reader: works, fails, fact or preference.
    kind: &'static str,
    /// What has become of it: live, waiting, replaced or rejected.
    state: &'static str,
    /// The key of the project that it counts in; null: it counts everywhere.
    project: Option<String>,
    /// The git branch that the work was on.
    git_branch: Option<String>,
    /// Files that it is about.
    files: Vec<String>,
    /// Commands that it is about.
    commands: Vec<String>,
    /// Who wrote it: hand, model, distilled, mechanical or imported.
    source: &'static str,
    /// How far its words are trusted: person, own or outside.
    trust: &'static str,
    /// The import or the tool that it came with.
    label: Option<String>,
    /// The session that it was learnt in.
    session_id: Option<String>,
    /// The branch that it was learnt in.
    branch_id: Option<String>,
    /// How much its words read like instructions to an agent, from 0 to 1.
    suspicion: f64,
    /// The memory whose place it took.
    replaces: Option<String>,
    /// The memory that took its place.
    replaced_by: Option<String>,
    /// When it was made.
    made_at: Moment,
    /// When something last spoke for it or against it.
    evidence_at: Moment,
}

impl From<&Memory> for MemoryWords {
    fn from(memory: &Memory) -> Self {
        let (lesson, origin) = (&memory.lesson, &memory.origin);
        let text = |text: &Option<Scrubbed>| text.as_ref().map(|text| text.as_str().to_owned());
        let (state, replaced_by) = match &memory.state {
            MemoryState::Live => ("live", None),
            MemoryState::Waiting => ("waiting", None),
            MemoryState::Replaced(by) => ("replaced", Some(by.to_string())),
            MemoryState::Rejected => ("rejected", None),
        };
        Self {
            memory_id: memory.id.to_string(),
            title: lesson.title.as_str().to_owned(),
            lesson: lesson.lesson.as_str().to_owned(),
            kind: lesson.kind.as_str(),
            state,
            project: match &memory.scope {
                MemoryScope::Project(project) => Some(project.as_str().to_owned()),
                MemoryScope::Everywhere => None,
            },
            git_branch: text(&memory.git_branch),
            files: lesson.files.iter().map(|file| file.path.as_str().to_owned()).collect(),
            commands: lesson.commands.iter().map(|command| command.as_str().to_owned()).collect(),
            source: origin.source.as_str(),
            trust: memory.trust.as_str(),
            label: text(&origin.label),
            session_id: origin.session.as_ref().map(ToString::to_string),
            branch_id: origin.branch.as_ref().map(|(branch, _)| branch.to_string()),
            suspicion: rounded(memory.suspicion),
            replaces: memory.replaces.as_ref().map(MemoryId::to_string),
            replaced_by,
            made_at: Moment(memory.made_at_ms),
            evidence_at: Moment(memory.evidence_at_ms),
        }
    }
}

/// A memory that was added.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MemoryMade {
    #[serde(flatten)]
    pub(crate) words: MemoryWords,
    /// The number by which this can be undone.
    pub(crate) change: i64,
    /// A rule file that says the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) said_by: Option<String>,
}

/// A memory with all that is known of it.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "MemoryDetail")]
pub(crate) struct MemoryWhole {
    #[serde(flatten)]
    summary: MemorySummary,
    /// The title of the memory whose place it took.
    replaces_title: Option<String>,
    /// What has spoken for it and against it, oldest first.
    evidence: Vec<MemoryEvidence>,
    /// Branches that it was given to, the newest first.
    shown_in: Vec<MemoryGiven>,
}

impl From<&ShownDetail> for MemoryWhole {
    fn from(shown: &ShownDetail) -> Self {
        let listed = ListedMemory { row: shown.detail.row.clone(), confidence: shown.confidence };
        Self {
            summary: MemorySummary::from(&listed),
            replaces_title: shown.replaces.as_ref().map(|old| old.lesson.title.as_str().to_owned()),
            evidence: shown.detail.evidence.iter().map(MemoryEvidence::from).collect(),
            shown_in: shown.detail.shown_in.iter().map(MemoryGiven::from).collect(),
        }
    }
}

/// What has spoken for a memory or against it.
#[derive(Debug, Serialize, JsonSchema)]
struct MemoryEvidence {
    /// The word for it.
    what: String,
    /// By how much what speaks for the memory grew.
    for_it: f64,
    /// By how much what speaks against it grew.
    against: f64,
    /// The session that it comes from.
    session_id: Option<String>,
    /// The branch that it comes from.
    branch_id: Option<String>,
    /// When that was.
    at: Moment,
}

impl From<&EvidenceRow> for MemoryEvidence {
    fn from(row: &EvidenceRow) -> Self {
        Self {
            what: row.what.clone(),
            for_it: rounded(row.for_it),
            against: rounded(row.against),
            session_id: row.session.clone(),
            branch_id: row.branch.clone(),
            at: Moment(row.at_ms),
        }
    }
}

/// A branch that a memory was given to.
#[derive(Debug, Serialize, JsonSchema)]
struct MemoryGiven {
    /// The branch.
    branch_id: String,
    /// Its session.
    session_id: String,
    /// When it was opened.
    at: Moment,
}

impl From<&ShownRow> for MemoryGiven {
    fn from(row: &ShownRow) -> Self {
        Self { branch_id: row.branch.to_string(), session_id: row.session.to_string(), at: Moment(row.at_ms) }
    }
}

/// How sure a memory is after somebody's judgement.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MemoryJudged {
    /// The memory.
    pub(crate) memory_id: String,
    /// How sure it is, from 0 to 1.
    pub(crate) confidence: f64,
}

/// Which memories a branch was given, and why.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct BranchMemories {
    /// The key of the project that the branch works in.
    project: Option<String>,
    /// The git branch that it works on.
    git_branch: Option<String>,
    /// What it was given, the first first.
    memories: Vec<MemoryReason>,
}

/// A memory that a branch was given, and why.
#[derive(Debug, Serialize, JsonSchema)]
struct MemoryReason {
    /// The memory.
    memory_id: String,
    /// Its place among those that were given.
    rank: u32,
    /// What its place comes from, as it was noted then.
    why: Value,
    /// Its title now; null if it was forgotten since.
    title: Option<String>,
    /// How sure it is now.
    confidence: Option<f64>,
}

impl From<&WhyShown> for BranchMemories {
    fn from(why: &WhyShown) -> Self {
        let memories = why.row.memories.iter().zip(&why.memories).map(|(given, now)| MemoryReason {
            memory_id: given.id.to_string(),
            rank: given.rank,
            why: given.parts.clone(),
            title: now.as_ref().map(|now| now.row.memory.lesson.title.as_str().to_owned()),
            confidence: now.as_ref().map(|now| rounded(now.confidence)),
        });
        Self {
            project: why.row.project.as_ref().map(|project| project.as_str().to_owned()),
            git_branch: why.row.git_branch.as_ref().map(|name| name.as_str().to_owned()),
            memories: memories.collect(),
        }
    }
}

/// A number with two digits that count, so that two that are shown as different are.
pub(crate) fn rounded(number: f64) -> f64 {
    (number * 1_000.0).round() / 1_000.0
}
