//! `infold show`: shows one session: its branches, drawn as a tree, its memories, and its requests to models.

use infold_control::ContextRoom;
use infold_core::memory::MemoryState;
use infold_core::{
    Branch, ContextWarning, EndReason, Family, Principal, Refusal, Scrubbed, Session, SessionId, Status,
};
use infold_engine::{
    Calibration, Engine, Error, ListedMemory, ListedSession, RequestQuery, RequestRow, RequestSelection,
    SessionMemories, SessionView,
};
use serde_json::{Value, json};

use super::Invocation;
use super::sessions::now_ms;
use crate::draw::{self, CountView, HeadView, MainView, Mark, MemoriesView, MemoryView, RequestsView, Style};
use crate::failure::Refused;
use crate::help;
use crate::output::Form;
use crate::parts;
use crate::telemetry;

/// Arguments of `show`.
#[derive(Debug, clap::Args)]
#[command(after_help = help::text(
    &[
        "INPUT and OUTPUT are the provider's token counts. What infold removed is its own estimate, calibrated with \
         the provider's counts. The main thread is compared with its model's window, or with context.context_limit \
         if the session does not use the proxy.",
        "Memories that branches were given and lessons that were learnt from them are between the branches and the \
         requests; `infold memory why BRANCH` says why a branch was given them.",
    ],
    &[
        ("infold show my-session", ""),
        ("infold show 5b24 --requests 50", "the first characters of the id are enough"),
        ("infold show my-session --json | jq '.branches[] | {description, status}'", ""),
        ("infold show my-session --json | jq '.requests[] | {at, usage, cache_miss}'", ""),
        ("watch --color infold show my-session --color always", ""),
    ],
))]
pub struct ShowArgs {
    /// The session's id, or its first characters; `infold sessions` lists them
    #[arg(value_name = "SESSION")]
    pub session: String,
    /// Show this many of its latest requests
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(0..=10_000))]
    pub requests: u32,
}

/// Everything that is shown of a session.
struct FoundSession {
    known: ListedSession,
    /// Its branches; `None` if its live state has lapsed or never existed, so that only its requests are stored.
    view: Option<SessionView>,
    /// Its latest requests, as many as were asked for.
    requests: Vec<RequestRow>,
    calibrations: Vec<Calibration>,
    memories: SessionMemories,
    room: ContextRoom,
}

/// Prints the session as a drawing or as JSON.
pub fn run(args: &ShowArgs, invocation: &Invocation) -> anyhow::Result<()> {
    let found = load(args, invocation)?;
    let output = &invocation.output;
    match output.form {
        Form::Text => Ok(output.text(&text(&found, now_ms(), &output.style))?),
        Form::Json => output.json(&as_json(&found)),
    }
}

fn load(args: &ShowArgs, invocation: &Invocation) -> anyhow::Result<FoundSession> {
    let settings = &invocation.in_force.settings;
    SessionId::parse(&args.session).map_err(|problem| Refused::new(problem.to_string()))?;
    telemetry::log_only(&invocation.logging());
    let Some(folder) = invocation.data_folder_in_use()? else { return Err(absent(&args.session).into()) };
    let engine = parts::engine(&folder, settings)?;
    parts::asking_runtime()?.block_on(find(&engine, args, parts::room(settings))).map_err(|error| match error {
        Error::Refused(Refusal::SessionNotFound { .. }) => absent(&args.session).into(),
        error => parts::command_error(error),
    })
}

async fn find(engine: &Engine, args: &ShowArgs, room: ContextRoom) -> Result<FoundSession, Error> {
    let who = Principal::local();
    let session = engine.resolve_session(&who, &args.session).await?;
    let (known, view) = engine.listed_session(&who, &session).await?;
    let limit = args.requests as usize;
    let memories = engine.session_memories(&who, &session).await?;
    let query = RequestQuery { session: Some(session), selection: RequestSelection::Newest, limit };
    let requests = engine.requests(&who, query).await?;
    let calibrations = engine.calibrations().await?;
    Ok(FoundSession { known, view, requests, calibrations, memories, room })
}

