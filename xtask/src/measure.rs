//! Makes the tables of `docs/measurements.md` from recorded sessions, and holds them against what is claimed.
//!
//! The sessions are found through `INFOLD_TEST_DATA`; without them there is nothing to measure. Only
//! figures leave this file, never a word of a session.

#[cfg(test)]
mod tests;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use infold_core::fork::Profile;
use infold_core::transcript::Transcript;
use infold_replay::{Compactions, ForkTable, ForkTrial, Options, Policy, Prices, Replay, Report, Way};
use infold_wire::{ReadLimits, read_sessions};

use crate::workspace::{Workspace, run_release_build};

const DOCUMENT: &str = "docs/measurements.md";
const SESSIONS: &str = "sessions/normalized.jsonl.gz";
const ENTRY_BYTES_MAX: usize = 256 << 20;
/// By how many points the profile `recall` beats a plain tail as large, in recall and in edit lines.
const RECALL_GAIN_MIN: f64 = 3.0;
const LINES_GAIN_MIN: f64 = 8.0;

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
    forks: ForkTrial,
    full: Vec<(u64, ForkTrial)>,
    ignored: Replay,
    recorded: Replay,
}

impl Group {
    fn new(name: &'static str, is_of: fn(&Transcript) -> bool) -> Self {
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

/// Measures, writes the tables, and fails when a claim does not hold.
pub fn run(workspace: &Workspace) -> Result<ExitCode> {
    let data = data(workspace);
    let Ok(file) = File::open(data.join(SESSIONS)) else {
        println!("skipped: there are no recorded sessions in {} (INFOLD_TEST_DATA names the folder)", data.display());
        return Ok(ExitCode::SUCCESS);
    };
    if cfg!(debug_assertions) {
        return run_release_build(workspace);
    }
    let mut groups = [
        Group::new("All sessions", |_| true),
        Group::new("Claude Code", |transcript| !is_codex(transcript)),
        Group::new("Codex", is_codex),
    ];
    let limits = ReadLimits::with_entry_bytes_max(ENTRY_BYTES_MAX);
    for transcript in read_sessions(file, None, limits)? {
        let transcript = transcript?;
        let name = transcript.session.clone().unwrap_or_default();
        eprintln!("{name}: {} items", transcript.items.len());
        for group in groups.iter_mut().filter(|group| (group.is_of)(&transcript)) {
            group.add(&name, &transcript);
        }
    }
    finish(workspace, groups)
}

fn data(workspace: &Workspace) -> PathBuf {
    std::env::var_os("INFOLD_TEST_DATA").map_or_else(|| workspace.root.join("../shared/data"), PathBuf::from)
}

fn is_codex(transcript: &Transcript) -> bool {
    transcript.calls.first().is_some_and(|call| call.usage.model.starts_with("gpt"))
}

fn finish(workspace: &Workspace, groups: [Group; 3]) -> Result<ExitCode> {
    let (mut forks, mut shaping) = (String::new(), String::new());
    let mut missed = Vec::new();
    for group in groups {
        let table = group.forks.finish();
        let is_first = forks.is_empty();
        if is_first {
            missed.extend(claims_missed(&table, &[(2, 3), (4, 5)]));
        }
        forks.push_str(&fork_table(group.name, &table));
        for (tokens, trial) in group.full {
            let table = trial.finish();
            if is_first {
                missed.extend(claims_missed(&table, &[(1, 2)]));
            }
            forks.push_str(&fork_table(
                &format!("{}, transcripts over {}k tokens at the cut", group.name, tokens / 1_000),
                &table,
            ));
        }
        for (report, how) in
            [(group.ignored.finish(None), "never compacting"), (group.recorded.finish(None), "compacting as recorded")]
        {
            shaping.push_str(&policy_table(&format!("{}, {how}", group.name), &report));
        }
    }
    put(&workspace.root.join(DOCUMENT), &[("forks", &forks), ("shaping", &shaping)])?;
    println!("{forks}\n{shaping}");
    for claim in &missed {
        println!("MISSED: {claim}");
    }
    Ok(if missed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What the profile `recall` is claimed to do and does not: its row and a tail's, pair by pair. The first
/// row is the seed's.
fn claims_missed(table: &ForkTable, pairs: &[(usize, usize)]) -> Vec<String> {
    let mut missed = Vec::new();
    let seed = &table.rows[0];
    for (recall, tail) in pairs.iter().map(|(recall, tail)| (&table.rows[*recall], &table.rows[*tail])) {
        let gains = [
            ("recall", recall.recall_percent - tail.recall_percent, RECALL_GAIN_MIN),
            ("edit lines", recall.line_recall_percent - tail.line_recall_percent, LINES_GAIN_MIN),
            ("recall over the seed's tiers", recall.recall_percent - seed.recall_percent, RECALL_GAIN_MIN),
        ];
        for (what, gain, gain_min) in gains {
            if gain < gain_min {
                missed.push(format!(
                    "{} against {}: {what} gains {gain:.1} points, {gain_min} are claimed",
                    recall.label, tail.label
                ));
            }
        }
    }
    missed
}

fn fork_table(name: &str, table: &ForkTable) -> String {
    let mut text = format!("| {name}, {} cuts | tokens | RR@10 | edit lines |\n|---|---|---|---|\n", table.cuts);
    for row in &table.rows {
        text.push_str(&format!(
            "| {} | {:.1}k | {:.1} | {:.1} |\n",
            row.label,
            row.tokens / 1_000.0,
            row.recall_percent,
            row.line_recall_percent
        ));
    }
    text.push('\n');
    text
}

fn policy_table(name: &str, report: &Report) -> String {
    let mut text = format!(
        "| {name}, {} sessions, % of as it was | peak | billed | adjusted | RR | RRfar | edit lines | invalid reasoning |\n\
         |---|---|---|---|---|---|---|---|\n",
        report.sessions.len()
    );
    let Some(first) = report.policies.first() else { return text };
    let was = &first.total.measures;
    let percent = |part: f64, whole: f64| if whole > 0.0 { part * 100.0 / whole } else { 0.0 };
    for policy in &report.policies {
        let now = &policy.total.measures;
        text.push_str(&format!(
            "| {} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} | {} of {} |\n",
            policy.label,
            percent(now.peak_tokens as f64, was.peak_tokens as f64),
            percent(now.billed, was.billed),
            percent(now.adjusted, was.billed),
            percent(now.atoms_seen as f64, now.atoms_needed as f64),
            percent(now.far_atoms_seen as f64, now.far_atoms_needed as f64),
            percent(now.lines_seen as f64, now.lines_needed as f64),
            now.invalid_reasoning_requests,
            now.requests,
        ));
    }
    text.push('\n');
    text
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
