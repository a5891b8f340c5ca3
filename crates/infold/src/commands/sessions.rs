//! `infold sessions`: what there is, the latest first.

use std::time::{SystemTime, UNIX_EPOCH};

use infold_core::Principal;
use infold_store::SessionRow;
use serde_json::{Value, json};

use super::Invocation;
use super::show::{state, timestamp};
use crate::draw::{Align, Column, Style, Table, Tone, ago, thousands};
use crate::failure::tell;
use crate::output::Form;
use crate::parts;
use crate::telemetry;

/// Arguments of `sessions`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  infold sessions
  infold sessions --limit 5
  infold sessions --json | jq -r '.sessions[].session_id'")]
pub struct Args {
    /// How many to list at most
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub limit: u32,
}

/// Prints the list.
pub fn run(args: &Args, invocation: &Invocation) -> anyhow::Result<()> {
    let rows = load(args, invocation)?;
    let output = &invocation.output;
    match output.form {
        Form::Json => output.json(&json!({"sessions": rows.iter().map(as_json).collect::<Vec<Value>>()})),
        Form::Text if rows.is_empty() => {
            tell("note", "no sessions yet");
            Ok(())
        }
        Form::Text => Ok(output.text(&table(&rows, now_ms(), &output.style))?),
    }
}

fn load(args: &Args, invocation: &Invocation) -> anyhow::Result<Vec<SessionRow>> {
    telemetry::log_only(&invocation.logging());
    let Some(folder) = invocation.data_folder_in_use()? else { return Ok(Vec::new()) };
    let engine = parts::engine(&folder, &invocation.in_force.settings)?;
    let rows = parts::asking_runtime()?.block_on(engine.sessions(&Principal::local(), 0, args.limit as usize));
    rows.map_err(parts::told)
}

/// The time now.
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn table(rows: &[SessionRow], now_ms: u64, style: &Style) -> String {
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
        left("LAST ACTIVITY"),
    ]);
    for row in rows {
        let session = &row.session;
        let is_over = session.ended_at_ms.is_some();
        let project = session.project.as_ref().map_or("-", |project| project.as_str());
        table.row(vec![
            (if is_over { Tone::Plain } else { Tone::Strong }, session.id.to_string()),
            (Tone::Faint, project.to_owned()),
            (if is_over { Tone::Faint } else { Tone::Busy }, state(session).to_owned()),
            (Tone::Plain, format!("{}/{}", row.open, session.opened)),
            (Tone::Plain, thousands(session.main_tokens)),
            (Tone::Plain, thousands(session.folded_tokens)),
            (Tone::Plain, thousands(session.saved_tokens())),
            (Tone::Faint, ago(now_ms, session.active_at_ms)),
        ]);
    }
    table.dropped_to_fit(style.width, &["PROJECT", "SAVED", "FOLDED"]).draw(style)
}

/// The fields have the names that the JSON API gives them.
fn as_json(row: &SessionRow) -> Value {
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
