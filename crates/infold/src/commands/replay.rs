//! `infold replay`: what recorded sessions would have cost under other policies, and what their models would have seen.

mod memories;
mod table;

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use infold_core::strip_controls;
use infold_core::transcript::Transcript;
use infold_replay::{Compactions, Options, Policy, Replay, Report};
use infold_wire::Format;

use super::Invocation;
use crate::failure::{Refused, tell};
use crate::help;
use crate::output::Form;
use crate::settings::Settings;
use crate::sources;
use crate::whole_file::{self, IfThere};
use crate::{parts, telemetry};

/// Most sessions that get a curve in the page.
const CURVES_MAX: usize = 24;
/// Most points of a curve.
const CURVE_POINTS_MAX: usize = 240;
const UUID_CHARS: usize = 36;

/// Arguments of `replay`.
#[derive(Debug, clap::Args)]
#[command(after_help = help::text(
    &[
        "Without FILES, the latest sessions that Claude Code and Codex have recorded for you are played. Folders are \
         searched for transcripts. Nothing is sent anywhere, and no recording is changed.",
    ],
    &[
        ("infold replay", "your own latest sessions"),
        ("infold replay session.jsonl", ""),
        ("infold replay ~/.claude/projects --html replay.html", ""),
        ("infold replay sessions/ --memories", "which lessons would have been there when they were needed"),
        ("infold replay sessions/ --json | jq '.policies[] | {label, billed: .total.measures.billed}'", ""),
    ],
))]
pub struct ReplayArgs {
    /// Transcripts, or folders that hold some
    #[arg(value_name = "FILES")]
    files: Vec<PathBuf>,
    /// Write a page with charts to this file; an earlier one is replaced
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Without FILES: how many of your latest sessions to play
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    last: u32,
    /// Form of the transcripts: claude-code, codex, opencode, infold, anthropic, openai, normalized
    #[arg(long, value_name = "FORM", value_parser = Format::from_str)]
    from: Option<Format>,
    /// Play as if the client had never compacted or cleared anything, whatever the size
    #[arg(long)]
    ignore_compactions: bool,
    /// Say which lessons would have been there when they were needed, instead of what policies cost
    #[arg(long, conflicts_with_all = ["html", "ignore_compactions"])]
    memories: bool,
}

/// Plays the recordings, prints the tables, and writes the page that `--html` asks for.
pub fn run(args: &ReplayArgs, invocation: &Invocation) -> anyhow::Result<()> {
    telemetry::log_only(&invocation.logging());
    if let Some(path) = &args.html {
        whole_file::check_folder(path)?;
    }
    let files = files(args, invocation)?;
    if args.memories {
        return play_memories(&files, args, invocation);
    }
    let report = play(&files, args, invocation)?;
    if report.sessions.is_empty() {
        return Err(Refused::new("none of the files holds a session that could be played")
            .hint("give transcripts of Claude Code, Codex or OpenCode; the warnings above say what was found instead")
            .into());
    }
    let output = &invocation.output;
    match output.form {
        Form::Json => output.json(&report)?,
        Form::Text => output.text(&table::draw(&report, &output.style))?,
    }
    if let Some(path) = &args.html {
        let page = infold_replay::html(&report);
        whole_file::write(path, IfThere::Replace, |file| Ok(file.write_all(page.as_bytes())?))?;
        if !invocation.globals.quiet {
            tell("note", format_args!("the page is in {}", path.display()));
        }
    }
    Ok(())
}

/// Does recorded work once more, and says which lessons it would have been given.
fn play_memories(files: &[PathBuf], args: &ReplayArgs, invocation: &Invocation) -> anyhow::Result<()> {
    let (settings, output) = (&invocation.in_force.settings, &invocation.output);
    let bar = bar(files, invocation);
    let mut reading = memories::WorkReader::new(settings, args.from);
    for file in files {
        bar.set_message(file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default());
        match reading.file(file, &invocation.globals) {
            Err(error) if files.len() == 1 && args.files.contains(file) => return Err(error),
            Err(error) => {
                if !invocation.globals.quiet {
                    bar.suspend(|| tell("warning", format_args!("left out: {}", first_line(&error))));
                }
                reading.skip(file, first_line(&error));
            }
            Ok(()) => {}
        }
        bar.inc(fs::metadata(file).map_or(0, |data| data.len()));
    }
    let replay = reading.play(|| bar.tick())?;
    bar.finish_and_clear();
    match output.form {
        Form::Json => output.json(&replay),
        Form::Text => Ok(output.text(&memories::draw(&replay, &output.style))?),
    }
}

fn first_line(error: &anyhow::Error) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

