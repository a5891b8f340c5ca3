//! `infold rewind`: lists the points of a session of infold's agent, or goes back to one of them.
//!
//! Files go back first, all or none; then branches that were opened since are closed, and the log gets one more record.
//! Whatever breaks off in between, the same command does the rest.

use std::collections::HashMap;
use std::path::Path;

use infold_agent::points::{RewindPoint, branches_behind, points};
use infold_agent::record::SessionRecord;
use infold_agent::session::{NumberedRecord, changes_behind, live};
use infold_agent::tools::undo_all;
use infold_core::{BranchId, Principal, Refusal, SessionId};
use infold_engine::{Engine, Error, SessionRef};
use serde_json::{Value, json};

use super::Invocation;
use super::exec::records;
use super::sessions::now_ms;
use crate::agent::fence_around;
use crate::draw::{Align, Column, Style, Table, Tone, ago, fitted, one_line};
use crate::failure::Refused;
use crate::help;
use crate::output::Form;
use crate::parts::{self, command_error};
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

/// A session's log, read.
struct ReadLog {
    session: SessionId,
    log: Vec<NumberedRecord>,
    /// When each record was appended.
    times: HashMap<u64, u64>,
}

/// What going back did.
struct WentBack {
    to: u64,
    files: Vec<String>,
    branches: Vec<BranchId>,
}

/// Lists the points, or goes back to one.
pub fn run(args: &RewindArgs, invocation: &Invocation) -> anyhow::Result<()> {
    telemetry::log_only(&invocation.logging());
    let engine = parts::engine(&invocation.data_folder()?, &invocation.in_force.settings)?;
    parts::asking_runtime()?.block_on(rewind(args, invocation, &engine))
}

async fn rewind(args: &RewindArgs, invocation: &Invocation, engine: &Engine) -> anyhow::Result<()> {
    let read = ReadLog::of(engine, &args.session).await?;
    let points = points(&live(read.log.clone()));
    let Some(to) = args.to else { return list(&read, &points, invocation) };
    if !points.iter().any(|point| point.record == to) {
        return Err(Refused::new(format!("record {to} is no point that the session can go back to"))
            .hint(format!("`infold rewind {}` lists them", args.session))
            .code("no_such_point")
            .into());
    }
    let files = match args.keep_files {
        true => Vec::new(),
        false => put_files_back(&read, to, invocation)?,
    };
    let branches = close_branches(engine, &read, to).await?;
    let record = serde_json::to_value(SessionRecord::Rewound { to })?;
    let decided_on = read.log.last().map_or(0, |(seq, _)| *seq);
    engine.append_agent_log(&Principal::local(), &read.session, decided_on, &[record]).await.map_err(command_error)?;
    say(&read.session, &WentBack { to, files, branches }, invocation)
}

impl ReadLog {
    async fn of(engine: &Engine, named: &str) -> anyhow::Result<Self> {
        let who = Principal::local();
        let session = engine.resolve_session(&who, named).await.map_err(command_error)?;
        let rows = engine.agent_log(&who, &session, 0).await.map_err(command_error)?;
        let times = rows.iter().map(|row| (row.seq, row.at_ms)).collect();
        let log = records(rows)?;
        if log.is_empty() {
            return Err(Refused::new(format!("session {session} is not one of infold's agent"))
                .hint("`infold sessions --agent` lists those that are")
                .into());
        }
        Ok(Self { session, log, times })
    }

    /// The folder that the session works in.
    fn folder(&self) -> anyhow::Result<&Path> {
        let began = self.log.iter().find_map(|(_, record)| match record {
            SessionRecord::Began(beginning) => Some(Path::new(&beginning.folder)),
            _ => None,
        });
        began.ok_or_else(|| Refused::new("the session does not say in which folder it works").into())
    }
}

/// Puts files back that the agent wrote behind a point.
fn put_files_back(read: &ReadLog, to: u64, invocation: &Invocation) -> anyhow::Result<Vec<String>> {
    let changes = changes_behind(read.log.clone(), to);
    if changes.is_empty() {
        return Ok(Vec::new());
    }
    let (fence, file_bytes_max) = fence_around(read.folder()?, &invocation.in_force.settings.agent)?;
    undo_all(&changes, &fence, file_bytes_max).map_err(|problems| {
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        Refused::new(format!("nothing was changed: {}", problems.join("\n")))
            .hint("put these files back yourself, or go back with --keep-files")
            .code("file_changed_since")
            .into()
    })
}

/// Closes branches that were opened behind a point and are still open.
async fn close_branches(engine: &Engine, read: &ReadLog, to: u64) -> anyhow::Result<Vec<BranchId>> {
    let behind = branches_behind(&live(read.log.clone()), to);
    let session = SessionRef::Id(read.session.clone());
    match engine.abandon_branches(&Principal::local(), &session, &behind).await {
        Ok(closed) => Ok(closed),
        // What is long over has no open branches.
        Err(Error::Refused(Refusal::SessionNotFound { .. })) => Ok(Vec::new()),
        Err(error) => Err(command_error(error)),
    }
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
