//! JSON of sessions, at a glance and in full.

use infold_core::{ModelWindows, Session, Thread};
use infold_engine::{ListedSession, SessionView};
use schemars::JsonSchema;
use serde::Serialize;

use super::branch::BranchList;
use super::context::{ContextHealth, ContextState, Notice, notices};
use super::memory::SessionMemories;
use super::request::RequestSums;
use super::{branch_of, texts};
use crate::moment::Moment;

/// How many tokens fit a main thread: the bounds against which its size is shown.
#[derive(Debug, Clone)]
pub struct ContextRoom {
    /// The windows of the models that are known, in tokens.
    pub windows: ModelWindows,
    /// The bound in tokens for a main thread whose model is not known.
    pub context_limit_tokens: u64,
}

/// Whether a session goes on.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum SessionStatus {
    /// It can be used.
    Active,
    /// It was ended and takes nothing more.
    Ended,
    /// Only its requests are stored: it has been idle for long, or its model never answered.
    Recorded,
}

/// A session at a glance.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SessionSummary {
    /// Its id. Its first characters are enough to name it, if no other session's id begins with them.
    session_id: String,
    /// Whether it goes on.
    status: SessionStatus,
    /// The agent, as its requests name it; null if it does not use the proxy.
    agent: Option<String>,
    /// The folder that the agent works in, as far as its requests say it.
    folder: Option<String>,
    /// The first words of a person in it, without secrets; null if it does not use the proxy.
    first_words: Option<String>,
    /// The hash of the project it belongs to; null if it was not named by one.
    project_hash: Option<String>,
    /// The session it was forked from; null if it is no fork, or nobody said.
    parent_session_id: Option<String>,
    /// When it was first used; null if only its requests are stored.
    created_at: Option<Moment>,
    /// When it was last used.
    last_active_at: Moment,
    /// When it ended; null while it goes on.
    ended_at: Option<Moment>,
    /// The branch that works now; null is the main thread.
    active_branch_id: Option<String>,
    /// How many branches have been opened in it so far.
    total_branches: u64,
    /// How many of them are open.
    active_branches: u64,
    /// The model of the main thread; null if the session does not use the proxy.
    model: Option<String>,
    /// Tokens in the main thread: of its latest request and the answer, as the provider reported them; if the session
    /// does not use the proxy, as infold's tools counted them.
    context_tokens: u64,
    /// Tokens that fit: the model's window; if the session does not use the proxy, the context limit.
    window_tokens: u64,
    /// Tokens of branches that have folded.
    folded_tokens: u64,
    /// Tokens that infold removed from the session's prompts, over all its requests; null if it does not use the
    /// proxy. Below zero if infold added more than it removed.
    saved_tokens: Option<i64>,
    /// What its requests to models add up to; null if it does not use the proxy.
    request_totals: Option<RequestSums>,
}

impl SessionSummary {
    pub(crate) fn new(known: &ListedSession, room: &ContextRoom) -> Self {
        let session = known.live.as_ref().map(|row| &row.session);
        let main = known.main(&room.windows);
        let text = |text: &Option<infold_core::Scrubbed>| text.as_ref().map(|text| text.as_str().to_owned());
        Self {
            session_id: known.id.to_string(),
            status: status(session),
            agent: text(&known.overview.client),
            folder: text(&known.overview.folder),
            first_words: text(&known.overview.first_words),
            project_hash: session.and_then(|session| Some(session.project.as_ref()?.as_str().to_owned())),
            parent_session_id: session.and_then(Session::forked_from).map(ToString::to_string),
            created_at: session.map(|session| Moment(session.started_at_ms)),
            last_active_at: Moment(known.active_at_ms()),
            ended_at: session.and_then(|session| session.ended_at_ms).map(Moment),
            active_branch_id: session.and_then(|session| branch_of(&session.active)),
            total_branches: session.map_or(0, |session| session.opened),
            active_branches: known.live.as_ref().map_or(0, |row| row.open),
            model: main.as_ref().map(|main| main.model.as_str().to_owned()),
            context_tokens: match &main {
                Some(main) => main.tokens,
                None => session.map_or(0, |session| session.main_tokens),
            },
            window_tokens: main.as_ref().map_or(room.context_limit_tokens, |main| main.window_tokens),
            folded_tokens: session.map_or(0, |session| session.folded_tokens),
            saved_tokens: known.totals.map(|totals| totals.saved_tokens()),
            request_totals: known.totals.as_ref().map(RequestSums::from),
        }
    }
}

