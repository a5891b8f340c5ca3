//! What callers ask for. Texts are as they came; the operation cleans, bounds and scrubs them.

use infold_core::fork::Profile;
use infold_core::transcript::Item;
use infold_core::{Field, Isolation, Refusal, ReturnOutcome, SessionId, Start, normalise_project_path};
use serde::Serialize;

use crate::shown;

/// How a caller names a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum SessionRef {
    /// By its own name.
    Id(SessionId),
    /// By a project's normalised path: the caller's current session there, or the one that is named.
    Project {
        /// The path.
        path: String,
        /// The session, where a caller runs several in one project.
        session: Option<SessionId>,
    },
}

impl SessionRef {
    /// Reads a session's name.
    pub fn by_id(session_id: &str) -> Result<Self, Refusal> {
        Ok(Self::Id(session_id_of(session_id)?))
    }

    /// Reads a project's path and, where given, the session's name.
    pub fn by_project(project_path: &str, session_id: Option<&str>) -> Result<Self, Refusal> {
        let session = session_id.map(session_id_of).transpose()?;
        Ok(Self::Project { path: normalise_project_path(project_path)?, session })
    }

    /// The session as the caller would recognise it.
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

/// How a caller names a branch: by id, or by the session whose active branch it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum BranchRef {
    /// By its id, and where the session is known too, only there.
    Id {
        /// The id, as it came.
        branch: String,
        /// The session it must belong to.
        session: Option<SessionRef>,
    },
    /// The session's active branch.
    Active(SessionRef),
}

/// Opens a branch.
#[derive(Debug, Clone)]
pub struct OpenBranch {
    /// In which session.
    pub session: SessionRef,
    /// Under which thread: a branch id, or `main`; the active one if none is named.
    pub parent: Option<String>,
    /// What it is for.
    pub description: String,
    /// The bound that the caller's own document sets on it.
    pub description_field: Field,
    /// What it is asked to do.
    pub prompt: Option<String>,
    /// The budget that is wished for, in tokens.
    pub budget_tokens: Option<u64>,
    /// The time that is wished for.
    pub timeout_s: Option<u64>,
    /// What its thread begins with; as settings say if it is not named.
    pub isolation: Option<Isolation>,
    /// When its time begins to run.
    pub start: Start,
    /// Makes repeating the call safe.
    pub idempotency_key: Option<String>,
}

/// Ends a branch.
#[derive(Debug, Clone)]
pub struct FoldBranch {
    /// Which.
    pub branch: BranchRef,
    /// What its parent gets.
    pub message: String,
    /// What it says of itself.
    pub outcome: ReturnOutcome,
    /// Makes repeating the call safe.
    pub idempotency_key: Option<String>,
}

/// Whether a rollback is made or only shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Restore {
    /// Made.
    Yes,
    /// Only shown.
    No,
}

/// Goes back to a branch.
#[derive(Debug, Clone)]
pub struct RollBack {
    /// In which session.
    pub session: SessionRef,
    /// To which branch.
    pub to: String,
    /// Whether it is made.
    pub restore: Restore,
    /// Makes repeating the call safe.
    pub idempotency_key: Option<String>,
}

/// Ends a session.
#[derive(Debug, Clone)]
pub struct EndSession {
    /// Which.
    pub session: SessionRef,
    /// Makes repeating the call safe.
    pub idempotency_key: Option<String>,
}

/// What a session is forked from.
#[derive(Debug, Clone)]
pub enum ForkSource {
    /// A session that is kept here.
    Session {
        /// Which.
        session: SessionRef,
        /// Whose view of it: a branch id, or `main`; the active thread's if none is named, because a
        /// branch must not get to see its parent's by forking it.
        thread: Option<String>,
    },
    /// A transcript that the caller hands in.
    Transcript {
        /// What was said.
        items: Vec<Item>,
        /// The session that it is of, here or in another program, if the caller says.
        parent: Option<SessionRef>,
    },
}

/// Starts a session from another's transcript.
#[derive(Debug, Clone)]
pub struct ForkSession {
    /// What from.
    pub source: ForkSource,
    /// What the child is asked to do.
    pub prompt: Option<String>,
    /// How the characters are spent; as settings say if it is not named.
    pub profile: Option<Profile>,
    /// The child's name; a new one is made if none is given.
    pub child: Option<SessionId>,
    /// Makes repeating the call safe.
    pub idempotency_key: Option<String>,
}

/// What kind of call was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallKind {
    /// One that brought something into the context.
    Content,
    /// A question about the session itself. Counted in a branch, whose budget it uses, and not in
    /// the main thread, which grows by what branches return and by content alone.
    Query,
}

/// A call and its result that passed through a surface.
#[derive(Debug, Clone)]
pub struct Observation {
    /// In which session.
    pub session: SessionRef,
    /// In which thread: a branch id, or `main`; the active one if none is named.
    pub thread: Option<String>,
    /// What kind of call it was.
    pub kind: CallKind,
    /// The tool.
    pub tool: String,
    /// The client's id for the call.
    pub call_id: Option<String>,
    /// What it was called with, as JSON text.
    pub arguments: String,
    /// What the caller is about to be shown.
    pub result: String,
}

/// Hands in a result of a tool that infold did not run, to be counted, and kept elsewhere if long.
#[derive(Debug, Clone)]
pub struct RecordResult {
    /// In which session.
    pub session: SessionRef,
    /// In which thread; the active one if none is named.
    pub thread: Option<String>,
    /// The tool.
    pub tool_name: String,
    /// The client's id for the call.
    pub call_id: Option<String>,
    /// What it was called with, as JSON text.
    pub arguments: String,
    /// The whole result.
    pub content: String,
    /// Makes repeating the call safe.
    pub idempotency_key: Option<String>,
}

/// Which part of a kept result is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Portion {
    /// Bytes.
    Bytes {
        /// From where.
        offset: usize,
    },
    /// Lines, counted from 1.
    Lines {
        /// From which.
        first: usize,
        /// To which, included.
        last: usize,
    },
    /// Lines that match a regular expression, with lines around them.
    Matches {
        /// The expression.
        pattern: String,
        /// How many lines around each.
        context: usize,
        /// From which line on, counted from 1.
        first: usize,
    },
}

/// Reads part of a kept result.
#[derive(Debug, Clone)]
pub struct ReadResult {
    /// Its handle, as it came.
    pub ref_id: String,
    /// Which thread asks: a branch id, or `main`; the active one if none is named.
    pub thread: Option<String>,
    /// Which part.
    pub portion: Portion,
    /// At most how many bytes.
    pub limit_bytes: usize,
}
