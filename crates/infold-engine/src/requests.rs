//! What callers ask for. Texts are as they came; the operations clean, bound and scrub them.

use std::path::PathBuf;

use infold_core::fork::Profile;
use infold_core::memory::LessonDraft;
use infold_core::transcript::Item;
use infold_core::{Field, Isolation, Refusal, ReturnOutcome, SessionId, Start, normalise_project_path};
use infold_store::Extraction;
use serde::Serialize;

use crate::shown;

/// How a caller names a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum SessionRef {
    /// By the session's own name.
    Id(SessionId),
    /// By a project's normalised path: the caller's current session there, or the one that is named.
    Project {
        /// The project's path, normalised.
        path: String,
        /// The session's name, if a caller runs several in one project.
        session: Option<SessionId>,
    },
}

impl SessionRef {
    /// Parses a session's name.
    pub fn by_id(session_id: &str) -> Result<Self, Refusal> {
        Ok(Self::Id(session_id_of(session_id)?))
    }

    /// Parses a project's path and, if it is given, the session's name.
    pub fn by_project(project_path: &str, session_id: Option<&str>) -> Result<Self, Refusal> {
        let session = session_id.map(session_id_of).transpose()?;
        Ok(Self::Project { path: normalise_project_path(project_path)?, session })
    }

    /// The session's own name, if the caller gave it.
    pub(crate) fn id(&self) -> Option<&SessionId> {
        match self {
            Self::Id(id) | Self::Project { session: Some(id), .. } => Some(id),
            Self::Project { session: None, .. } => None,
        }
    }

    /// Describes the session as the caller would recognise it, for messages.
    pub fn describe(&self) -> String {
        match self {
            Self::Id(id) | Self::Project { session: Some(id), .. } => id.to_string(),
            Self::Project { path, session: None } => format!("the current one of {}", shown(path)),
        }
    }
}

fn session_id_of(text: &str) -> Result<SessionId, Refusal> {
    let problem = "must be 1 to 128 characters, each one of A-Z a-z 0-9 . _ : -";
    SessionId::parse(text).map_err(|_| Refusal::Invalid { field: "session_id", problem: problem.to_owned() })
}

/// How a caller names a branch: by its id, or by the session whose active branch it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum BranchRef {
    /// By its id. If the session is given too, the branch has to belong to it.
    Id {
        /// The id as the caller sent it, not verified yet.
        branch: String,
        /// The session that the branch has to belong to; `None` means any.
        session: Option<SessionRef>,
    },
    /// By its session, whose active branch it is.
    Active(SessionRef),
}

/// A request to open a branch.
#[derive(Debug, Clone)]
pub struct OpenBranch {
    /// The session to open it in; it is started if it does not exist.
    pub session: SessionRef,
    /// The thread to open it under: a branch id, or `main`; the active one if none is named.
    pub parent: Option<String>,
    /// What the branch is for, in a few words.
    pub description: String,
    /// The name and the bound that the description has in the caller's own documents.
    pub description_field: Field,
    /// What the branch is asked to do; it is part of the brief.
    pub prompt: Option<String>,
    /// The budget that is wished for, in tokens; it may be capped.
    pub budget_tokens: Option<u64>,
    /// The time that is wished for, in seconds; it may be capped.
    pub timeout_s: Option<u64>,
    /// What the branch's thread begins with; `None` means as the settings say.
    pub isolation: Option<Isolation>,
    /// Whether the branch is given memories.
    pub memories: MemoryWish,
    /// The folder that the work is done in, if the caller says so.
    pub folder: Option<PathBuf>,
    /// When the branch's time begins to run.
    pub start: Start,
    /// A key that makes repeating the call safe: the repeated call gets the first answer.
    pub idempotency_key: Option<String>,
}

/// Whether a branch that opens is given memories.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum MemoryWish {
    /// Those that have to do with its task, if settings allow it.
    Fitting,
    /// None.
    Nothing,
}

