//! Makes the tables of `docs/measurements.md` from recorded sessions, and holds them against what is claimed.
//!
//! The sessions are found through `INFOLD_TEST_DATA`; without them there is nothing to measure. Only
//! figures leave this file, never a word of a session.

mod claims;
mod counting;
mod injection;
mod memory;
pub(crate) mod parts;
mod planted;
pub(crate) mod proxied;
mod resample;
mod tables;
#[cfg(test)]
mod tests;
mod tools;

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result};
use infold_core::ShapeRules;
use infold_core::fork::Profile;
use infold_core::transcript::Transcript;
use infold_replay::{Compactions, ForkTable, ForkTrial, ForkWay, Options, Policy, Prices, Replay, Report};
use infold_wire::{ReadLimits, read_sessions};
use serde::Deserialize;

use crate::run_release_build;
use injection::ShippedWeights;
use parts::RecordedSession;
use proxied::Proxied;
use xtask::document;
use xtask::workspace::Workspace;

const DOCUMENT: &str = "docs/measurements.md";
const SESSIONS: &str = "sessions/normalized.jsonl.gz";
const ENTRY_BYTES_MAX: usize = 256 << 20;
/// Shaping with the lower limits that it once had: the difference is what showing more whole results costs.
const LITTLE_WHOLE: Policy =
    Policy::shaped(ShapeRules { file_bytes_max: 4_096, output_bytes_max: 3_072, ..ShapeRules::USUAL });

/// The ways to fork that are compared at every cut. The budgets of `recall` give forks of 30,000 and 50,000 tokens
/// on average, though many transcripts are shorter than that.
const WAYS: [ForkWay; 8] = [
    ForkWay::Profile { profile: Profile::Seed, char_budget: 200_000 },
    ForkWay::TailAsLarge { way: 0 },
    ForkWay::Profile { profile: Profile::Recall, char_budget: 108_000 },
    ForkWay::TailAsLarge { way: 2 },
    ForkWay::Profile { profile: Profile::Recall, char_budget: 230_000 },
    ForkWay::TailAsLarge { way: 4 },
    ForkWay::Tail { chars: 95_000 },
    ForkWay::Tail { chars: 180_000 },
];

/// A size of forks. Only transcripts that are longer are forked at it.
struct Size {
    tokens: u64,
    /// The budget of `recall` that gives forks of this size.
    recall_chars: usize,
    /// The length of a plain tail that is of this size.
    tail_chars: usize,
}

/// Each way of the profile `recall` and the tail as large as it, at every cut and at those with longer transcripts.
const PAIRS: [(usize, usize); 2] = [(2, 3), (4, 5)];
const PAIRS_OF_SIZE: [(usize, usize); 1] = [(1, 2)];

const SIZES: [Size; 2] = [
    Size { tokens: 30_000, recall_chars: 105_000, tail_chars: 95_000 },
    Size { tokens: 50_000, recall_chars: 185_000, tail_chars: 160_000 },
];

impl Size {
    fn trial(&self) -> ForkTrial {
        let ways = vec![
            ForkWay::Profile { profile: Profile::Seed, char_budget: self.recall_chars },
            ForkWay::Profile { profile: Profile::Recall, char_budget: self.recall_chars },
            ForkWay::TailAsLarge { way: 1 },
            ForkWay::Tail { chars: self.tail_chars },
        ];
        ForkTrial::new(ways).with_more_before_than(self.tokens)
    }
}

/// The trials: one with forks at every cut, and one for each size with forks of longer transcripts.
fn trials() -> Vec<ForkTrial> {
    [ForkTrial::new(WAYS.to_vec())].into_iter().chain(SIZES.iter().map(Size::trial)).collect()
}

/// What is measured by replaying recordings, without a proxy. Each session is played once, whatever parts it is in.
struct Paper {
    forks: Vec<(String, Vec<ForkTrial>)>,
    ignored: Replay,
    recorded: Replay,
}

impl Paper {
    fn new(parts: Vec<String>) -> Self {
        let replay = |policies: Vec<Policy>, compactions| {
            let (prices, curves_max, curve_points_max) = (Prices::default(), 0, 0);
            Replay::new(Options { policies, compactions, prices, curves_max, curve_points_max })
        };
        let policies: Vec<Policy> = Policy::USUAL.into_iter().chain([LITTLE_WHOLE]).collect();
        Self {
            forks: parts.into_iter().map(|part| (part, trials())).collect(),
            ignored: replay(policies, Compactions::Ignored),
            recorded: replay(Policy::USUAL.to_vec(), Compactions::AsRecorded),
        }
    }

    fn add(&mut self, recording: &RecordedSession) {
        let mut mine = trials();
        mine.iter_mut().for_each(|trial| trial.add(&recording.transcript, |_| {}));
        let names = parts::names_of(recording);
        for (_, trials) in self.forks.iter_mut().filter(|(part, _)| names.contains(part)) {
            trials.iter_mut().zip(&mine).for_each(|(trial, mine)| trial.merge(mine));
        }
        self.ignored.add(&recording.name, &recording.transcript, |_| {});
        self.recorded.add(&recording.name, &recording.transcript, |_| {});
    }
}

