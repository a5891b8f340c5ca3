//! `infold rewind`: lists the points of a session of infold's agent, or goes back to one of them.

use infold_agent::points::RewindPoint;
use infold_core::SessionId;
use infold_engine::Engine;
use serde_json::{Value, json};

use super::Invocation;
use super::sessions::now_ms;
use crate::agent::{FilesThen, ReadLog, WentBack, go_back};
use crate::draw::{Align, Column, Style, Table, Tone, ago, fitted, one_line};
use crate::help;
use crate::output::Form;
use crate::parts;
use crate::telemetry;

/// Most columns of what was said at a point.
const WORDS_COLUMNS_MAX: usize = 80;

/// Arguments of `rewind`.
#[derive(Debug, clap::Args)]
#[command(after_help = help::text(
    &[
        "Without --to, lists the points that the session can go back to. Going back puts files back as they were that the \
         agent wrote since, unless somebody else has changed one: then nothing is changed, and the difference is shown. What \
         commands of the agent's did is not undone. Nothing is deleted: a rewind is one more record of the session.",
        "`infold exec --resume SESSION` goes on from there.",
    ],
    &[
        ("infold rewind 5b24", "list the points"),
        ("infold rewind 5b24 --to 12", "go back to record 12"),
        ("infold rewind 5b24 --to 12 --keep-files", "leave all files as they are"),
    ],
))]
pub struct RewindArgs {
    /// The session's id, or its first characters; `infold sessions --agent` lists them
    #[arg(value_name = "SESSION")]
    pub session: String,
    /// Go back to this record
    #[arg(long, value_name = "N")]
    pub to: Option<u64>,
    /// Leave files as they are
    #[arg(long, requires = "to")]
    pub keep_files: bool,
}

/// Lists the points, or goes back to one.
pub fn run(args: &RewindArgs, invocation: &Invocation) -> anyhow::Result<()> {
    telemetry::log_only(&invocation.logging());
    let engine = parts::engine(&invocation.data_folder()?, &invocation.in_force.settings)?;
    parts::asking_runtime()?.block_on(rewind(args, invocation, &engine))
}

async fn rewind(args: &RewindArgs, invocation: &Invocation, engine: &Engine) -> anyhow::Result<()> {
    let read = ReadLog::of(engine, &args.session).await?;
    let Some(to) = args.to else { return list(&read, &read.points(), invocation) };
    let files = if args.keep_files { FilesThen::Stay } else { FilesThen::PutBack };
    let went = go_back(engine, &read, to, files, &invocation.in_force.settings.agent).await?;
    say(&read.session, &went, invocation)
}

fn list(read: &ReadLog, points: &[RewindPoint], invocation: &Invocation) -> anyhow::Result<()> {
    let output = &invocation.output;
    let at_ms = |point: &RewindPoint| read.times.get(&point.record).copied().unwrap_or_default();
    match output.form {
        Form::Json => {
            let points: Vec<Value> = points.iter().map(|point| as_json(point, at_ms(point))).collect();
            output.json(&json!({ "session_id": read.session, "points": points }))
        }
        Form::Text => {
            let rows = points.iter().map(|point| (point, at_ms(point)));
            Ok(output.text(&table(rows, now_ms(), &output.style).draw(&output.style))?)
        }
    }
}

fn as_json(point: &RewindPoint, at_ms: u64) -> Value {
    json!({
        "record": point.record,
        "at": infold_control::moment_text(at_ms),
        "kind": point.kind.word(),
        "words": point.words,
    })
}

fn table<'p>(points: impl Iterator<Item = (&'p RewindPoint, u64)>, now_ms: u64, style: &Style) -> Table {
    let mut table = Table::new(vec![
        Column { heading: "RECORD", align: Align::Right },
        Column { heading: "WHEN", align: Align::Left },
        Column { heading: "WHAT", align: Align::Left },
        Column { heading: "FIRST WORDS", align: Align::Left },
    ]);
    for (point, at_ms) in points {
        table.row(vec![
            (Tone::Strong, point.record.to_string()),
            (Tone::Faint, ago(now_ms, at_ms)),
            (Tone::Plain, point.kind.word().to_owned()),
            (Tone::Plain, fitted(&one_line(&point.words), WORDS_COLUMNS_MAX, style)),
        ]);
    }
    table
}

fn say(session: &SessionId, went: &WentBack, invocation: &Invocation) -> anyhow::Result<()> {
    let output = &invocation.output;
    match output.form {
        Form::Json => output.json(&json!({
            "session_id": session,
            "to": went.to,
            "files": went.files,
            "branches": went.branches,
        })),
        Form::Text => {
            let mut text = format!("went back to record {}\n", went.to);
            went.files.iter().for_each(|file| text.push_str(&format!("put back {file}\n")));
            went.branches.iter().for_each(|branch| text.push_str(&format!("closed branch {branch}\n")));
            text.push_str(&format!("go on with: infold exec --resume {session}\n"));
            Ok(output.text(&text)?)
        }
    }
}
