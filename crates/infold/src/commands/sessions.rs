//! `infold sessions`: what there is, the latest first.
//!
//! A session is known by its live state, by its requests to models, or by both. Requests are kept longer, and they
//! are all there is of a session that got no answer.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use infold_core::record::RequestTotals;
use infold_core::{Principal, SessionId};
use infold_engine::{Engine, Error};
use infold_store::SessionRow;
use serde_json::{Value, json};

use super::Invocation;
use super::show::{state, timestamp};
use crate::draw::{Align, Column, Style, Table, Tone, ago, money, packed, thousands};
use crate::failure::tell;
use crate::help;
use crate::output::Form;
use crate::parts;
use crate::telemetry;
use crate::topping::{KNOWN_MAX, State};

/// What may go where there is little room, in this order.
const MAY_GO: [&str; 6] = ["PROJECT", "SAVED", "FOLDED", "COST", "MAIN", "REQUESTS"];

/// Arguments of `sessions`.
#[derive(Debug, clap::Args)]
#[command(after_help = help::text(
    &["A session that is `recorded` is known by its requests to models alone: its live state has lapsed \
       (store.live_hours), or no answer ever came."],
    &[
        ("infold sessions", ""),
        ("infold sessions --limit 5", ""),
        ("infold sessions --json | jq -r '.sessions[].session_id'", ""),
    ],
))]
pub struct Args {
    /// How many to list at most
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub limit: u32,
}

/// A session, as far as it is known.
struct Listed {
    id: SessionId,
    /// Its live state; none if it is known by its requests alone.
    known: Option<SessionRow>,
    /// What its requests to models add up to; none if there were none.
    requests: Option<RequestTotals>,
}

impl Listed {
    fn active_at_ms(&self) -> u64 {
        let known_ms = self.known.as_ref().map_or(0, |row| row.session.active_at_ms);
        known_ms.max(self.requests.map_or(0, |totals| totals.last_at_ms))
    }

    fn state(&self) -> &'static str {
        self.known.as_ref().map_or(State::Recorded.as_str(), |row| state(&row.session))
    }

    fn is_open(&self) -> bool {
        self.known.as_ref().is_some_and(|row| row.session.ended_at_ms.is_none())
    }
}

/// Prints the list.
pub fn run(args: &Args, invocation: &Invocation) -> anyhow::Result<()> {
    let sessions = load(args, invocation)?;
    let output = &invocation.output;
    match output.form {
        Form::Json => output.json(&json!({"sessions": sessions.iter().map(as_json).collect::<Vec<Value>>()})),
        Form::Text if sessions.is_empty() => {
            tell("note", "no sessions yet");
            Ok(())
        }
        Form::Text => Ok(output.text(&text(&sessions, now_ms(), &output.style))?),
    }
}

fn load(args: &Args, invocation: &Invocation) -> anyhow::Result<Vec<Listed>> {
    telemetry::log_only(&invocation.logging());
    let Some(folder) = invocation.data_folder_in_use()? else { return Ok(Vec::new()) };
    let engine = parts::engine(&folder, &invocation.in_force.settings)?;
    let mut sessions = parts::asking_runtime()?.block_on(find(&engine)).map_err(parts::told)?;
    sessions.truncate(args.limit as usize);
    Ok(sessions)
}

/// All sessions, the latest first.
async fn find(engine: &Engine) -> Result<Vec<Listed>, Error> {
    let who = Principal::local();
    let mut sessions = BTreeMap::new();
    for row in engine.sessions(&who, 0, KNOWN_MAX).await? {
        let id = row.session.id.clone();
        sessions.insert(id.clone(), Listed { id, known: Some(row), requests: None });
    }
    for (id, totals) in engine.request_totals(&who, None).await? {
        let listed = sessions.entry(id.clone()).or_insert(Listed { id, known: None, requests: None });
        listed.requests = Some(totals);
    }
    let mut sessions: Vec<Listed> = sessions.into_values().collect();
    sessions.sort_by_key(|listed| std::cmp::Reverse(listed.active_at_ms()));
    Ok(sessions)
}

