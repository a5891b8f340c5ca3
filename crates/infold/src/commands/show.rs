//! `infold show`: one session: its branches, drawn as a tree, and its requests to models.

use infold_core::record::RequestTotals;
use infold_core::{Branch, EndReason, Family, Principal, Session, SessionId, Status, Warning};
use infold_engine::{Calibration, Engine, RequestQuery, RequestRow, RequestSelection, SessionRef, SessionView};
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::Invocation;
use super::sessions::now_ms;
use crate::draw::{self, CountView, HeadView, MainView, Mark, RequestsView, Style};
use crate::failure::Refused;
use crate::help;
use crate::output::Form;
use crate::parts;
use crate::proxied::Fill;
use crate::telemetry;
use crate::topping::State;

/// Arguments of `show`.
#[derive(Debug, clap::Args)]
#[command(after_help = help::text(
    &[
        "Tokens are told by whose count they are: `reported` is what the provider counted, `sent` is what infold did. \
         The main thread of a session that goes through the proxy is measured against its model's window, others \
         against context.context_limit.",
    ],
    &[
        ("infold show my-session", ""),
        ("infold show my-session --requests 50", ""),
        ("infold show my-session --json | jq '.branches[] | {description, status}'", ""),
        ("infold show my-session --json | jq '.requests[] | {at, usage, cache_miss}'", ""),
        ("watch --color infold show my-session --color always", ""),
    ],
))]
pub struct Args {
    /// The session, as `infold sessions` names it
    #[arg(value_name = "SESSION")]
    pub session: String,
    /// How many of its latest requests to models to show
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(0..=10_000))]
    pub requests: u32,
}

/// Requests that are looked through for the latest of the main thread: a long branch may lie behind it.
const LOOKED_THROUGH: usize = 500;

/// What there is of a session.
struct Found {
    /// Its branches; none if its live state has lapsed, or there never was any, and only its requests are kept.
    view: Option<SessionView>,
    /// Those to be shown.
    requests: Vec<RequestRow>,
    /// How full its main thread is, if the proxy has seen it.
    fill: Option<Fill>,
    totals: RequestTotals,
    calibrations: Vec<Calibration>,
}

/// Draws the session.
pub fn run(args: &Args, invocation: &Invocation) -> anyhow::Result<()> {
    let found = load(args, invocation)?;
    let output = &invocation.output;
    match output.form {
        Form::Text => Ok(output.text(&text(&args.session, &found, now_ms(), &output.style))?),
        Form::Json => output.json(&as_json(&args.session, &found)),
    }
}

fn load(args: &Args, invocation: &Invocation) -> anyhow::Result<Found> {
    let session = SessionId::parse(&args.session).map_err(|problem| Refused::new(problem.to_string()))?;
    telemetry::log_only(&invocation.logging());
    let Some(folder) = invocation.data_folder_in_use()? else { return Err(absent(&args.session).into()) };
    let engine = parts::engine(&folder, &invocation.in_force.settings)?;
    let windows = parts::windows(&invocation.in_force.settings);
    let mut found = parts::asking_runtime()?.block_on(find(&engine, &session, args.requests as usize));
    if let Ok(found) = &mut found {
        let newest_first = found.requests.iter().rev().map(|row| &row.record);
        found.fill = Fill::of(newest_first, &windows);
        let surplus = found.requests.len().saturating_sub(args.requests as usize);
        found.requests.drain(..surplus);
    }
    let found = found.map_err(parts::told)?;
    if found.view.is_none() && found.totals.requests == 0 {
        return Err(absent(&args.session).into());
    }
    Ok(found)
}

async fn find(engine: &Engine, session: &SessionId, limit: usize) -> Result<Found, infold_engine::Error> {
    let who = Principal::local();
    let view = match engine.session_with_branches(&who, &SessionRef::Id(session.clone())).await {
        Ok(view) => Some(view),
        Err(infold_engine::Error::Refused(infold_core::Refusal::SessionNotFound { .. })) => None,
        Err(error) => return Err(error),
    };
    let limit = limit.max(LOOKED_THROUGH);
    let query = RequestQuery { session: Some(session.clone()), selection: RequestSelection::Newest, limit };
    let requests = engine.requests(&who, query).await?;
    let totals = engine.request_totals(&who, Some(session.clone())).await?.into_iter().next();
    let calibrations = engine.calibrations().await?;
    let totals = totals.map_or_else(RequestTotals::default, |(_, totals)| totals);
    Ok(Found { view, requests, fill: None, totals, calibrations })
}

