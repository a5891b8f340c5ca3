//! `infold rescue`: makes a session that no longer fits its window fit again, in a new file that its client resumes.

mod report;

use std::path::{Path, PathBuf};
use std::str::FromStr;

use infold_core::rescue::{Purpose, Receipt, RescueRoom};
use infold_core::{Family, SessionId};
use infold_wire::{Format, Problem, RescueClient};

use super::Invocation;
use crate::data_folder::quoted;
use crate::failure::Refused;
use crate::help;
use crate::output::Form;
use crate::parts;
use crate::rescue::{Destination, Offloader, Original, Rescue, Terms};
use crate::settings::{self, Settings};
use crate::sources::{self, NamedSource};
use crate::telemetry;

/// Arguments of `rescue`.
#[derive(Debug, clap::Args)]
#[command(after_help = help::text(
    &[
        "What stays: every message of the user, word for word, and as much of the rest as fits. What goes: all \
         reasoning; then, only as far as needed, the largest tool results and inputs, which are kept in the data folder \
         and read back with `infold result` or the tool read_result; then the oldest exchanges. The new file lists what \
         was done. The original is not changed.",
    ],
    &[
        ("infold rescue 5b2438e4-96a7-43f7-b051-10a055bb0fbe", "a session of Claude Code or Codex"),
        ("infold rescue session.jsonl --window 128000", ""),
        ("infold rescue session.jsonl --dry-run", "only say what would be done"),
        ("infold rescue session.jsonl.gz --output .", "into this folder"),
    ],
))]
pub struct RescueArgs {
    /// A recording of Claude Code or Codex, or the id of a session
    #[arg(value_name = "FILE|SESSION")]
    source: String,
    /// Tokens that the model takes in all [default: the model's window in the settings, `[windows]`]
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u64).range(1_000..=100_000_000))]
    window: Option<u64>,
    /// Tokens of it for system prompt, tools, answers and going on [default: the setting
    /// rescue.reserve_tokens, but at most a third of the window]
    #[arg(long, value_name = "TOKENS")]
    reserve: Option<u64>,
    /// Write here instead of beside the original: a folder, or a file that is not there yet
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Form of the recording: claude-code or codex
    #[arg(long, value_name = "FORM", value_parser = Format::from_str)]
    from: Option<Format>,
    /// Only say what would be done
    #[arg(long)]
    dry_run: bool,
    /// Write a new file even if the session fits as it is
    #[arg(long)]
    force: bool,
    #[arg(skip = Purpose::Fitting)]
    purpose: Purpose,
}

/// A window that every session fits.
const WINDOW_TOKENS_MAX: u64 = 100_000_000;

impl RescueArgs {
    /// The arguments that write a copy of a session in which only the reasoning is missing: a rescue never keeps it.
    pub fn without_reasoning(source: &str) -> Self {
        Self {
            source: source.to_owned(),
            window: Some(WINDOW_TOKENS_MAX),
            reserve: None,
            output: None,
            from: None,
            dry_run: false,
            force: true,
            purpose: Purpose::WithoutReasoning,
        }
    }
}

/// How a rescue ended.
enum Ending {
    /// The session fits as it is, so nothing was written.
    Fits,
    /// The rescue was planned and not carried out, because of `--dry-run`.
    Planned,
    /// The new recording is on disk.
    Written { destination: Destination, lines: u64, receipt_tokens: u64 },
}

/// What is printed at the end.
struct RescueReport<'a> {
    facts: &'a Facts,
    ending: Ending,
    receipt: Receipt,
}

/// The session as it was found, and the room that it has to fit.
struct Facts {
    purpose: Purpose,
    path: PathBuf,
    session: String,
    client: RescueClient,
    model: Option<String>,
    window_tokens: u64,
    room: RescueRoom,
    before_tokens: u64,
    problems: Vec<Problem>,
    problems_total: u64,
}

impl Facts {
    /// Whether the session fits as it is.
    fn fits(&self) -> bool {
        self.before_tokens <= self.room.tokens
    }
}

/// Reads a session, plans, writes the new recording if one is needed, and reports what was done.
pub fn run(args: &RescueArgs, invocation: &Invocation) -> anyhow::Result<()> {
    telemetry::log_only(&invocation.logging());
    let path = find(args, invocation)?;
    let rescue = read(args, invocation, &path)?;
    let facts = facts(args, invocation, &rescue)?;
    let name = path.display().to_string();
    sources::tell_of_problems(&name, &facts.problems, facts.problems_total, &invocation.globals);

    let report = if facts.fits() && !args.force {
        RescueReport { facts: &facts, ending: Ending::Fits, receipt: Receipt::default() }
    } else if args.dry_run {
        let plan = rescue.plan(facts.room)?;
        RescueReport { facts: &facts, ending: Ending::Planned, receipt: rescue.receipt(&plan) }
    } else {
        write(args, invocation, rescue, &facts)?
    };

    match invocation.output.form {
        Form::Json => invocation.output.json(&report::as_json(&report)),
        Form::Text => Ok(invocation.output.text(&report::as_text(&report, &invocation.output.style))?),
    }
}

