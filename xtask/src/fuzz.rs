//! Fuzzes what reads other people's bytes: builds the targets of `fuzz` with a compiler that shows which code an input
//! reached, and lets libFuzzer look for an input that breaks a law.
//!
//! What was found to reach new code is kept below `target/fuzz`, so that the next run goes on from it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Mutex;
use std::thread;

use anyhow::{Context, Result, bail};

use xtask::report::{Report, Totals};
use xtask::workspace::{self, Workspace};

/// What is fuzzed.
struct FuzzTarget {
    name: &'static str,
    /// Folders with inputs that it starts from; what is longer than an input may be is cut.
    seeds: &'static [&'static str],
    input_bytes_max: usize,
}

const TARGETS: [FuzzTarget; 8] = [
    FuzzTarget { name: "requests", seeds: &["fuzz/seeds/requests"], input_bytes_max: 8 << 10 },
    FuzzTarget { name: "streams", seeds: &["fuzz/seeds/streams"], input_bytes_max: 8 << 10 },
    FuzzTarget { name: "transcripts", seeds: &RECORDINGS, input_bytes_max: 32 << 10 },
    FuzzTarget { name: "scrubber", seeds: &["fuzz/seeds/scrubber", "fixtures/codex"], input_bytes_max: 8 << 10 },
    // Longer than a piece that is counted at once.
    FuzzTarget { name: "counter", seeds: &RECORDINGS, input_bytes_max: 10 << 10 },
    FuzzTarget { name: "settings", seeds: &["fuzz/seeds/settings"], input_bytes_max: 4 << 10 },
    // Longer than a line may be.
    FuzzTarget { name: "mcp", seeds: &["fuzz/seeds/mcp"], input_bytes_max: 10 << 10 },
    FuzzTarget { name: "quote", seeds: &["fuzz/seeds/quote"], input_bytes_max: 4 << 10 },
];
const RECORDINGS: [&str; 3] = ["fixtures/claude-code", "fixtures/codex", "fixtures/opencode"];
/// Seconds for each target, if nobody says.
const SECONDS: u64 = 30;
/// How many targets run at the same time.
const AT_ONCE_MAX: usize = 2;
/// The longest that one input may take, in seconds; the most memory, in MiB.
const INPUT_SECONDS_MAX: u64 = 20;
const MEMORY_MIB_MAX: u64 = 1_024;

/// How much is shown of what libFuzzer says of a failure: its last lines, and their beginnings.
const LINES_SHOWN_MAX: usize = 30;
const COLUMNS_SHOWN_MAX: usize = 400;

/// What `cargo xtask fuzz` takes.
#[derive(Debug, clap::Args)]
pub struct FuzzArguments {
    /// Fuzz only this: requests, streams, transcripts, scrubber, counter, settings, mcp or quote.
    target: Option<String>,
    /// Seconds for each target.
    #[arg(long, value_name = "N", default_value_t = SECONDS)]
    seconds: u64,
    /// Only try this input, one that was found before.
    #[arg(long, value_name = "FILE", requires = "target")]
    input: Option<PathBuf>,
}

/// Fuzzes, and closes with the line that counts.
pub fn run(workspace: &Workspace, arguments: &FuzzArguments) -> Result<ExitCode> {
    let is_wanted = |target: &&FuzzTarget| arguments.target.as_deref().is_none_or(|wanted| wanted == target.name);
    let targets: Vec<&FuzzTarget> = TARGETS.iter().filter(is_wanted).collect();
    if targets.is_empty() {
        let known: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        bail!("there is no such target: use one of {}", known.join(", "));
    }
    let program = build(workspace)?;
    if let (Some(input), [target]) = (&arguments.input, targets.as_slice()) {
        workspace::run(command(workspace, &program, target).arg(std::path::absolute(input)?))?;
        println!("{}: every law holds for this input", target.name);
        return Ok(ExitCode::SUCCESS);
    }
    let mut report = Report::default();
    report.stage("fuzz", || all(workspace, &program, &targets, arguments.seconds));
    Ok(report.finish())
}

/// Whether there is a compiler for libFuzzer, which is C++.
pub fn can_be_built() -> bool {
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    let asked = Command::new(compiler).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    asked.is_ok_and(|status| status.success())
}

