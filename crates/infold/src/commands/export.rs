//! `infold export`: writes all that was said and done in a session of infold's agent, for other programs or for people.

use std::path::PathBuf;

use infold_agent::whole::transcript;
use infold_core::Principal;
use infold_engine::{AgentRecord, Engine};
use infold_wire::write_markdown;
use serde_json::{Value, json};

use super::Invocation;
use crate::agent::records;
use crate::failure::{Refused, tell};
use crate::help;
use crate::output::Form;
use crate::parts::{self, command_error};
use crate::telemetry;
use crate::whole_file::{self, IfThere};

/// Arguments of `export`.
#[derive(Debug, clap::Args)]
#[command(after_help = help::text(
    &[
        "jsonl is the whole log, one record a line, with what the session went back from. markdown is the conversation as it is \
         now, with what compactions have taken out of the prompt; sealed reasoning is not in it. Secrets are in neither.",
    ],
    &[
        ("infold export 5b24 --format markdown -o session.md", ""),
        ("infold export 5b24 | jq -c 'select(.happened == \"answered\") | .usage'", ""),
    ],
))]
pub struct ExportArgs {
    /// The session's id, or its first characters; `infold sessions --agent` lists them
    #[arg(value_name = "SESSION")]
    pub session: String,
    /// What to write
    #[arg(long, value_name = "FORM", default_value = "jsonl")]
    pub format: ExportForm,
    /// Write to this file, which must not exist, instead of standard output
    #[arg(short, long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub output: Option<PathBuf>,
}

/// What a session is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum ExportForm {
    /// The log, one record a line.
    Jsonl,
    /// A document for people.
    Markdown,
}

impl ExportForm {
    fn name(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::Markdown => "markdown",
        }
    }
}

/// Writes the session to standard output or a file.
pub fn run(args: &ExportArgs, invocation: &Invocation) -> anyhow::Result<()> {
    telemetry::log_only(&invocation.logging());
    let engine = parts::engine(&invocation.data_folder()?, &invocation.in_force.settings)?;
    let (session, rows) = parts::asking_runtime()?.block_on(load(&engine, &args.session))?;
    let count = rows.len();
    let text = match args.format {
        ExportForm::Jsonl => rows.into_iter().map(|row| line(row) + "\n").collect(),
        ExportForm::Markdown => write_markdown(&transcript(&session, records(rows)?)).text,
    };
    let Some(path) = &args.output else { return Ok(invocation.output.text(&text)?) };
    whole_file::write(path, IfThere::Refuse, |file| Ok(file.write_all(text.as_bytes())?))?;
    match invocation.output.form {
        Form::Json => invocation.output.json(&json!({
            "session_id": session,
            "format": args.format.name(),
            "file": path,
            "records": count,
            "bytes": text.len(),
        })),
        Form::Text => {
            tell("note", format_args!("{count} records written to {}", path.display()));
            Ok(())
        }
    }
}

async fn load(engine: &Engine, named: &str) -> anyhow::Result<(String, Vec<AgentRecord>)> {
    let who = Principal::local();
    let session = engine.resolve_session(&who, named).await.map_err(command_error)?;
    let rows = engine.agent_log(&who, &session, 0).await.map_err(command_error)?;
    match rows.is_empty() {
        false => Ok((session.to_string(), rows)),
        true => Err(Refused::new(format!("session {session} is not one of infold's agent"))
            .hint("`infold sessions --agent` lists those that are")
            .into()),
    }
}

/// A record with its place and time in front.
fn line(row: AgentRecord) -> String {
    let mut line = json!({ "record": row.seq, "at": infold_control::moment_text(row.at_ms) });
    if let (Value::Object(line), Value::Object(said)) = (&mut line, row.record) {
        line.extend(said);
    }
    line.to_string()
}
