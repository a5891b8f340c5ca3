//! `infold fork`: prints what a new session would get of an old one.
//!
//! A recording is read twice: once to learn which turns were given up, and once item by item. Memory holds only as much
//! text as the child may get, and a few bytes for each entry. A session of infold's own is forked in the store, so that
//! the child is a session there and can go on.

mod own_session;

use std::path::PathBuf;
use std::str::FromStr;

use infold_core::fork::{Fork, ForkBatch, ForkLimits, Forked, ProcessingStats, Profile};
use infold_core::transcript::{Item, ItemPosition, Kind, Transcript, Voice};
use infold_core::{Scrubbed, SessionId};
use infold_wire::{Format, GivenUp};
use serde_json::json;

use super::Invocation;
use crate::failure::{Refused, tell};
use crate::file_scrubber::FileScrubber;
use crate::help;
use crate::output::Form;
use crate::settings::Settings;
use crate::sources::{self, NamedSource};
use crate::telemetry;
use crate::whole_file::{self, IfThere};

/// Arguments of `fork`.
#[derive(Debug, clap::Args)]
#[command(after_help = help::text(
    &[
        "The form of a recording is found out; --from says it outright. Secrets are taken out of what is printed. \
         Nothing is sent anywhere, and the recording is not changed. Turns that were undone later are left out, except \
         where the recording comes through standard input, which can be read only once. A session of infold's own gets a child session in the store.",
    ],
    &[
        ("infold fork session.jsonl", "what a child session would get"),
        ("infold fork session.jsonl --prompt 'write the tests'", "with its task at the end"),
        ("infold fork 5b2438e4-96a7-43f7-b051-10a055bb0fbe", "a session of Claude Code or Codex"),
        ("infold fork export.json --to anthropic", "as the messages of a request"),
        ("infold fork session.jsonl --json | jq .stats", ""),
    ],
))]
pub struct ForkArgs {
    /// A transcript, a session's id, or - for standard input
    #[arg(value_name = "FILE|SESSION")]
    source: String,
    /// Form of the transcript: claude-code, codex, opencode, infold, anthropic, openai, normalized
    #[arg(long, value_name = "FORM", value_parser = Format::from_str)]
    from: Option<Format>,
    /// Form of what is printed
    #[arg(long, value_name = "FORM", default_value = "text")]
    to: To,
    /// What the child is asked to do
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,
    /// How the characters are spent: seed or recall [default: the setting fork.profile]
    #[arg(long, value_parser = Profile::from_str)]
    profile: Option<Profile>,
    /// Most characters of context [default: the setting fork.char_budget]
    #[arg(long, value_name = "CHARS", value_parser = clap::value_parser!(u32).range(1_000..=100_000_000))]
    budget: Option<u32>,
    /// Write to this file instead of standard output; it must not be there yet
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// A form of what is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum To {
    /// The text itself
    Text,
    /// Messages of a request to Anthropic
    Anthropic,
    /// Items of a request to OpenAI
    Openai,
    /// Messages as OpenCode keeps them
    Opencode,
    /// A document for people
    Markdown,
}

/// The text that a child session begins with, already scrubbed, and how it was made.
struct ChildStart {
    session: Option<SessionId>,
    parent: Option<SessionId>,
    profile: Profile,
    preamble: String,
    context: String,
    prompt: Option<String>,
    stats: ProcessingStats,
}

/// Forks the source, and prints the child's start or writes it to the file that `--output` names.
pub fn run(args: &ForkArgs, invocation: &Invocation) -> anyhow::Result<()> {
    telemetry::log_only(&invocation.logging());
    if let Some(path) = args.output.as_ref().filter(|path| path.symlink_metadata().is_ok()) {
        return Err(whole_file::exists(path));
    }
    let beginning = match sources::find(&args.source, &invocation.surroundings)? {
        NamedSource::Session(name) => own_session::fork(&name, args, invocation)?,
        source => fork_recording(&source, args, invocation)?,
    };
    let text = shown(args, invocation, &beginning)?;
    match &args.output {
        Some(path) => whole_file::write(path, IfThere::Refuse, |file| Ok(file.write_all(text.as_bytes())?))?,
        None => invocation.output.text(&text)?,
    }
    if let Some(session) = beginning.session.filter(|_| !invocation.globals.quiet) {
        tell("note", format_args!("the child session is {session}"));
    }
    Ok(())
}

