//! The long tier: what the test command tries for a short time, for longer, and the soak. It writes what it saw into a
//! document.

use std::fmt::Write;
use std::fs;
use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Result, bail};

use xtask::document;
use xtask::report::{Report, Totals, harness_totals, script_totals};
use xtask::workspace::{Workspace, run_seeing_lines};

const DOCUMENT: &str = "docs/reliability.md";
/// What a line begins with, or goes on with, that belongs into the document.
const FIGURES: &str = "figures: ";

/// How long each part goes on.
#[derive(Debug, Clone, Copy)]
struct Extent {
    /// Schedules of the property tests.
    cases: u64,
    kills: u64,
    /// Power losses.
    images: u64,
    /// Lives of the daemon on a disk that fails now and then.
    faults: u64,
    /// Faults of the servers and daemons of a cluster.
    cluster_faults: u64,
    /// Sessions that are moved into a cluster and back.
    move_sessions: u64,
    /// Seconds for each target of fuzzing.
    fuzz_seconds: u64,
    /// Requests of the soak.
    soak: u64,
}

/// About ten times what the test command does.
const USUAL: Extent = Extent {
    cases: 20_000,
    kills: 5_000,
    images: 100_000,
    faults: 100,
    cluster_faults: 200,
    move_sessions: 10_000,
    fuzz_seconds: 300,
    soak: 20_000,
};

/// What a release is held to.
const LONG: Extent = Extent {
    cases: 100_000,
    kills: 10_000,
    images: 1_000_000,
    faults: 1_000,
    cluster_faults: 2_000,
    move_sessions: 10_000,
    fuzz_seconds: 1_800,
    soak: 200_000,
};

/// What `cargo xtask torture` takes.
#[derive(Debug, clap::Args)]
pub struct TortureArguments {
    /// How many schedules each property is tried with.
    #[arg(long)]
    cases: Option<u64>,
    /// How often the daemon is killed.
    #[arg(long)]
    kills: Option<u64>,
    /// How many power losses are simulated.
    #[arg(long)]
    images: Option<u64>,
    /// How many lives of the daemon have a disk that fails now and then.
    #[arg(long)]
    faults: Option<u64>,
    /// How many faults the servers and daemons of a cluster have.
    #[arg(long)]
    cluster_faults: Option<u64>,
    /// How many sessions are moved into a cluster and back.
    #[arg(long)]
    move_sessions: Option<u64>,
    /// How many seconds each target is fuzzed.
    #[arg(long)]
    fuzz_seconds: Option<u64>,
    /// How many requests the soak makes.
    #[arg(long)]
    soak: Option<u64>,
    /// Run the numbers that a release is held to.
    #[arg(long)]
    long: bool,
    /// Run this part alone, or these: the others' rows in the document stay as they are.
    #[arg(long, value_name = "PART")]
    only: Vec<String>,
}

/// A part of the tier that was run.
struct PartSeen {
    name: &'static str,
    extent: String,
    figures: Vec<String>,
    totals: Totals,
    minutes: f64,
}

/// Runs all of the long tier, and writes the document; the exit code is a failure if any part fails.
pub fn run(workspace: &Workspace, arguments: &TortureArguments) -> Result<ExitCode> {
    let usual = if arguments.long { LONG } else { USUAL };
    let cases = arguments.cases.unwrap_or(usual.cases).to_string();
    let kills = arguments.kills.unwrap_or(usual.kills).to_string();
    let images = arguments.images.unwrap_or(usual.images).to_string();
    let faults = arguments.faults.unwrap_or(usual.faults).to_string();
    let cluster_faults = arguments.cluster_faults.unwrap_or(usual.cluster_faults).to_string();
    let move_sessions = arguments.move_sessions.unwrap_or(usual.move_sessions).to_string();
    let fuzz_seconds = arguments.fuzz_seconds.unwrap_or(usual.fuzz_seconds).to_string();
    let soak = arguments.soak.unwrap_or(usual.soak).to_string();

    let test = |words: &[&str], variable: (&str, &str)| {
        let mut command = workspace.cargo(&["test"]);
        command.args(words).env(variable.0, variable.1);
        command
    };
    let of_program = |program: &'static str, tests: &'static str| {
        ["--package", "infold", "--test", program, "--", tests, "--nocapture"]
    };
    let properties = ["--package", "infold-core", "--package", "infold-engine", "--lib"];
    let parts = [
        ("properties", format!("{cases} schedules each"), test(&properties, ("PROPTEST_CASES", &cases))),
        ("kill -9", format!("{kills} kills"), test(&of_program("crashes", "kill::"), ("INFOLD_KILLS", &kills))),
        (
            "power loss",
            format!("{images} disks"),
            test(&of_program("crashes", "power_loss::"), ("INFOLD_IMAGES", &images)),
        ),
        (
            "disk faults",
            format!("{faults} lives of the daemon"),
            test(&of_program("program", "trouble::faults"), ("INFOLD_FAULTS", &faults)),
        ),
        (
            "cluster",
            format!("{cluster_faults} faults of three servers and three daemons"),
            test(&of_program("program", "cluster::faults"), ("INFOLD_CLUSTER_FAULTS", &cluster_faults)),
        ),
        (
            "moving",
            format!("{move_sessions} sessions into a cluster and back, killed twice each way"),
            test(&of_program("program", "cluster::transfer"), ("INFOLD_MOVE_SESSIONS", &move_sessions)),
        ),
        (
            "fuzzing",
            format!("{fuzz_seconds} s for each target"),
            workspace.cargo(&["run", "--quiet", "--package", "xtask", "--", "fuzz", "--seconds", &fuzz_seconds]),
        ),
        (
            "soak",
            format!("{soak} requests"),
            workspace.cargo(&["run", "--quiet", "--package", "drive", "--", "bench", "soak", "--requests", &soak]),
        ),
    ];

    let names = parts.each_ref().map(|(name, ..)| *name);
    check_names(&names, &arguments.only)?;
    let mut report = Report::default();
    let mut seen = Vec::new();
    for (name, extent, mut command) in parts {
        if arguments.only.is_empty() || arguments.only.iter().any(|only| only == name) {
            report.stage(name, || {
                seen.push(see(name, extent, &mut command)?);
                Ok(seen.last().map(|part: &PartSeen| part.totals).unwrap_or_default())
            });
        }
    }
    write(workspace, &names, &seen)?;
    Ok(report.finish())
}