/// The time now.
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// A table; where the names leave no room for one, each session has two lines. A name is there to be copied, so
/// it is never cut.
fn text(sessions: &[Listed], now_ms: u64, style: &Style) -> String {
    let table = table(sessions, now_ms).dropped_to_fit(style.width, &MAY_GO);
    if table.columns_wide() <= style.width {
        return table.draw(style);
    }
    sessions.iter().map(|listed| stacked(listed, now_ms, style)).collect()
}

fn table(sessions: &[Listed], now_ms: u64) -> Table {
    let left = |heading| Column { heading, align: Align::Left };
    let right = |heading| Column { heading, align: Align::Right };
    let mut table = Table::new(vec![
        left("SESSION"),
        left("PROJECT"),
        left("STATE"),
        right("OPEN/ALL"),
        right("MAIN"),
        right("FOLDED"),
        right("SAVED"),
        right("REQUESTS"),
        right("COST"),
        left("LAST ACTIVITY"),
    ]);
    let dash = || "-".to_owned();
    for listed in sessions {
        let known = |figure: &dyn Fn(&SessionRow) -> String| listed.known.as_ref().map_or_else(dash, figure);
        let project =
            |row: &SessionRow| row.session.project.as_ref().map_or_else(dash, |project| project.as_str().to_owned());
        table.row(vec![
            (if listed.is_open() { Tone::Strong } else { Tone::Plain }, listed.id.to_string()),
            (Tone::Faint, known(&project)),
            (if listed.is_open() { Tone::Busy } else { Tone::Faint }, listed.state().to_owned()),
            (Tone::Plain, known(&|row| format!("{}/{}", row.open, row.session.opened))),
            (Tone::Plain, known(&|row| thousands(row.session.main_tokens))),
            (Tone::Plain, known(&|row| thousands(row.session.folded_tokens))),
            (Tone::Plain, known(&|row| thousands(row.session.saved_tokens()))),
            (Tone::Plain, listed.requests.map_or_else(dash, |totals| thousands(totals.requests))),
            (Tone::Plain, cost(listed).unwrap_or_else(dash)),
            (Tone::Faint, ago(now_ms, listed.active_at_ms())),
        ]);
    }
    table
}

fn cost(listed: &Listed) -> Option<String> {
    listed.requests.filter(|totals| totals.priced > 0).map(|totals| money(totals.cost_micros))
}

/// A session's name, and below it what is known of it.
fn stacked(listed: &Listed, now_ms: u64, style: &Style) -> String {
    let mut about = vec![listed.state().to_owned()];
    about.extend(listed.known.as_ref().map(|row| format!("{} of {} branches open", row.open, row.session.opened)));
    about.extend(listed.requests.map(|totals| {
        format!("{} {}", thousands(totals.requests), if totals.requests == 1 { "request" } else { "requests" })
    }));
    about.extend(cost(listed));
    about.push(ago(now_ms, listed.active_at_ms()));
    let name = style.tone(if listed.is_open() { Tone::Strong } else { Tone::Plain }, listed.id.as_str());
    let lines = packed(&about, style.either(" · ", ", "), style.width.saturating_sub(2));
    let below: String = lines.iter().map(|line| style.tone(Tone::Faint, &format!("  {line}")) + "\n").collect();
    format!("{name}\n{below}")
}

/// The fields have the names that the JSON API gives them. Of a session that is known by its requests alone there
/// are few.
fn as_json(listed: &Listed) -> Value {
    let mut shown = listed.known.as_ref().map_or_else(|| json!({ "session_id": listed.id }), known_json);
    shown["status"] = json!(listed.state());
    shown["last_active_at"] = json!(timestamp(listed.active_at_ms()));
    shown["request_totals"] = listed.requests.as_ref().map_or(Value::Null, infold_control::request_totals_json);
    shown
}

fn known_json(row: &SessionRow) -> Value {
    let session = &row.session;
    json!({
        "session_id": session.id,
        "status": state(session),
        "project_hash": session.project,
        "parent_session_id": session.forked_from(),
        "created_at": timestamp(session.started_at_ms),
        "last_active_at": timestamp(session.active_at_ms),
        "ended_at": session.ended_at_ms.and_then(timestamp),
        "active_branch_id": session.active.branch(),
        "total_branches": session.opened,
        "active_branches": row.open,
        "total_tokens": session.main_tokens + row.open_tokens,
        "main_thread_tokens": session.main_tokens,
        "folded_tokens": session.folded_tokens,
        "tokens_saved": session.saved_tokens(),
    })
}