/// What a branch that ends has to say to those that come after it.
#[derive(Debug, Clone, Serialize)]
pub struct Teaching {
    /// What its agent has learnt, in its own words.
    pub lessons: Vec<LessonDraft>,
    /// The names of the memories that it relied on, as the caller sent them.
    pub memories_used: Vec<String>,
    /// Whether something is learnt from the branch if its agent wrote no lesson.
    pub extraction: Extraction,
}

impl Teaching {
    /// No words of its own.
    pub const NOTHING: Self = Self { lessons: Vec::new(), memories_used: Vec::new(), extraction: Extraction::Wished };

    /// Whether the caller has said nothing.
    pub(crate) fn is_nothing(&self) -> bool {
        self.lessons.is_empty() && self.memories_used.is_empty() && self.extraction == Extraction::Wished
    }
}

/// A request to end a branch by a return.
#[derive(Debug, Clone)]
pub struct FoldBranch {
    /// The branch that returns.
    pub branch: BranchRef,
    /// What the branch's parent gets.
    pub message: String,
    /// Whether the branch says of itself that it has completed or failed.
    pub outcome: ReturnOutcome,
    /// What those that come after it may learn from it.
    pub teaching: Teaching,
    /// A key that makes repeating the call safe: the repeated call gets the first answer.
    pub idempotency_key: Option<String>,
}

/// A search for memories.
#[derive(Debug, Clone)]
pub struct SearchMemories {
    /// What is about to be done or wants to be known.
    pub query: String,
    /// How many are wanted; it may be capped.
    pub limit: Option<u64>,
    /// The session that asks, if it says so.
    pub session: Option<SessionRef>,
    /// The folder that the work is done in, if the caller says so.
    pub folder: Option<PathBuf>,
}

impl SearchMemories {
    /// `query`.
    pub const QUERY: Field = Field { name: "query", chars_max: 2_000 };
}

/// A lesson to keep.
#[derive(Debug, Clone)]
pub struct RecordMemory {
    /// The lesson, as its writer wrote it.
    pub draft: LessonDraft,
    /// The memory that it corrects, as the caller sent its name.
    pub replaces: Option<String>,
    /// The session that it was learnt in, if the caller says so.
    pub session: Option<SessionRef>,
    /// The folder that the work is done in, if the caller says so.
    pub folder: Option<PathBuf>,
}

/// What somebody says of a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judgement {
    /// It was true and of use.
    Helpful,
    /// It was not.
    Unhelpful,
}

impl From<bool> for Judgement {
    fn from(helpful: bool) -> Self {
        if helpful { Self::Helpful } else { Self::Unhelpful }
    }
}

/// Whether a rollback is carried out or only shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Restore {
    /// It is carried out.
    Yes,
    /// It is only shown: nothing changes.
    No,
}

/// A request to go back to a branch.
#[derive(Debug, Clone)]
pub struct RollBack {
    /// The session that the branch is in.
    pub session: SessionRef,
    /// The id of the branch to go back to, as the caller sent it.
    pub to: String,
    /// Whether it is carried out or only shown.
    pub restore: Restore,
    /// A key that makes repeating the call safe: the repeated call gets the first answer.
    pub idempotency_key: Option<String>,
}

/// A request to end a session.
#[derive(Debug, Clone)]
pub struct EndSession {
    /// The session to end.
    pub session: SessionRef,
    /// A key that makes repeating the call safe: the repeated call gets the first answer.
    pub idempotency_key: Option<String>,
}

/// What a session is forked from.
#[derive(Debug, Clone)]
pub enum ForkSource {
    /// A session of this database.
    Session {
        /// The session to fork from.
        session: SessionRef,
        /// The thread whose view is forked: a branch id, or `main`. By default it is the active thread's, because a
        /// branch must not get to see its parent's view by forking it.
        thread: Option<String>,
    },
    /// A transcript that the caller hands in.
    Transcript {
        /// What was said, in order.
        items: Vec<Item>,
        /// The session that the transcript is of, here or in another program, if the caller says so.
        parent: Option<SessionRef>,
    },
}