/// The branches of a session as a tree, with what each holds and returned; empty words if there are none.
pub async fn branches_text(engine: &Engine, session: &SessionId, room: ContextRoom, style: &Style) -> anyhow::Result<String> {
    let args = ShowArgs { session: session.to_string(), requests: 0 };
    let found = find(engine, &args, room).await.map_err(parts::command_error)?;
    Ok(match &found.view {
        Some(view) => draw::draw(&drawn(view, &found), now_ms(), style),
        None => "there are no branches".to_owned(),
    })
}

fn text(found: &FoundSession, now_ms: u64, style: &Style) -> String {
    let session = match &found.view {
        Some(view) => draw::draw(&drawn(view, found), now_ms, style),
        None => draw::head(&drawn_head(found), now_ms, style),
    };
    let memories = draw::memories(&drawn_memories(&found.memories), style);
    let requests = draw::requests(&drawn_requests(found), now_ms, style);
    [session, memories, requests].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

fn drawn_head(found: &FoundSession) -> HeadView {
    let known = &found.known;
    let session = found.view.as_ref().map(|view| &view.session);
    let plain = |text: &Option<Scrubbed>| text.as_ref().map(|text| text.as_str().to_owned());
    HeadView {
        id: known.id.to_string(),
        agent: plain(&known.overview.client),
        folder: plain(&known.overview.folder),
        first_words: plain(&known.overview.first_words),
        project: session.and_then(|session| session.project.as_ref()).map(|project| project.as_str().to_owned()),
        forked_from: session.and_then(Session::forked_from).map(ToString::to_string),
        state: state(known).to_owned(),
        active_at_ms: known.active_at_ms(),
        main: drawn_main(found),
    }
}

/// How full the main thread is: the tokens that its provider reported, out of its model's window. If the proxy has not
/// seen the session, the tokens that the tools counted, out of their own limit.
fn drawn_main(found: &FoundSession) -> Option<MainView> {
    if let Some(main) = found.known.main(&found.room.windows) {
        let warning = ContextWarning::of(main.tokens, main.window_tokens);
        return Some(MainView {
            used_tokens: main.tokens,
            limit_tokens: main.window_tokens,
            about: vec![main.model.as_str().to_owned(), health(warning).to_owned()],
        });
    }
    let view = found.view.as_ref()?;
    Some(MainView {
        used_tokens: view.session.main_tokens,
        limit_tokens: view.context_limit_tokens,
        about: vec![health(view.health.warning).to_owned()],
    })
}

fn health(warning: ContextWarning) -> &'static str {
    match warning {
        ContextWarning::None => "healthy",
        ContextWarning::Medium => "filling up: fold more",
        ContextWarning::High => "nearly full: fold now",
    }
}

/// What the session was given of memories, each once, and what was learnt from it.
fn drawn_memories(memories: &SessionMemories) -> MemoriesView {
    let titled = |memory: &ListedMemory| Some(memory.row.memory.lesson.title.as_str().to_owned());
    let mut given: Vec<(MemoryView, usize)> = Vec::new();
    for (shown, now) in memories.given.iter().flat_map(|why| why.row.memories.iter().zip(&why.memories)) {
        match given.iter_mut().find(|(known, _)| known.id == shown.id.as_str()) {
            Some((_, times)) => *times += 1,
            None => {
                let title = now.as_ref().and_then(titled);
                given.push((MemoryView { id: shown.id.to_string(), title, about: Vec::new() }, 1));
            }
        }
    }
    let given = given.into_iter().map(|(memory, times)| {
        let about = (times > 1).then(|| format!("to {times} branches")).into_iter().collect();
        MemoryView { about, ..memory }
    });
    let learnt = memories.learnt.iter().map(|learnt| {
        let memory = &learnt.row.memory;
        let mut about = vec![memory.lesson.kind.as_str().to_owned()];
        about.extend((memory.state != MemoryState::Live).then(|| memory.state.as_str().to_owned()));
        MemoryView { id: memory.id.to_string(), title: titled(learnt), about }
    });
    MemoriesView {
        given: memories.given_count(),
        branches: memories.given.len(),
        tokens: memories.given_tokens(),
        given_memories: given.collect(),
        learnt_memories: learnt.collect(),
        waiting: memories.waiting_count(),
    }
}