/// What `cargo xtask measure` takes.
#[derive(Debug, clap::Args)]
pub struct MeasureArguments {
    /// Play the first so many sessions through the proxy, with a debug build, and write no tables.
    #[arg(long, value_name = "SESSIONS")]
    sample: Option<usize>,
    /// Only play the sessions through the proxy, and leave the other tables as they are.
    #[arg(long)]
    proxy_only: bool,
    /// Only make this table, and leave the others as they are.
    #[arg(long, value_name = "TABLE", conflicts_with_all = ["sample", "proxy_only"])]
    only: Option<OnlyTable>,
    /// Write the weights that judge notes, as the training gives them, instead of comparing them with those that are there.
    #[arg(long, requires = "only")]
    write_weights: bool,
    /// Play through this program, instead of building it first.
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
}

/// A table that can be made by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum OnlyTable {
    /// How far token counts are from the providers'.
    Counting,
    /// How well tools are found.
    Tools,
    /// How many errors in long results can still be seen or found.
    Planted,
    /// How many texts that try to instruct an agent are found.
    Injection,
    /// How well memories are found, and what is learnt without a model.
    Memory,
}

/// Tables between the marks of one name, and the claims about them that do not hold.
struct ClaimedTables {
    mark: &'static str,
    tables: String,
    missed: Vec<String>,
}

/// Measures and writes the tables; the exit code is a failure when a claim does not hold.
pub fn run(workspace: &Workspace, arguments: &MeasureArguments) -> Result<ExitCode> {
    let data = workspace.test_data();
    match arguments.only {
        Some(OnlyTable::Counting) => {
            let program = program(arguments, || workspace.build_tested_program())?;
            return put_only(workspace, counting::run(&data, &program)?);
        }
        // How long a query takes is measured too.
        Some(OnlyTable::Tools) if cfg!(debug_assertions) => return run_release_build(workspace),
        Some(OnlyTable::Tools) => return put_only(workspace, tools::run(&data)?),
        Some(OnlyTable::Planted) => return put_only(workspace, Some(planted::run(&data)?)),
        Some(OnlyTable::Injection) if cfg!(debug_assertions) => return run_release_build(workspace),
        Some(OnlyTable::Injection) => {
            let weights = if arguments.write_weights { ShippedWeights::Write } else { ShippedWeights::Check };
            return put_only(workspace, injection::run(&data, &workspace.root, weights)?);
        }
        Some(OnlyTable::Memory) => return put_only(workspace, memory::run(&data)?),
        None => {}
    }
    let Some(read) = recorded(&data)? else {
        println!("skipped: there are no recorded sessions in {} (INFOLD_TEST_DATA names the folder)", data.display());
        return Ok(ExitCode::SUCCESS);
    };
    if let Some(sessions) = arguments.sample {
        return sample(workspace, arguments, read.take(sessions).collect::<Result<_, _>>()?);
    }
    if cfg!(debug_assertions) {
        return run_release_build(workspace);
    }
    let sessions: proxied::Sessions = read.collect::<Result<_, _>>()?;
    let played = program(arguments, || workspace.build_shipped_program())?;
    let proxied = proxied::run(&played, &sessions)?;
    if arguments.proxy_only {
        document::put(&workspace.root.join(DOCUMENT), &[("proxied", &proxied.tables())])?;
        println!("{}", proxied.tables());
        return Ok(verdict(&proxied.missed(None)));
    }
    let recordings: Vec<&RecordedSession> = sessions.iter().map(|session| &**session).collect();
    let mut paper = Paper::new(parts::all_names(&recordings));
    for recording in &recordings {
        eprintln!("{}: {} items", recording.name, recording.transcript.items.len());
        paper.add(recording);
    }
    let injection = injection::run(&data, &workspace.root, ShippedWeights::Check)?;
    let others = [
        counting::run(&data, &played)?,
        tools::run(&data)?,
        Some(planted::run(&data)?),
        memory::run(&data)?,
        injection,
    ];
    let others = others.into_iter().flatten().collect();
    finish(workspace, paper, &recordings, &proxied, others)
}

/// Writes tables that were made by themselves.
fn put_only(workspace: &Workspace, made: Option<ClaimedTables>) -> Result<ExitCode> {
    let Some(made) = made else {
        println!("skipped: what it is measured on is not in {}", workspace.test_data().display());
        return Ok(ExitCode::SUCCESS);
    };
    document::put(&workspace.root.join(DOCUMENT), &[(made.mark, &made.tables)])?;
    println!("{}", made.tables);
    Ok(verdict(&made.missed))
}

