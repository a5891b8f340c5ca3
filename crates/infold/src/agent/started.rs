//! The session that a run is for: a new one, one that goes on, one that begins as another, or one of another client.

use std::path::{Path, PathBuf};

use infold_agent::image::with_data;
use infold_agent::provider::entries_of;
use infold_agent::record::{Beginning, SessionRecord};
use infold_agent::session::{AgentSession, NextStep, NumberedRecord};
use infold_agent::{ThreadEntry, snapshot};
use infold_core::{Principal, SessionId, Thread};
use infold_engine::{AgentRecord, Engine, SessionRef};

use super::flags::AgentFlags;
use crate::commands::Invocation;
use crate::failure::Refused;
use crate::parts::command_error;
use crate::run::window;
use crate::settings::{AgentProvider, InForce, Origin};
use crate::sources;

/// A session that is ready to be worked in.
pub struct Started {
    /// Its name.
    pub session_id: SessionId,
    /// What it is so far.
    pub session: AgentSession,
    /// What it was forked or taken over from.
    pub from: Option<String>,
    /// What was said in a session that is taken over.
    pub taken_over: Vec<ThreadEntry>,
}

/// Puts what was said on the command line over the settings.
pub fn take_flags(args: &AgentFlags, invocation: &mut Invocation) {
    let agent = &mut invocation.in_force.settings.agent;
    if let Some(model) = &args.model {
        agent.model.clone_from(model);
    }
    agent.provider = args.provider.unwrap_or(agent.provider);
    agent.approval = args.approval.unwrap_or(agent.approval);
    let percent = (agent.tool_deferral_threshold * 100.0).round();
    invocation.in_force.settings.gateway.deferral_percent = percent as u64;
    let window_tokens = invocation.in_force.settings.agent.context_budget;
    window::follow_window(&mut invocation.in_force, window_tokens);
}

/// A session that goes on is answered by the model that it began with, unless the command line names another one.
pub fn keep_model(args: &AgentFlags, beginning: Option<&Beginning>, invocation: &mut Invocation) {
    let Some(beginning) = beginning else { return };
    let InForce { settings, entries, .. } = &mut invocation.in_force;
    let is_flagged =
        |key: &str| entries.iter().any(|entry| entry.key == key && matches!(entry.origin, Origin::Flag { .. }));
    if args.model.is_none() && !is_flagged("agent.model") {
        settings.agent.model.clone_from(&beginning.model);
    }
    if args.provider.is_none() && !is_flagged("agent.provider") {
        settings.agent.provider = AgentProvider::named(&beginning.provider).unwrap_or(settings.agent.provider);
    }
}

impl Started {
    /// The session that the arguments name.
    pub async fn of(
        args: &AgentFlags,
        invocation: &Invocation,
        engine: &Engine,
        folder: &Path,
    ) -> anyhow::Result<Self> {
        match (&args.resume, &args.fork, &args.from, args.latest) {
            (Some(named), ..) => Self::resumed(engine, named).await,
            (None, Some(named), ..) => Self::forked(engine, named).await,
            (None, None, Some(named), _) => taken_over(invocation, named),
            (None, None, None, true) => latest(engine, folder).await,
            (None, None, None, false) => Ok(Self::fresh()),
        }
    }

    /// A session in which nothing was said yet.
    pub fn fresh() -> Self {
        Self::new(None, Vec::new())
    }

    fn new(from: Option<String>, taken_over: Vec<ThreadEntry>) -> Self {
        let session_id = SessionId::mint(rand_bytes());
        Self { session_id, session: AgentSession::default(), from, taken_over }
    }

    /// A session that goes on.
    pub async fn resumed(engine: &Engine, named: &str) -> anyhow::Result<Self> {
        let session_id = engine.resolve_session(&Principal::local(), named).await.map_err(command_error)?;
        let session = load(engine, &session_id).await?;
        Ok(Self { session_id, session, from: None, taken_over: Vec::new() })
    }