/// A request to start a session from another's transcript.
#[derive(Debug, Clone)]
pub struct ForkSession {
    /// What to fork from.
    pub source: ForkSource,
    /// What the child is asked to do, if anything.
    pub prompt: Option<String>,
    /// How the context's characters are divided; `None` means as the settings say.
    pub profile: Option<Profile>,
    /// The child's name; a new one is made if none is given.
    pub child: Option<SessionId>,
    /// A key that makes repeating the call safe: the repeated call gets the first answer.
    pub idempotency_key: Option<String>,
}

/// What kind of call a surface has seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallKind {
    /// A call that brought something into the context.
    Content,
    /// A question about the session itself. It counts in a branch, whose budget it uses, and not in the main thread,
    /// which grows by content and by what branches return alone.
    Query,
}

/// A call and its result that passed through a surface.
#[derive(Debug, Clone)]
pub struct Observation {
    /// The session that the call belongs to.
    pub session: SessionRef,
    /// The thread that the call was made in: a branch id, or `main`; the active one if none is named.
    pub thread: Option<String>,
    /// Whether the call brought content or asked about the session.
    pub kind: CallKind,
    /// The name of the tool that was called.
    pub tool: String,
    /// The client's id for the call, if it sends one.
    pub call_id: Option<String>,
    /// The arguments of the call, as JSON text.
    pub arguments: String,
    /// The result that the caller is about to be shown.
    pub result: String,
}

/// Hands in the result of a tool that infold did not run. It is counted, and offloaded if it is long.
#[derive(Debug, Clone)]
pub struct RecordResult {
    /// The session that the result is for; it is started if it does not exist.
    pub session: SessionRef,
    /// The thread that the call was made in; the active one if none is named.
    pub thread: Option<String>,
    /// The name of the tool that gave the result.
    pub tool_name: String,
    /// The client's id for the call. A result is counted once for each id.
    pub call_id: Option<String>,
    /// The arguments of the call, as JSON text.
    pub arguments: String,
    /// The whole result, not scrubbed yet.
    pub content: String,
    /// A key that makes repeating the call safe: the repeated call gets the first answer.
    pub idempotency_key: Option<String>,
}

/// Which part of an offloaded result is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Portion {
    /// Bytes from an offset on, up to the limit.
    Bytes {
        /// The first byte, counted from 0.
        offset: usize,
    },
    /// A range of lines, counted from 1.
    Lines {
        /// The first line of the range.
        first: usize,
        /// The last line of the range, included.
        last: usize,
    },
    /// Lines that match a regular expression, with lines around them.
    Matches {
        /// The regular expression, as the caller sent it.
        pattern: String,
        /// How many lines around each match are shown.
        context: usize,
        /// The line to search from, counted from 1.
        first: usize,
    },
}

/// A request to search all offloaded results of a session that the caller may read.
#[derive(Debug, Clone)]
pub struct FindInResults {
    /// The session.
    pub session: SessionRef,
    /// The thread that asks: a branch id, or `main`; the active one if none is named.
    pub thread: Option<String>,
    /// The regular expression that lines have to match.
    pub pattern: String,
    /// How many results are passed over, the newest first.
    pub passed_over: usize,
    /// How many bytes to return at most.
    pub limit_bytes: usize,
}

/// A request for space in a thread's prompt.
#[derive(Debug, Clone)]
pub struct Lighten {
    /// The session whose thread it is.
    pub session: SessionRef,
    /// The thread that asks: a branch id, or `main`; the active one if none is named.
    pub thread: Option<String>,
}

/// A request to read part of an offloaded result.
#[derive(Debug, Clone)]
pub struct ReadResult {
    /// The handle as the caller sent it, not verified yet.
    pub ref_id: String,
    /// The thread that asks: a branch id, or `main`; the active one if none is named.
    pub thread: Option<String>,
    /// Which part of the result is wanted.
    pub portion: Portion,
    /// How many bytes to return at most.
    pub limit_bytes: usize,
}