fn text(id: &str, found: &Found, now_ms: u64, style: &Style) -> String {
    let session = match &found.view {
        Some(view) => draw::draw(&drawn(view, found), now_ms, style),
        None => draw::head(&drawn_head(id, found), now_ms, style),
    };
    let requests = draw::requests(&drawn_requests(found), now_ms, style);
    [session, requests].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

fn drawn_head(id: &str, found: &Found) -> HeadView {
    let session = found.view.as_ref().map(|view| &view.session);
    HeadView {
        id: id.to_owned(),
        project: session.and_then(|session| session.project.as_ref()).map(|project| project.as_str().to_owned()),
        forked_from: session.and_then(Session::forked_from).map(ToString::to_string),
        state: session.map_or(State::Recorded.as_str(), state).to_owned(),
        active_at_ms: session.map_or(0, |session| session.active_at_ms).max(found.totals.last_at_ms),
        main: drawn_main(found),
    }
}

/// How full the main thread is: what its provider has reported, of the window of its model; where the proxy has
/// not seen it, what the tools have counted, of their own limit.
fn drawn_main(found: &Found) -> Option<MainView> {
    if let Some(fill) = &found.fill {
        let warning = Warning::of(fill.tokens, fill.window_tokens);
        return Some(MainView {
            used_tokens: fill.tokens,
            limit_tokens: fill.window_tokens,
            counted: "reported",
            about: vec![fill.model.clone(), health(warning).to_owned()],
        });
    }
    let view = found.view.as_ref()?;
    Some(MainView {
        used_tokens: view.session.main_tokens,
        limit_tokens: view.context_limit_tokens,
        counted: "",
        about: vec![health(view.health.warning).to_owned()],
    })
}

fn health(warning: Warning) -> &'static str {
    match warning {
        Warning::None => "healthy",
        Warning::Medium => "filling up: fold more",
        Warning::High => "nearly full: fold now",
    }
}

/// Of what was learnt of counting, that which these requests had to do with.
fn drawn_requests(found: &Found) -> RequestsView {
    let families: Vec<Family> = found.requests.iter().map(|row| Family::of_model(row.record.model.as_str())).collect();
    let counts = found.calibrations.iter().filter(|known| families.contains(&known.family)).map(|known| CountView {
        family: known.family.to_string(),
        per_mille: known.per_mille,
        samples: known.samples,
    });
    RequestsView {
        rows: found.requests.iter().map(|row| row.record.clone()).collect(),
        totals: found.totals,
        counts: counts.collect(),
    }
}

fn absent(session: &str) -> Refused {
    Refused::new(format!("there is no session {session:?} here")).hint("`infold sessions` lists those there are")
}

/// Whether a session goes on, in a word.
pub fn state(session: &Session) -> &'static str {
    if session.ended_at_ms.is_some() { "ended" } else { "active" }
}

/// A moment as RFC 3339 has it.
pub fn timestamp(at_ms: u64) -> Option<String> {
    let at = OffsetDateTime::from_unix_timestamp_nanos(i128::from(at_ms) * 1_000_000).ok()?;
    at.format(&Rfc3339).ok()
}

fn drawn(view: &SessionView, found: &Found) -> draw::SessionView {
    let session = &view.session;
    draw::SessionView {
        head: drawn_head(session.id.as_str(), found),
        folded_tokens: session.folded_tokens,
        saved_tokens: session.saved_tokens(),
        branches: view.branches().into_iter().map(|branch| drawn_branch(branch, session)).collect(),
    }
}

fn drawn_branch(branch: &Branch, session: &Session) -> draw::BranchView {
    let end = branch.end.as_ref();
    let reason = match end.map(|end| end.reason) {
        // Several branches can be open; one of them has the turn.
        None if session.active.branch() == Some(&branch.id) => Some("works now"),
        // That it returned is what its state says already.
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

/// The fields have the names that the JSON API gives them.
fn as_json(id: &str, found: &Found) -> Value {
    let recorded = || json!({ "session_id": id, "status": State::Recorded.as_str() });
    let mut shown = found.view.as_ref().map_or_else(recorded, session_json);
    let last_ms = found.view.as_ref().map_or(0, |view| view.session.active_at_ms).max(found.totals.last_at_ms);
    shown["last_active_at"] = json!(timestamp(last_ms));
    let fill = found.fill.as_ref();
    shown["model"] = json!(fill.map(|fill| &fill.model));
    shown["context_tokens"] = json!(fill.map(|fill| fill.tokens));
    shown["window_tokens"] = json!(fill.map(|fill| fill.window_tokens));
    shown["requests"] = found.requests.iter().map(infold_control::request_json).collect();
    shown["request_totals"] = infold_control::request_totals_json(&found.totals);
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

fn session_json(view: &SessionView) -> Value {
    let session = &view.session;
    json!({
        "session_id": session.id,
        "status": state(session),
        "project_hash": session.project,
        "parent_session_id": session.forked_from(),
        "created_at": timestamp(session.started_at_ms),
        "last_active_at": timestamp(session.active_at_ms),
        "ended_at": session.ended_at_ms.and_then(timestamp),
        "active_branch_id": session.active.branch(),
        "tokens_saved": session.saved_tokens(),
        "context_limit": view.context_limit_tokens,
        "context_state": view.state,
        "context_health": view.health,
        "branches": view.branches().into_iter().map(branch_json).collect::<Vec<Value>>(),
    })
}

fn branch_json(branch: &Branch) -> Value {
    let end = branch.end.as_ref();
    json!({
        "branch_id": branch.id,
        "parent_branch_id": branch.parent.branch(),
        "depth": branch.depth,
        "generation": branch.generation,
        "status": branch.status,
        "reason": end.map(|end| end.reason.as_str()),
        "discarded": branch.discarded,
        "description": branch.description,
        "tokens": branch.used_tokens,
        "budget_used": branch.budget_used_tokens(),
        "budget_total": branch.budget_tokens,
        "operations_count": branch.operations,
        "created_at": timestamp(branch.opened_at_ms),
        "expires_at": timestamp(branch.deadline_ms),
        "completed_at": end.and_then(|end| timestamp(end.at_ms)),
        "message": end.map(|end| &end.result),
    })
}