/// The recorded sessions, read one at a time; `None` if there are none in this folder.
pub(crate) fn recorded(data: &Path) -> Result<Option<impl Iterator<Item = Result<Arc<RecordedSession>>>>> {
    let path = data.join(SESSIONS);
    let Ok(file) = File::open(&path) else { return Ok(None) };
    let mut origins = origins(&path)?;
    let limits = ReadLimits::with_entry_bytes_max(ENTRY_BYTES_MAX);
    let mut named = move |transcript: Transcript| {
        let name = transcript.session.clone().unwrap_or_default();
        let SessionOrigin { source, agent, .. } = origins.remove(&name).unwrap_or_default();
        Arc::new(RecordedSession { name, source, agent, transcript })
    };
    Ok(Some(read_sessions(file, None, limits)?.map(move |transcript| Ok(named(transcript?)))))
}

/// A session's entry in the list of recordings: where it comes from.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SessionOrigin {
    session: String,
    source: String,
    agent: String,
}

fn origins(path: &Path) -> Result<HashMap<String, SessionOrigin>> {
    let mut origins = HashMap::new();
    for line in BufReader::new(infold_wire::open(path)?).lines() {
        let origin: SessionOrigin = serde_json::from_str(&line?).context("a session is no JSON")?;
        origins.insert(origin.session.clone(), origin);
    }
    Ok(origins)
}

/// Plays a few sessions through a debug build of the daemon: whether it works, not how well.
fn sample(workspace: &Workspace, arguments: &MeasureArguments, sessions: proxied::Sessions) -> Result<ExitCode> {
    let proxied = proxied::run(&program(arguments, || workspace.build_tested_program())?, &sessions)?;
    println!("{}", proxied.tables());
    Ok(verdict(&proxied.missed_in_sample()))
}

fn program(arguments: &MeasureArguments, build: impl FnOnce() -> Result<PathBuf>) -> Result<PathBuf> {
    match &arguments.program {
        Some(program) => Ok(program.clone()),
        None => build(),
    }
}

fn verdict(missed: &[String]) -> ExitCode {
    for claim in missed {
        println!("MISSED: {claim}");
    }
    if missed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn finish(
    workspace: &Workspace,
    paper: Paper,
    recordings: &[&RecordedSession],
    proxied: &Proxied,
    others: Vec<ClaimedTables>,
) -> Result<ExitCode> {
    let (ignored, recorded) = (paper.ignored.finish(None), paper.recorded.finish(None));
    let parts = parts::parts(recordings, |session| parts::in_report(&ignored, session));
    let (forks, mut missed) = forks(paper.forks);
    missed.extend(claims::of_shaping(claims::ShapingMeasured::OnPaper, &parts));
    missed.extend(proxied.missed(parts.first()));

    let (shaping, proxied) = (shaping(&ignored, &recorded, recordings), proxied.tables());
    let parts = tables::parts("never compacting, % of as it was", &parts);
    let mut tables = vec![("forks", &*forks), ("shaping", &*shaping), ("parts", &*parts), ("proxied", &*proxied)];
    for other in &others {
        missed.extend(other.missed.iter().cloned());
        tables.push((other.mark, &*other.tables));
    }
    document::put(&workspace.root.join(DOCUMENT), &tables)?;
    tables.iter().for_each(|(_, table)| println!("{table}"));
    Ok(verdict(&missed))
}

/// The tables of how well forks did, and the claims about them that do not hold.
fn forks(parts: Vec<(String, Vec<ForkTrial>)>) -> (String, Vec<String>) {
    let mut by_trial: Vec<Vec<(String, ForkTable)>> = vec![Vec::new(); 1 + SIZES.len()];
    for (part, trials) in parts {
        for (tables, trial) in by_trial.iter_mut().zip(trials) {
            tables.push((part.clone(), trial.finish()));
        }
    }
    let (mut text, mut missed) = (String::new(), Vec::new());
    for (at, tables) in by_trial.iter().enumerate() {
        let pairs: &[(usize, usize)] = if at == 0 { &PAIRS } else { &PAIRS_OF_SIZE };
        let longer = at.checked_sub(1).and_then(|at| SIZES.get(at));
        let which =
            longer.map_or_else(String::new, |size| format!(", transcripts over {}k tokens", size.tokens / 1_000));
        if let Some((part, table)) = tables.first() {
            text.push_str(&tables::forks(&format!("{part}{which}"), table));
        }
        text.push_str(&tables::fork_gains(tables, pairs));
        missed
            .extend(tables.iter().flat_map(|(part, table)| claims::of_forks(&format!("{part}{which}"), table, pairs)));
    }
    (text, missed)
}

/// The tables of how well each policy did, over all sessions and over those of each agent.
fn shaping(ignored: &Report, recorded: &Report, recordings: &[&RecordedSession]) -> String {
    let mut text = tables::policies("all, never compacting", ignored, |_| true);
    for agent in ["claude-code", "codex"] {
        let is_of = |session: &str| recordings.iter().any(|one| one.name == session && one.agent == agent);
        text.push_str(&tables::policies(&format!("{agent}, never compacting"), ignored, is_of));
    }
    text.push_str(&tables::policies("all, compacting as recorded", recorded, |_| true));
    text
}
