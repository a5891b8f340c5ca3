//! JSON of memories: what was learnt, what speaks for it, and where it was shown.

use infold_core::Scrubbed;
use infold_core::memory::{Memory, MemoryId, MemoryScope, MemoryState};
use infold_engine::{
    ChangeRow, EvidenceRow, ForgetReport, LapsingText, ListedMemory, MemoryPage, ProjectRow, ShownDetail, ShownRow,
    WhyShown,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::moment::Moment;

/// Part of the caller's memories.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MemoryList {
    /// The memories: those that fit best first, or in the order in which they were made.
    memories: Vec<MemorySummary>,
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
}

impl MemoryList {
    pub(crate) fn new(page: &MemoryPage, offset: usize, limit: usize, next_offset: Option<usize>) -> Self {
        Self {
            memories: page.memories.iter().take(limit).map(MemorySummary::from).collect(),
            offset,
            limit,
            next_offset,
            live: page.counts.live,
            waiting: page.counts.waiting,
            given_in_a_day: page.counts.given,
            used_in_a_day: page.counts.used,
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

/// What was forgotten, or would be.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MemoriesForgotten {
    /// The memories.
    memories: Vec<ForgottenMemory>,
    /// How many others lost what spoke for them.
    weakened: u64,
    /// How many archived branches went.
    archived: u64,
    /// How many branches' lessons went before they were learnt.
    pending: u64,
    /// Live sessions that hold text of it, and until when: what a session has recorded is not changed.
    held: Vec<HeldSession>,
}

/// A memory that was forgotten.
#[derive(Debug, Serialize, JsonSchema)]
struct ForgottenMemory {
    /// Its name.
    memory_id: String,
    /// The lesson in a line.
    title: String,
}

/// A live session that holds text of memories that were forgotten.
#[derive(Debug, Serialize, JsonSchema)]
struct HeldSession {
    /// The session.
    session_id: String,
    /// The branch whose opening quotes it; null where the session has the work that it was learnt from.
    branch_id: Option<String>,
    /// When the session lapses if nobody uses it before.
    lapses_at: Moment,
}

impl From<&ForgetReport> for MemoriesForgotten {
    fn from(report: &ForgetReport) -> Self {
        let held = |held: &LapsingText| HeldSession {
            session_id: held.text.session.to_string(),
            branch_id: held.text.branch.as_ref().map(ToString::to_string),
            lapses_at: Moment(held.lapses_at_ms),
        };
        let forgotten = &report.forgotten;
        let memory = |(id, title): &(MemoryId, Scrubbed)| ForgottenMemory {
            memory_id: id.to_string(),
            title: title.as_str().to_owned(),
        };
        Self {
            memories: forgotten.memories.iter().map(memory).collect(),
            weakened: forgotten.weakened,
            archived: forgotten.archived,
            pending: forgotten.pending,
            held: report.held.iter().map(held).collect(),
        }
    }
}

/// How an import went.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ImportDone {
    /// How many memories the file has.
    pub(crate) lines: usize,
    /// How many of them are new.
    pub(crate) made: u64,
    /// The number by which all of it can be undone; null if nothing was kept.
    pub(crate) change: Option<i64>,
}

/// Changes of memories.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MemoryChanges {
    /// The changes, the newest first.
    pub(crate) changes: Vec<MemoryChangeShape>,
}

/// A change of memories.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "MemoryChange")]
pub(crate) struct MemoryChangeShape {
    /// Its number, by which it is undone.
    change: i64,
    /// The word for it.
    what: String,
    /// How many memories it changed.
    memories: u64,
    /// One of them.
    memory_id: String,
    /// Whether it was undone.
    undone: bool,
    /// When it was made.
    at: Moment,
}

impl From<&ChangeRow> for MemoryChangeShape {
    fn from(row: &ChangeRow) -> Self {
        Self {
            change: row.number,
            what: row.what.clone(),
            memories: row.count,
            memory_id: row.memory.clone(),
            undone: row.is_undone,
            at: Moment(row.at_ms),
        }
    }
}

/// A change that was undone.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ChangeUndone {
    /// The change.
    pub(crate) change: i64,
    /// The word for it.
    pub(crate) what: String,
    /// The memories that are now as they were before it.
    pub(crate) memories: Vec<String>,
}

/// Projects that have memories, and what is left alone.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MemoryProjects {
    /// The projects, in order of keys.
    pub(crate) projects: Vec<MemoryProject>,
    /// Sessions and projects that nothing is learnt from and nothing is shown to.
    pub(crate) silenced: Vec<String>,
}

/// A project that has memories.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MemoryProject {
    /// Its key.
    project: String,
    /// What people call it.
    label: Option<String>,
    /// Other keys that mean it.
    aliases: Vec<String>,
    /// How many of its memories are shown.
    live: u64,
    /// How many of its memories wait for review.
    waiting: u64,
    /// Whether it is left alone.
    silenced: bool,
    /// Keys of other projects that say that they have the same origin.
    clones: Vec<String>,
}

impl From<&ProjectRow> for MemoryProject {
    fn from(row: &ProjectRow) -> Self {
        Self {
            project: row.project.as_str().to_owned(),
            label: row.label.as_ref().map(|label| label.as_str().to_owned()),
            aliases: row.aliases.iter().map(|alias| alias.as_str().to_owned()).collect(),
            clones: row.clones.iter().map(|clone| clone.as_str().to_owned()).collect(),
            live: row.live,
            waiting: row.waiting,
            silenced: row.is_silenced,
        }
    }
}

/// What is left alone, or no longer.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SilenceState {
    /// The session or the project.
    pub(crate) scope: String,
    /// Whether it is left alone now.
    pub(crate) silent: bool,
}

/// A number with two digits that count, so that two that are shown as different are.
pub(crate) fn rounded(number: f64) -> f64 {
    (number * 1_000.0).round() / 1_000.0
}