    /// A new session that begins with all that was said in another.
    pub async fn forked(engine: &Engine, named: &str) -> anyhow::Result<Self> {
        let parent = engine.resolve_session(&Principal::local(), named).await.map_err(command_error)?;
        let session = load(engine, &parent).await?;
        let main = session.threads.get(&Thread::Main).map(|main| main.entries.clone()).unwrap_or_default();
        let mut entries = with_data(main, &session.images);
        let closing = infold_agent::provider::close_open_calls(&entries);
        entries.extend(closing);
        Ok(Self::new(Some(parent.to_string()), entries))
    }

    /// Whether there is something to go on with.
    pub fn has_work(&self) -> bool {
        self.session.next_step(&Thread::Main) != NextStep::Rest || !self.taken_over.is_empty()
    }
}

fn rand_bytes() -> [u8; 16] {
    let mut bytes = [0; 16];
    // Without random numbers the name is the time's, which is as good as unique for one person.
    if getrandom::fill(&mut bytes).is_err() {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        bytes = since.as_nanos().to_le_bytes();
    }
    bytes
}

/// The latest session in a folder.
async fn latest(engine: &Engine, folder: &Path) -> anyhow::Result<Started> {
    let logs = engine.agent_logs(&Principal::local()).await.map_err(command_error)?;
    let folder = folder.display().to_string();
    let is_here = |first: &str| match serde_json::from_str(first) {
        Ok(SessionRecord::Began(beginning)) => beginning.folder == folder,
        Ok(_) | Err(_) => false,
    };
    match logs.iter().find(|log| is_here(&log.first)) {
        Some(log) => Started::resumed(engine, log.session.as_str()).await,
        None => Err(Refused::new(format!("there is no session of infold's agent in {folder}"))
            .hint("start one: infold exec 'what to do'")
            .into()),
    }
}

/// A recorded session of another client.
fn taken_over(invocation: &Invocation, named: &str) -> anyhow::Result<Started> {
    let source = sources::find(named, &invocation.surroundings)?;
    let transcript = sources::transcript(&source, invocation)?;
    let entries = entries_of(&transcript);
    if entries.is_empty() {
        return Err(Refused::new(format!("{named} has nothing that could be gone on with")).into());
    }
    Ok(Started::new(Some(sources::shown(&source)), entries))
}

/// The session that a log leads to: from its snapshot and what came after it, or from all of it.
pub async fn load(engine: &Engine, session: &SessionId) -> anyhow::Result<AgentSession> {
    let who = Principal::local();
    let kept = engine.snapshot(&who, &SessionRef::Id(session.clone())).await.ok().flatten();
    if let Some(kept) = &kept
        && let Some(through) = snapshot::through(&kept.messages)
    {
        let behind = records(engine.agent_log(&who, session, through).await.map_err(command_error)?)?;
        if let Some(session) = snapshot::resume(&kept.messages, behind) {
            return Ok(session);
        }
    }
    let log = records(engine.agent_log(&who, session, 0).await.map_err(command_error)?)?;
    if log.is_empty() {
        return Err(Refused::new(format!("session {session} is not one of infold's agent"))
            .hint("`infold exec --from FILE` takes over a recording of another client")
            .into());
    }
    Ok(AgentSession::replay(log))
}

/// Records of a log, read.
pub fn records(rows: Vec<AgentRecord>) -> anyhow::Result<Vec<NumberedRecord>> {
    let read = |row: AgentRecord| {
        let record = serde_json::from_value(row.record);
        let damaged = |error| Refused::new(format!("record {} of the session cannot be read: {error}", row.seq));
        Ok((row.seq, record.map_err(damaged)?))
    };
    rows.into_iter().map(read).collect()
}

/// The folder to work in, whole.
pub fn folder_of(named: Option<&Path>, invocation: &Invocation) -> anyhow::Result<PathBuf> {
    let folder = named.map(Path::to_owned).or_else(|| invocation.surroundings.folder.clone());
    let folder = folder.ok_or_else(|| Refused::new("the current folder is gone").hint("name one with --folder"))?;
    let whole = folder.canonicalize();
    let whole = whole.map_err(|error| Refused::new(format!("cannot work in {}: {error}", folder.display())))?;
    if !whole.is_dir() {
        return Err(Refused::new(format!("{} is not a folder", whole.display())).into());
    }
    Ok(whole)
}