/// The requests, with the calibrations of those model families that they were sent to.
fn drawn_requests(found: &FoundSession) -> RequestsView {
    let families: Vec<Family> = found.requests.iter().map(|row| Family::of_model(row.record.model.as_str())).collect();
    let counts = found.calibrations.iter().filter(|known| families.contains(&known.family)).map(|known| CountView {
        family: known.family.to_string(),
        per_mille: known.per_mille,
        samples: known.samples,
    });
    RequestsView {
        rows: found.requests.iter().map(|row| row.record.clone()).collect(),
        totals: found.known.totals.unwrap_or_default(),
        counts: counts.collect(),
    }
}

fn absent(session: &str) -> Refused {
    Refused::new(format!("no session {session:?} in this data folder"))
        .hint("`infold sessions` lists them")
        .code("session_not_found")
}

/// A session's state in one word.
pub fn state(known: &ListedSession) -> &'static str {
    match known.live.as_ref().map(|row| row.session.ended_at_ms) {
        None => "recorded",
        Some(None) => "active",
        Some(Some(_)) => "ended",
    }
}

fn drawn(view: &SessionView, found: &FoundSession) -> draw::SessionView {
    let session = &view.session;
    draw::SessionView {
        head: drawn_head(found),
        folded_tokens: session.folded_tokens,
        returned_tokens: session.returned_tokens,
        branches: view.branches().into_iter().map(|branch| drawn_branch(branch, found, session)).collect(),
    }
}

fn drawn_branch(branch: &Branch, found: &FoundSession, session: &Session) -> draw::BranchView {
    let given = found.memories.given.iter().find(|why| why.row.branch == branch.id);
    let end = branch.end.as_ref();
    let reason = match end.map(|end| end.reason) {
        // Several branches can be open, but only one of them is at work.
        None if session.active.branch() == Some(&branch.id) => Some("working now"),
        // The state says already that it returned.
        None | Some(EndReason::Returned) => None,
        Some(reason) => Some(reason.as_str()),
    };
    draw::BranchView {
        id: branch.id.to_string(),
        parent: branch.parent.branch().map(ToString::to_string),
        description: branch.description.as_str().to_owned(),
        mark: mark(branch),
        used_tokens: branch.budget_used_tokens(),
        budget_tokens: branch.budget_tokens,
        memories: given.map_or(0, |why| why.memories.len()),
        generation: branch.generation,
        opened_at_ms: branch.opened_at_ms,
        ended_at_ms: end.map(|end| end.at_ms),
        deadline_ms: branch.deadline_ms,
        reason: reason.map(str::to_owned),
        message: end.map(|end| end.result.as_str().to_owned()),
    }
}

fn mark(branch: &Branch) -> Mark {
    match (branch.discarded, branch.status) {
        (true, _) => Mark::Discarded,
        (false, Status::Created) => Mark::Created,
        (false, Status::Active) => Mark::Active,
        (false, Status::Completed) => Mark::Completed,
        (false, Status::Timeout) => Mark::Timeout,
        (false, Status::Failed) => Mark::Failed,
    }
}

/// The session and its requests in the shapes of the JSON API.
fn as_json(found: &FoundSession) -> Value {
    let mut shown =
        infold_control::session_detail_json(&found.known, found.view.as_ref(), &found.memories, &found.room);
    shown["requests"] = found.requests.iter().map(infold_control::request_json).collect();
    shown["calibration"] = found
        .calibrations
        .iter()
        .map(|known| {
            let ratio = known.per_mille as f64 / 1_000.0;
            json!({ "family": known.family.as_str(), "ratio": ratio, "samples": known.samples })
        })
        .collect();
    shown
}
