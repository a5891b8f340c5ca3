//! What forking costs as recordings grow: time, memory, and throughput beside a plain copy.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::figures::Table;
use super::recording;
use xtask::workspace::Workspace;

/// With ten times the input, a fork may take this many times as long.
const GROWTH_MAX: f64 = 11.0;
/// The memory that a fork of the longest input may need, as a multiple of what ten megabytes need.
const MEMORY_GROWTH_MAX: f64 = 1.5;
const MEGABYTE: u64 = 1_000_000;
/// The pause between two readings of a running program's memory.
const LOOK: Duration = Duration::from_millis(2);

/// What `cargo xtask bench fork` takes.
#[derive(Debug, clap::Args)]
pub struct ForkBenchArguments {
    /// The longest recording, in megabytes; the others are a tenth, a hundredth and so on of it.
    #[arg(long, default_value_t = 1_000)]
    megabytes: u64,
    /// Runs of which the quickest counts.
    #[arg(long, default_value_t = 3)]
    runs: usize,
}

/// What one run of a program cost.
#[derive(Debug, Clone, Copy)]
struct ForkRun {
    took: Duration,
    peak_mb: f64,
}

/// Measures both profiles of `infold fork`; the exit code is a failure when a target is missed.
pub fn run(workspace: &Workspace, program: &Path, arguments: &ForkBenchArguments) -> Result<ExitCode> {
    let folder = workspace.target().join("bench-scratch");
    fs::create_dir_all(&folder)?;
    let mut sizes = vec![arguments.megabytes];
    while let Some(smaller) = sizes.last().map(|size| size / 10).filter(|size| *size > 0) {
        sizes.push(smaller);
    }
    sizes.reverse();

    let mut table = Table::default();
    let mut seen: Vec<[ForkRun; 2]> = Vec::new();
    for size in sizes {
        eprintln!("writing a recording of {size} MB");
        let file = folder.join("recording.jsonl");
        recording::write(&file, size * MEGABYTE)?;
        let copy = quickest(arguments.runs, || copied(&file, &folder.join("copy")))?;
        let mut runs = Vec::new();
        for profile in ["seed", "recall"] {
            let run = quickest(arguments.runs, || forked(program, &file, profile))?;
            tell(&mut table, &format!("{size} MB, {profile}"), run, copy);
            runs.push(run);
        }
        seen.push([runs[0], runs[1]]);
        fs::remove_file(&file)?;
    }
    hold(&mut table, &seen);
    Ok(table.finish())
}

fn tell(table: &mut Table, name: &str, run: ForkRun, copy: ForkRun) {
    let ratio = run.took.as_secs_f64() / copy.took.as_secs_f64();
    table.show(name, format!("{:.0} ms, {:.0} MB, {ratio:.1}x a copy", run.took.as_secs_f64() * 1e3, run.peak_mb));
}

fn hold(table: &mut Table, seen: &[[ForkRun; 2]]) {
    for (which, profile) in ["seed", "recall"].into_iter().enumerate() {
        for (at, pair) in seen.windows(2).enumerate() {
            let growth = pair[1][which].took.as_secs_f64() / pair[0][which].took.as_secs_f64();
            table.hold(&format!("{profile}: ten times the input, step {}", at + 1), growth, GROWTH_MAX, "x time");
        }
        if let [_, small, .., large] = seen {
            let growth = large[which].peak_mb / small[which].peak_mb;
            table.hold(&format!("{profile}: memory, longest against 10 MB"), growth, MEMORY_GROWTH_MAX, "x");
        }
    }
}

fn quickest(runs: usize, mut run: impl FnMut() -> Result<ForkRun>) -> Result<ForkRun> {
    let all = (0..runs.max(1)).map(|_| run()).collect::<Result<Vec<ForkRun>>>()?;
    all.into_iter().min_by_key(|run| run.took).context("nothing was run")
}

/// Reads and writes every byte: the least that a program must do, and so the yardstick.
fn copied(from: &Path, to: &Path) -> Result<ForkRun> {
    let started = Instant::now();
    let (mut from, mut target) = (File::open(from)?, File::create(to)?);
    let mut buffer = vec![0; 1 << 16];
    loop {
        let read = from.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        target.write_all(&buffer[..read])?;
    }
    let took = started.elapsed();
    fs::remove_file(to)?;
    Ok(ForkRun { took, peak_mb: 0.0 })
}

fn forked(program: &Path, file: &Path, profile: &str) -> Result<ForkRun> {
    let started = Instant::now();
    let mut child = Command::new(program)
        .args(["fork", "--profile", profile])
        .arg(file)
        .stdout(Stdio::null())
        .stderr(Stdio::inherit())
        .spawn()?;
    let mut peak_mb: f64 = 0.0;
    let status = loop {
        peak_mb = peak_mb.max(peak_mb_of(child.id()).unwrap_or(0.0));
        if let Some(status) = child.try_wait()? {
            break status;
        }
        std::thread::sleep(LOOK);
    };
    let took = started.elapsed();
    if !status.success() {
        bail!("infold fork failed on {}", file.display());
    }
    Ok(ForkRun { took, peak_mb })
}

/// The most memory that a process has had in RAM so far; `None` once it has ended.
fn peak_mb_of(pid: u32) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().split(' ').next()?.parse::<f64>().ok()? / 1024.0)
}