fn files(args: &ReplayArgs, invocation: &Invocation) -> anyhow::Result<Vec<PathBuf>> {
    if !args.files.is_empty() {
        return sources::expand(&args.files);
    }
    let files = sources::recorded(&invocation.surroundings, args.last as usize);
    if files.is_empty() {
        return Err(Refused::new("no session of Claude Code or Codex was found in your home folder")
            .hint("name transcripts, or folders that hold some")
            .into());
    }
    Ok(files)
}

fn play(files: &[PathBuf], args: &ReplayArgs, invocation: &Invocation) -> anyhow::Result<Report> {
    let settings = &invocation.in_force.settings;
    let mut playing = Playing {
        replay: Replay::new(options(args, settings)),
        seen: HashSet::new(),
        bar: bar(files, invocation),
        invocation,
    };
    // A single file that was named has to be a transcript. Among several, other files are skipped with a warning.
    for file in files {
        let is_named = args.files.contains(file);
        match playing.file(file, args.from) {
            Err(error) if is_named && files.len() == 1 => return Err(error),
            Err(error) => playing.skip(file, &error),
            Ok(()) => {}
        }
    }
    playing.bar.finish_and_clear();
    Ok(playing.replay.finish(None))
}

fn options(args: &ReplayArgs, settings: &Settings) -> Options {
    Options {
        policies: policies(settings),
        compactions: if args.ignore_compactions { Compactions::Ignored } else { Compactions::AsRecorded },
        prices: parts::prices(settings),
        curves_max: CURVES_MAX,
        curve_points_max: CURVE_POINTS_MAX,
    }
}

/// The usual policies. infold's own one follows the settings.
fn policies(settings: &Settings) -> Vec<Policy> {
    let own = Policy::shaped(parts::shape_rules(settings));
    Policy::USUAL.into_iter().map(|policy| if policy == Policy::SHAPED { own } else { policy }).collect()
}

/// A progress bar over the bytes of all files. It is shown on a terminal only.
fn bar(files: &[PathBuf], invocation: &Invocation) -> ProgressBar {
    let bytes = files.iter().filter_map(|file| fs::metadata(file).ok()).map(|data| data.len()).sum();
    let is_hidden = invocation.globals.quiet || !io::stderr().is_terminal();
    let target = if is_hidden { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let style = ProgressStyle::with_template("{bar:32} {percent:>3} %  {msg}  {eta} left");
    ProgressBar::with_draw_target(Some(bytes), target)
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// Sessions being played, one file after another.
struct Playing<'a> {
    replay: Replay,
    /// Keys of the sessions that were played: a folder may hold a session twice.
    seen: HashSet<String>,
    bar: ProgressBar,
    invocation: &'a Invocation,
}

impl Playing<'_> {
    fn file(&mut self, path: &Path, format: Option<Format>) -> anyhow::Result<()> {
        let settings = &self.invocation.in_force.settings;
        let name = path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into());
        let shown = path.display().to_string();
        self.bar.set_message(name.clone());
        let before = self.bar.position();
        let file = File::open(path).map_err(|error| Refused::new(format!("{shown} cannot be opened: {error}")))?;
        let bytes = fs::metadata(path).map_or(0, |data| data.len());

        let counted = self.bar.wrap_read(file);
        let broken = |error| sources::named(&shown, error);
        let mut sessions = infold_wire::read_sessions(counted, format, sources::limits(settings)).map_err(broken)?;
        while let Some(transcript) = sessions.next().transpose().map_err(broken)? {
            self.session(&name, &transcript);
        }
        sources::tell_of_problems(&shown, sessions.problems(), sessions.problems_total(), &self.invocation.globals);
        self.bar.set_position(before + bytes);
        Ok(())
    }

    fn session(&mut self, file: &str, transcript: &Transcript) {
        let name = strip_controls(transcript.session.as_deref().unwrap_or(file));
        // The recording of a subagent carries the id of the session that it worked for.
        let is_agents = file.starts_with("agent-");
        let id = transcript.session.as_deref().filter(|_| !is_agents);
        if !id.is_none_or(|id| self.seen.insert(key(id).to_owned())) {
            return self.replay.skip(&name, "it was played already");
        }
        self.replay.add(&name, transcript, |_| self.bar.tick());
    }

    fn skip(&mut self, file: &Path, error: &anyhow::Error) {
        let reason = &first_line(error);
        if !self.invocation.globals.quiet {
            self.bar.suspend(|| tell("warning", format_args!("left out: {reason}")));
        }
        self.replay.skip(&file.display().to_string(), reason);
    }
}

/// The key that distinguishes sessions: the UUID at the end of a name, or else the whole name.
fn key(name: &str) -> &str {
    let tail = name.len().checked_sub(UUID_CHARS).and_then(|start| name.get(start..));
    tail.filter(|tail| tail.chars().filter(|char| *char == '-').count() == 4).unwrap_or(name)
}