/// Builds the targets and fuzzes each for the usual time.
pub fn stage(workspace: &Workspace) -> Result<Totals> {
    all(workspace, &build(workspace)?, &TARGETS.iter().collect::<Vec<_>>(), SECONDS)
}

/// Builds the program with all targets. The whole workspace is named, so that what others wrote has the same features as
/// in tests and need not be built again.
fn build(workspace: &Workspace) -> Result<PathBuf> {
    let mut command = workspace.cargo(&["build", "--workspace", "--bin", "fuzz"]);
    command.args(["--features", "infold/conformance,fuzz/libfuzzer"]);
    workspace::run(command.env("RUSTC_WORKSPACE_WRAPPER", workspace.root.join("fuzz/rustc.sh")))?;
    Ok(workspace.target().join("debug/fuzz"))
}

fn command(workspace: &Workspace, program: &Path, target: &FuzzTarget) -> Command {
    let mut command = workspace.command(program);
    command.env("INFOLD_FUZZ", target.name).env("RUST_BACKTRACE", "0");
    command
}

/// Fuzzes the targets, a few at a time.
fn all(workspace: &Workspace, program: &Path, targets: &[&FuzzTarget], seconds: u64) -> Result<Totals> {
    let waiting = Mutex::new(targets.iter().rev().copied().collect::<Vec<&FuzzTarget>>());
    let next = || waiting.lock().ok().and_then(|mut waiting| waiting.pop());
    let work = || {
        let mut totals = Totals::default();
        while let Some(target) = next() {
            totals.add(one(workspace, program, target, seconds)?);
        }
        Ok(totals)
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_ONCE_MAX).map(|_| scope.spawn(work)).collect();
        let mut totals = Totals::default();
        for worker in workers {
            totals.add(worker.join().unwrap_or_else(|_| bail!("fuzzing panicked"))?);
        }
        Ok(totals)
    })
}

fn one(workspace: &Workspace, program: &Path, target: &FuzzTarget, seconds: u64) -> Result<Totals> {
    let name = target.name;
    let folder = workspace.target().join("fuzz").join(name);
    let (corpus, found) = (folder.join("corpus"), folder.join("found"));
    fs::create_dir_all(&corpus)?;
    fs::create_dir_all(&found)?;
    let ended = command(workspace, program, target)
        .arg(&corpus)
        .args(target.seeds)
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-max_len={}", target.input_bytes_max))
        .arg(format!("-timeout={INPUT_SECONDS_MAX}"))
        .arg(format!("-rss_limit_mb={MEMORY_MIB_MAX}"))
        .arg(format!("-artifact_prefix={}/", found.display()))
        .args(["-print_final_stats=1", "-detect_leaks=0"])
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot run {}", program.display()))?;
    let said = String::from_utf8_lossy(&ended.stderr);
    if ended.status.success() {
        println!("ok {name}: {}", figures(&said));
        return Ok(Totals::one_passed());
    }
    let input = said.lines().find_map(|line| line.split_once("Test unit written to ")).map_or("", |(_, path)| path);
    let why = said.lines().find(|line| line.contains("panicked at") || line.contains("ERROR: libFuzzer"));
    let last = said.lines().count().saturating_sub(LINES_SHOWN_MAX);
    said.lines().skip(last).for_each(|line| println!("{}", line.chars().take(COLUMNS_SHOWN_MAX).collect::<String>()));
    println!("not ok {name}: {}", why.unwrap_or("it ended without saying why"));
    println!("repeat with: cargo xtask fuzz {name} --input {input}");
    Ok(Totals::one_failed())
}

/// What libFuzzer says of a run, in a few words.
fn figures(said: &str) -> String {
    let stat = |name: &str| {
        let line = said.lines().find_map(|line| line.strip_prefix("stat::")?.strip_prefix(name));
        line.map_or("?", |value| value.trim_start_matches(':').trim()).to_owned()
    };
    let covered = said.lines().rev().find_map(|line| line.split_once(" cov: ")?.1.split(' ').next());
    let covered = covered.unwrap_or("?");
    let (tried, each_second) = (stat("number_of_executed_units"), stat("average_exec_per_sec"));
    format!("{tried} inputs, {each_second} each second, {covered} places reached")
}
