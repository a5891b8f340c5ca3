//! Makes the tables of `docs/measurements.md` from recorded sessions, and holds them against what is claimed.
//!
//! The sessions are found through `INFOLD_TEST_DATA`; without them there is nothing to measure. Only
//! figures leave this file, never a word of a session.

mod claims;
mod proxied;
mod quarters;
mod tables;
#[cfg(test)]
mod tests;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use infold_core::fork::Profile;
use infold_core::transcript::Transcript;
use infold_replay::{Compactions, ForkTrial, Options, Policy, Prices, Replay, Way};
use infold_wire::{ReadLimits, read_sessions};

use crate::workspace::{Profile as Build, Workspace, run_release_build};
use proxied::Proxied;

const DOCUMENT: &str = "docs/measurements.md";
const SESSIONS: &str = "sessions/normalized.jsonl.gz";
const ENTRY_BYTES_MAX: usize = 256 << 20;

/// The ways to fork that are compared at every cut. Budgets of `recall` come to 30,000 and 50,000 tokens on
/// average, though many transcripts are shorter than that.
const WAYS: [Way; 8] = [
    Way::Profile { profile: Profile::Seed, char_budget: 200_000 },
    Way::TailAsLarge { way: 0 },
    Way::Profile { profile: Profile::Recall, char_budget: 108_000 },
    Way::TailAsLarge { way: 2 },
    Way::Profile { profile: Profile::Recall, char_budget: 230_000 },
    Way::TailAsLarge { way: 4 },
    Way::Tail { chars: 95_000 },
    Way::Tail { chars: 180_000 },
];

/// A size at which only transcripts are forked that are longer.
struct Size {
    tokens: u64,
    /// The budget of `recall` that comes to it.
    recall_chars: usize,
    /// The length of a plain tail that comes to it.
    tail_chars: usize,
}

const SIZES: [Size; 2] = [
    Size { tokens: 30_000, recall_chars: 105_000, tail_chars: 95_000 },
    Size { tokens: 50_000, recall_chars: 185_000, tail_chars: 160_000 },
];

impl Size {
    fn trial(&self) -> (u64, ForkTrial) {
        let ways = vec![
            Way::Profile { profile: Profile::Seed, char_budget: self.recall_chars },
            Way::Profile { profile: Profile::Recall, char_budget: self.recall_chars },
            Way::TailAsLarge { way: 1 },
            Way::Tail { chars: self.tail_chars },
        ];
        (self.tokens, ForkTrial::new(ways).with_more_before_than(self.tokens))
    }
}

/// Sessions of one kind of client, and what was measured on them.
struct Group {
    name: &'static str,
    is_of: fn(&Transcript) -> bool,
    /// The share of edit lines that shaping is claimed to leave in sight.
    line_recall_percent_min: f64,
    forks: ForkTrial,
    full: Vec<(u64, ForkTrial)>,
    ignored: Replay,
    recorded: Replay,
}

impl Group {
    fn new(name: &'static str, line_recall_percent_min: f64, is_of: fn(&Transcript) -> bool) -> Self {
        let replay = |compactions| {
            Replay::new(Options {
                policies: Policy::USUAL.to_vec(),
                compactions,
                prices: Prices::default(),
                curves_max: 0,
                curve_points_max: 0,
            })
        };
        Self {
            name,
            is_of,
            line_recall_percent_min,
            forks: ForkTrial::new(WAYS.to_vec()),
            full: SIZES.iter().map(Size::trial).collect(),
            ignored: replay(Compactions::Ignored),
            recorded: replay(Compactions::AsRecorded),
        }
    }

    fn add(&mut self, name: &str, transcript: &Transcript) {
        self.forks.add(transcript, |_| {});
        self.full.iter_mut().for_each(|(_, trial)| trial.add(transcript, |_| {}));
        self.ignored.add(name, transcript, |_| {});
        self.recorded.add(name, transcript, |_| {});
    }
}

/// What `cargo xtask measure` takes.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Play the first so many sessions through the proxy, with a debug build, and write no tables.
    #[arg(long, value_name = "SESSIONS")]
    sample: Option<usize>,
    /// Only play the sessions through the proxy, and put no other table anew.
    #[arg(long)]
    proxy_only: bool,
    /// Play through this program, instead of building it first.
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
}