fn fork_recording(source: &NamedSource, args: &ForkArgs, invocation: &Invocation) -> anyhow::Result<ChildStart> {
    let settings = &invocation.in_force.settings;
    let profile = args.profile.unwrap_or(settings.fork.profile.into());
    let char_budget = args.budget.map_or(settings.fork.char_budget, |chars| chars as usize);
    let name = sources::shown(source);
    let scrubber = FileScrubber::new(invocation)?;
    let prompt = scrubber.scrub(args.prompt.iter().cloned().collect())?.pop().map(Scrubbed::into_string);
    let fork = Fork::new(profile, ForkLimits::with_char_budget(char_budget));
    let mut forking = Forking { fork, filling: ForkBatch::default(), scrubber };

    let mut reader = sources::open(source, args.from, settings)?;
    let broken = |error| sources::named(&name, error);
    match reader.format() {
        // In these forms a session is a single entry, or takes all entries to put together.
        Format::Normalized | Format::Anthropic | Format::OpenAi | Format::Infold => {
            let read = reader.into_transcript().map_err(broken)?;
            sources::tell_of_problems(&name, &read.problems, read.problems_total, &invocation.globals);
            forking.push(read.transcript.items)?;
        }
        Format::ClaudeCode | Format::Codex | Format::OpenCode => {
            let given_up = given_up(source, args, settings)?;
            while let Some(entry) = reader.next_entry().map_err(broken)? {
                if entry.subtask.is_none() && !given_up.has(&entry) {
                    forking.push(entry.items)?;
                }
            }
            sources::tell_of_problems(&name, reader.problems(), reader.problems_total(), &invocation.globals);
        }
    }
    let Forked { context, preamble, stats } = forking.finish()?;
    if context.is_empty() {
        return Err(Refused::new(format!("{name} holds no message to fork from"))
            .hint("is it the right file? `infold replay FILE` shows what is in a recording")
            .into());
    }
    Ok(ChildStart { session: None, parent: None, profile, preamble, context, prompt, stats })
}

/// Reads the recording once to find the turns that a person gave up by going back. Standard input can be read only
/// once, so nothing is found in it.
fn given_up(source: &NamedSource, args: &ForkArgs, settings: &Settings) -> anyhow::Result<GivenUp> {
    match source {
        NamedSource::Stdin => Ok(GivenUp::default()),
        NamedSource::File(_) | NamedSource::Session(_) => {
            let reader = sources::open(source, args.from, settings)?;
            GivenUp::of(reader).map_err(|error| sources::named(&sources::shown(source), error))
        }
    }
}

/// A fork that is being built. Texts are scrubbed before they are cut, because half a secret would no longer be
/// recognised as one. If a text cannot be scrubbed, nothing is printed.
struct Forking {
    fork: Fork,
    filling: ForkBatch,
    scrubber: FileScrubber,
}

impl Forking {
    fn push(&mut self, items: Vec<Item>) -> anyhow::Result<()> {
        for item in items {
            if let Some(full) = self.filling.push(item) {
                self.take_in(full)?;
            }
        }
        Ok(())
    }

    fn take_in(&mut self, mut batch: ForkBatch) -> anyhow::Result<()> {
        let scrubbed = self.scrubber.scrub(batch.take_texts())?;
        batch.with_texts(scrubbed).into_iter().for_each(|item| self.fork.push(item));
        Ok(())
    }

    fn finish(mut self) -> anyhow::Result<Forked> {
        let last = std::mem::take(&mut self.filling);
        self.take_in(last)?;
        Ok(self.fork.finish())
    }
}

fn shown(args: &ForkArgs, invocation: &Invocation, beginning: &ChildStart) -> anyhow::Result<String> {
    if invocation.output.form == Form::Json {
        let mut text = serde_json::to_string_pretty(&json!({
            "session_id": beginning.session,
            "parent_session_id": beginning.parent,
            "profile": beginning.profile,
            "preamble": beginning.preamble,
            "context": beginning.context,
            "prompt": beginning.prompt,
            "stats": beginning.stats,
        }))?;
        text.push('\n');
        return Ok(text);
    }
    let message =
        Forked { context: beginning.context.clone(), preamble: beginning.preamble.clone(), stats: beginning.stats }
            .message(beginning.prompt.as_deref());
    let transcript = || one_message(message.clone());
    let mut text = match args.to {
        To::Text => message,
        To::Anthropic => infold_wire::write_anthropic(&transcript()).text,
        To::Openai => infold_wire::write_openai(&transcript()).text,
        To::Opencode => infold_wire::write_opencode(&transcript()).text,
        To::Markdown => infold_wire::write_markdown(&transcript()).text,
    };
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text)
}

/// A transcript with this text as its only message, from the user.
fn one_message(text: String) -> Transcript {
    let kind = Kind::User { text, voice: Voice::Person };
    Transcript {
        client: infold_core::transcript::Client::Infold,
        session: None,
        items: vec![Item { place: ItemPosition { entry: 1, part: 0 }, message: 0, kind }],
        calls: Vec::new(),
        subtasks: Vec::new(),
    }
}