fn status(session: Option<&Session>) -> SessionStatus {
    match session.map(|session| session.ended_at_ms) {
        None => SessionStatus::Recorded,
        Some(None) => SessionStatus::Active,
        Some(Some(_)) => SessionStatus::Ended,
    }
}

/// Some of the caller's sessions, newest activity first.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SessionList {
    /// The sessions on this page.
    pub(crate) sessions: Vec<SessionSummary>,
    /// How many sessions were passed over.
    pub(crate) offset: usize,
    /// Most sessions in this answer.
    pub(crate) limit: usize,
    /// Where to go on; null if there are no more.
    pub(crate) next_offset: Option<usize>,
}

/// A session in its current state, with its first branches. A session of which only the requests are stored has no
/// branches and no context.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SessionDetail<B> {
    #[serde(flatten)]
    summary: SessionSummary,
    /// The handle under which a fork's first context can be read; null if the session is no fork.
    fork_ref_id: Option<String>,
    /// The threads from `main` down to the one that works now.
    branch_path: Vec<String>,
    /// Tokens that the main thread should stay below, by the count of infold's tools.
    context_limit: Option<u64>,
    /// The context now, by the count of infold's tools: what they have seen of it.
    context_state: Option<ContextState>,
    /// How full the main thread is, by the same count.
    context_health: Option<ContextHealth>,
    /// Its branches, in the order they were opened.
    branches: Vec<B>,
    /// What its branches were given of memories, and what was learnt from them.
    memories: SessionMemories,
    /// How many branches have ended and were not discarded.
    folded_branches: usize,
    /// How many branches a rollback discarded.
    discarded_branches: usize,
    /// Where to go on in the list of branches; null if these are all.
    next_offset: Option<usize>,
}

impl<B> SessionDetail<B> {
    pub(crate) fn new(
        known: &ListedSession,
        view: Option<&SessionView>,
        (memories, room): (&infold_engine::SessionMemories, &ContextRoom),
        list: BranchList<B>,
    ) -> Self {
        let session = view.map(|view| &view.session);
        Self {
            summary: SessionSummary::new(known, room),
            fork_ref_id: session.and_then(|session| Some(session.origin.as_ref()?.blob.to_string())),
            branch_path: session
                .map_or_else(Vec::new, |session| session.path(&session.active).iter().map(Thread::to_string).collect()),
            context_limit: view.map(|view| view.context_limit_tokens),
            context_state: view.map(|view| (&view.state).into()),
            context_health: view.map(|view| (&view.health).into()),
            branches: list.branches,
            memories: memories.into(),
            folded_branches: list.folded_branches,
            discarded_branches: list.discarded_branches,
            next_offset: list.next_offset,
        }
    }
}

/// A session that ended.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SessionEnded {
    /// The id of the session that ended.
    session_id: String,
    /// When the session ended.
    ended_at: Moment,
    /// Branches that were folded for it, in that order.
    branches_folded: Vec<String>,
    /// Branches that could not be folded within the time limit.
    branches_failed: Vec<String>,
    /// The session's context when it ended.
    context_state: ContextState,
    /// Branches that were folded by force since the last answer, for their parents.
    notices: Vec<Notice>,
}

impl From<infold_engine::SessionEnded> for SessionEnded {
    fn from(ended: infold_engine::SessionEnded) -> Self {
        Self {
            session_id: ended.session_id.to_string(),
            ended_at: Moment(ended.ended_at_ms),
            branches_folded: texts(&ended.folded),
            branches_failed: texts(&ended.failed),
            context_state: (&ended.state).into(),
            notices: notices(&ended.notices),
        }
    }
}