/// Measures, writes the tables, and fails when a claim does not hold.
pub fn run(workspace: &Workspace, arguments: &Arguments) -> Result<ExitCode> {
    let data = data(workspace);
    let Ok(file) = File::open(data.join(SESSIONS)) else {
        println!("skipped: there are no recorded sessions in {} (INFOLD_TEST_DATA names the folder)", data.display());
        return Ok(ExitCode::SUCCESS);
    };
    let limits = ReadLimits::with_entry_bytes_max(ENTRY_BYTES_MAX);
    let named = |transcript: Transcript| Arc::new((transcript.session.clone().unwrap_or_default(), transcript));
    let read = read_sessions(file, None, limits)?.map(|transcript| transcript.map(named));
    if let Some(sessions) = arguments.sample {
        return sample(workspace, arguments, read.take(sessions).collect::<Result<_, _>>()?);
    }
    if cfg!(debug_assertions) {
        return run_release_build(workspace);
    }
    let sessions: proxied::Sessions = read.collect::<Result<_, _>>()?;
    let proxied = proxied::run(&program(workspace, arguments, Build::Release)?, &sessions)?;
    if arguments.proxy_only {
        put(&workspace.root.join(DOCUMENT), &[("proxied", &proxied.tables())])?;
        println!("{}", proxied.tables());
        return Ok(verdict(&proxied.missed(None)));
    }
    let mut groups = [
        Group::new("All sessions", 90.0, |_| true),
        Group::new("Claude Code", 90.0, |transcript| !is_codex(transcript)),
        // Eleven sessions, whose patches name many lines around what they change.
        Group::new("Codex", 70.0, is_codex),
    ];
    for session in &sessions {
        let (name, transcript) = &**session;
        eprintln!("{name}: {} items", transcript.items.len());
        for group in groups.iter_mut().filter(|group| (group.is_of)(transcript)) {
            group.add(name, transcript);
        }
    }
    finish(workspace, groups, &proxied)
}

/// Plays a few sessions through a debug build of the daemon: whether it works, not how well.
fn sample(workspace: &Workspace, arguments: &Arguments, sessions: proxied::Sessions) -> Result<ExitCode> {
    let proxied = proxied::run(&program(workspace, arguments, Build::Debug)?, &sessions)?;
    println!("{}", proxied.tables());
    Ok(verdict(&proxied.missed_in_sample()))
}

fn program(workspace: &Workspace, arguments: &Arguments, build: Build) -> Result<PathBuf> {
    match &arguments.program {
        Some(program) => Ok(program.clone()),
        None => workspace.build_program(build),
    }
}

fn verdict(missed: &[String]) -> ExitCode {
    for claim in missed {
        println!("MISSED: {claim}");
    }
    if missed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn data(workspace: &Workspace) -> PathBuf {
    std::env::var_os("INFOLD_TEST_DATA").map_or_else(|| workspace.root.join("../shared/data"), PathBuf::from)
}

fn is_codex(transcript: &Transcript) -> bool {
    transcript.calls.first().is_some_and(|call| call.usage.model.starts_with("gpt"))
}

fn finish(workspace: &Workspace, groups: [Group; 3], proxied: &Proxied) -> Result<ExitCode> {
    let (mut forks, mut shaping, mut quarters) = (String::new(), String::new(), String::new());
    let mut missed = Vec::new();
    for group in groups {
        let table = group.forks.finish();
        let is_first = forks.is_empty();
        if is_first {
            missed.extend(claims::of_forks(&table, &[(2, 3), (4, 5)]));
        }
        forks.push_str(&tables::forks(group.name, &table));
        for (tokens, trial) in group.full {
            let table = trial.finish();
            if is_first {
                missed.extend(claims::of_forks(&table, &[(1, 2)]));
            }
            forks.push_str(&tables::forks(
                &format!("{}, transcripts over {}k tokens at the cut", group.name, tokens / 1_000),
                &table,
            ));
        }
        let (ignored, recorded) = (group.ignored.finish(None), group.recorded.finish(None));
        missed.extend(claims::of_quarters(group.name, &ignored));
        missed.extend(claims::of_shaping(group.name, &ignored, group.line_recall_percent_min));
        if is_first {
            quarters = tables::quarters(&ignored);
            missed.extend(proxied.missed(Some(&ignored)));
        }
        for (report, how) in [(&ignored, "never compacting"), (&recorded, "compacting as recorded")] {
            shaping.push_str(&tables::policies(&format!("{}, {how}", group.name), report));
        }
    }
    let proxied = proxied.tables();
    let tables = [("forks", &*forks), ("shaping", &shaping), ("quarters", &quarters), ("proxied", &proxied)];
    put(&workspace.root.join(DOCUMENT), &tables)?;
    println!("{forks}\n{shaping}\n{quarters}\n{proxied}");
    Ok(verdict(&missed))
}

/// Puts each table between its marks in the document.
fn put(path: &Path, tables: &[(&str, &str)]) -> Result<()> {
    let mut text = fs::read_to_string(path).with_context(|| format!("{} is missing", path.display()))?;
    for (name, table) in tables {
        text = put_between(&text, name, table)?;
    }
    fs::write(path, text)?;
    Ok(())
}

fn put_between(text: &str, name: &str, table: &str) -> Result<String> {
    let (start, end) = (format!("<!-- {name}: made by `cargo xtask measure` -->\n"), format!("<!-- end of {name} -->"));
    let Some((before, rest)) = text.split_once(&start) else { bail!("the mark {start:?} is missing") };
    let Some((_, after)) = rest.split_once(&end) else { bail!("the mark {end:?} is missing") };
    Ok(format!("{before}{start}{}\n{end}{after}", table.trim_end()))
}