/// Writes what was seen into the document.
fn write(workspace: &Workspace, names: &[&str], seen: &[PartSeen]) -> Result<()> {
    let document = workspace.root.join(DOCUMENT);
    let before = fs::read_to_string(&document)?;
    document::put(&document, &[("torture", &table(names, seen, &before))])?;
    println!("\nwritten to {DOCUMENT}");
    Ok(())
}

/// Refuses names that no part has.
fn check_names(names: &[&str], only: &[String]) -> Result<()> {
    match only.iter().find(|only| !names.contains(&only.as_str())) {
        Some(unknown) => bail!("there is no part {unknown:?}; the parts are {}", names.join(", ")),
        None => Ok(()),
    }
}

/// Runs a part, and gathers what it says about itself.
fn see(name: &'static str, extent: String, command: &mut Command) -> Result<PartSeen> {
    let began = Instant::now();
    let mut totals = Totals::default();
    let mut figures = Vec::new();
    let succeeded = run_seeing_lines(command, |line| {
        totals.add(harness_totals(line).unwrap_or_else(|| script_totals(line)));
        let figure = line.split_once(FIGURES).map(|(_, figure)| figure).or_else(|| line.strip_prefix("ok "));
        figures.extend(figure.map(str::to_owned));
    })?;
    if succeeded && totals == Totals::default() {
        totals = Totals::one_passed();
    }
    if !succeeded && totals.failed == 0 {
        totals.add(Totals::one_failed());
    }
    Ok(PartSeen { name, extent, figures, totals, minutes: began.elapsed().as_secs_f64() / 60.0 })
}

/// The rows of the parts that were run, and of the others as the document had them before.
fn table(names: &[&str], seen: &[PartSeen], before: &str) -> String {
    let mut text = "| part | how much | what was seen | checks | minutes |\n|---|---|---|---|---|\n".to_owned();
    for name in names {
        let Some(part) = seen.iter().find(|part| part.name == *name) else {
            // The same word begins a row of the table that says what is done.
            let row = before.lines().rfind(|line| line.starts_with(&format!("| {name} |")) && line.contains(" hold, "));
            text.extend(row.map(|row| format!("{row}\n")));
            continue;
        };
        let PartSeen { extent, figures, totals: Totals { passed, failed, .. }, minutes, .. } = part;
        let figures = figures.join("<br>");
        let _ = writeln!(text, "| {name} | {extent} | {figures} | {passed} hold, {failed} fail | {minutes:.1} |");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{PartSeen, Totals, table};

    #[test]
    fn rows_of_parts_that_were_not_run_stay() {
        let before = "| kill -9 | what is done |\n| kill -9 | 5 kills |  | 1 hold, 0 fail | 1.0 |\n";
        let totals = Totals { passed: 2, ..Totals::default() };
        let soak = PartSeen { name: "soak", extent: "9".to_owned(), figures: Vec::new(), totals, minutes: 3.0 };
        let rows = table(&["kill -9", "cluster", "soak"], &[soak], before);
        let rows: Vec<&str> = rows.lines().skip(2).collect();
        assert_eq!(rows, ["| kill -9 | 5 kills |  | 1 hold, 0 fail | 1.0 |", "| soak | 9 |  | 2 hold, 0 fail | 3.0 |"]);
    }
}