fn find(args: &RescueArgs, invocation: &Invocation) -> anyhow::Result<PathBuf> {
    match sources::find(&args.source, &invocation.surroundings)? {
        NamedSource::File(path) => Ok(path),
        NamedSource::Stdin => Err(Refused::new("a rescue goes over its input more than once, so it cannot be a pipe")
            .hint("save it to a file first")
            .into()),
        NamedSource::Session(name) => Err(Refused::new(format!("there is no recording of a session {name:?}"))
            .hint("give the path of the file that Claude Code or Codex wrote")
            .into()),
    }
}

fn read(args: &RescueArgs, invocation: &Invocation, path: &Path) -> anyhow::Result<Rescue> {
    let settings = &invocation.in_force.settings;
    let terms = Terms {
        format: args.from,
        family: family(settings),
        limits: sources::limits(settings),
        reader: reader(invocation),
        purpose: args.purpose,
    };
    Rescue::read(Original::open(path)?, terms)
}

/// The family of models whose tokens are counted if the recording names no model.
fn family(settings: &Settings) -> Family {
    match settings.count.family {
        settings::Family::Claude => Family::Claude,
        settings::Family::ClaudeNew => Family::ClaudeNew,
        settings::Family::Gpt => Family::Gpt,
    }
}

/// The command that reads a handle back, written so that it also works in the agent's shell.
fn reader(invocation: &Invocation) -> String {
    let own = std::env::current_exe().ok();
    let on_path = invocation.surroundings.text("PATH").and_then(|path| {
        let found = path.split(':').map(|folder| Path::new(folder).join("infold")).find(|file| file.is_file())?;
        found.canonicalize().ok()
    });
    let program = match own {
        Some(own) if on_path.as_ref() != Some(&own) => quoted(&own),
        Some(_) | None => "infold".to_owned(),
    };
    match invocation.in_force.settings.data.as_str() {
        "" => format!("{program} result"),
        data => {
            format!("{program} --data {} result", quoted(&std::path::absolute(data).unwrap_or_else(|_| data.into())))
        }
    }
}

fn facts(args: &RescueArgs, invocation: &Invocation, rescue: &Rescue) -> anyhow::Result<Facts> {
    let session = rescue.session();
    let settings = &invocation.in_force.settings;
    let window = || parts::windows(settings).tokens_of(session.model.as_deref().unwrap_or_default());
    let window_tokens = args.window.unwrap_or_else(window);
    // The setting is meant for large windows. It would use up a small one.
    let reserve_tokens = args.reserve.unwrap_or(settings.rescue.reserve_tokens.min(window_tokens / 3));
    let Some(room_tokens) = window_tokens.checked_sub(reserve_tokens).filter(|tokens| *tokens > 0) else {
        return Err(Refused::new(format!("a reserve of {reserve_tokens} tokens leaves nothing of {window_tokens}"))
            .hint("give a larger --window or a smaller --reserve")
            .into());
    };
    Ok(Facts {
        purpose: args.purpose,
        path: rescue.original().path().to_owned(),
        session: session.id.clone().unwrap_or_default(),
        client: rescue.client(),
        model: session.model.clone(),
        window_tokens,
        room: rescue.room(room_tokens),
        before_tokens: rescue.before_tokens(),
        problems: session.problems.clone(),
        problems_total: session.problems_total,
    })
}

fn write<'a>(
    args: &RescueArgs,
    invocation: &Invocation,
    rescue: Rescue,
    facts: &'a Facts,
) -> anyhow::Result<RescueReport<'a>> {
    // A rescue that cannot be planned must leave nothing in the store.
    rescue.plan(facts.room)?;
    let folder = invocation.surroundings.folder.clone().unwrap_or_else(|| PathBuf::from("."));
    let destination = Destination::of(&rescue, args.output.as_deref(), &folder)?;
    let offloader = Offloader::new(invocation, &format!("{}{}", SessionId::RESCUED, destination.session.id))?;

    let written = rescue.write(facts.room, &offloader, &destination)?;
    let ending = Ending::Written { destination, lines: written.lines, receipt_tokens: written.receipt_tokens };
    Ok(RescueReport { facts, ending, receipt: written.receipt })
}
