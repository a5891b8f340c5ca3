//! `infold memory export` and `infold memory import`.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use anyhow::Context;
use infold_engine::{ImportMemories, ImportMode};
use serde_json::json;

use super::{Memories, named_project, this_project};
use crate::commands::Invocation;
use crate::draw::thousands;
use crate::failure::{Refused, tell};
use crate::help;
use crate::output::Form;

/// One byte more than an import can have shows that it has more.
const IMPORT_BYTES_MAX: u64 = (16 << 20) + 1;

/// Arguments of `memory export`.
#[derive(Debug, clap::Args)]
#[command(after_help = help::text(&[], &[("infold memory export > memories.jsonl", "")]))]
pub struct ExportArgs {
    /// Only memories that count in this project: a folder, or a project's key [default: all]
    #[arg(long, value_name = "PROJECT")]
    project: Option<String>,
}

/// Arguments of `memory import`.
#[derive(Debug, clap::Args)]
#[command(after_help = help::text(
    &[
        "Each line is a JSON object with title and lesson; kind, files and commands may be there. All lines are kept, or \
         none: the first bad one is named.",
        "What is imported comes from outside: branches are not given it before you accept it with `infold memory \
         review`, or before a branch has found out the same.",
    ],
    &[("infold memory import memories.jsonl --name team", ""), ("infold memory forget --from import:team --yes", "")],
))]
pub struct ImportArgs {
    /// The file; - reads standard input
    file: PathBuf,
    /// What the import is called [default: the file's name]
    #[arg(long)]
    name: Option<String>,
    /// The project that they count in: a folder, or a project's key [default: this folder]
    #[arg(long, value_name = "PROJECT", conflicts_with = "everywhere")]
    project: Option<String>,
    /// Let them count in every project
    #[arg(long)]
    everywhere: bool,
    /// Only check the file
    #[arg(long)]
    dry_run: bool,
}

/// Prints memories.
pub fn export(args: &ExportArgs, invocation: &Invocation) -> anyhow::Result<()> {
    let Some(memories) = Memories::in_use(invocation)? else {
        tell("note", "no memories yet");
        return Ok(());
    };
    let project = args.project.as_deref().map(|project| named_project(project, invocation));
    let lines = memories.ask(memories.engine.export_memories(&memories.who, project.as_deref()))?;
    Ok(invocation.output.text(&lines)?)
}

/// Reads memories from a file.
pub fn import(args: &ImportArgs, invocation: &Invocation) -> anyhow::Result<()> {
    let project = match (&args.project, args.everywhere) {
        (Some(project), _) => Some(named_project(project, invocation)),
        (None, true) => None,
        (None, false) => Some(this_project(invocation)?),
    };
    let request = ImportMemories {
        lines: read(args)?,
        name: args.name.clone().unwrap_or_else(|| file_name(args)),
        project,
        mode: if args.dry_run { ImportMode::DryRun } else { ImportMode::Keep },
    };
    let name = request.name.clone();
    let memories = Memories::open(invocation)?;
    let done = memories.ask(memories.engine.import_memories(&memories.who, request))?;
    let output = &invocation.output;
    if output.form == Form::Json {
        return output.json(&json!({ "lines": done.lines, "made": done.made, "change": done.change }));
    }
    let lines = thousands(done.lines as u64);
    match done.change {
        None => Ok(output.text(&format!("{lines} memories are good; nothing was kept\n"))?),
        Some(_) => {
            let kept = thousands(done.made);
            Ok(output.text(&format!("{kept} of {lines} memories are new, as import:{name}\n"))?)
        }
    }
}

fn read(args: &ImportArgs) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if args.file.as_os_str() == "-" {
        std::io::stdin().lock().take(IMPORT_BYTES_MAX).read_to_end(&mut bytes)?;
        return Ok(bytes);
    }
    let shown = args.file.display();
    let file = File::open(&args.file).map_err(|error| Refused::new(format!("{shown}: {error}")))?;
    file.take(IMPORT_BYTES_MAX).read_to_end(&mut bytes).with_context(|| format!("cannot read {shown}"))?;
    Ok(bytes)
}

fn file_name(args: &ImportArgs) -> String {
    let name = args.file.file_stem().map(|name| name.to_string_lossy().into_owned());
    name.filter(|name| name != "-").unwrap_or_else(|| "input".to_owned())
}
