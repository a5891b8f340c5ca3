//! What infold's own agent adds to a turn, as sessions grow to a thousand turns, and what a long session costs in a small
//! window beside the same session in a window that holds all of it.
//!
//! The model is scripted and answers at once, so a turn is infold's own work, the tool's and the loopback's.

use std::path::Path;
use std::process::{ExitCode, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use infold_testkit::model::{Cached, Model, Script, Step};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;

use super::figures::{Latencies, Table};
use super::process::Process;

/// Turns of the sessions that are measured.
const SIZES: [u64; 3] = [10, 100, 1_000];
/// Turns of the session that is played in two windows.
const LONG_TURNS: u64 = 300;
/// Files that the agent reads, and lines of each: about 6 KB.
const FILES: u64 = 50;
const FILE_LINES: u64 = 110;
/// Lines that a command prints: about 45 KB.
const PRINTED_LINES: u64 = 800;

/// A model call of one second, of which infold may take so much.
const SHARE_PERCENT_MAX: f64 = 1.0;
/// Ten times as many turns may take so many times as much.
const GROWTH_MAX: f64 = 12.0;
/// What tokens cost beside fresh ones, in hundredths: read from the cache, and written to it.
const READ_PERCENT: u64 = 10;
const WRITE_PERCENT: u64 = 125;

/// What one session took.
struct PlayedSession {
    turns: Latencies,
    cpu_ms: f64,
    peak_mb: f64,
    compactions: usize,
    cached: Cached,
}

/// Makes all measurements; the exit code is a failure when a target is missed.
pub async fn run(program: &Path) -> Result<ExitCode> {
    let mut table = Table::default();
    let mut sessions = Vec::new();
    for turns in SIZES {
        let session = played(program, turns, &[]).await?;
        table.show(
            &format!("a turn in a session of {turns}, p50 and p99"),
            format!("{:.2}, {:.2} ms", session.turns.median_ms(), session.turns.percentile_ms(99.0)),
        );
        table
            .show(&format!("processor time a turn, {turns} turns"), format!("{:.2} ms", session.cpu_ms / turns as f64));
        table.show(&format!("most memory, {turns} turns"), format!("{:.1} MB", session.peak_mb));
        sessions.push(session);
    }
    let share = sessions[2].turns.median_ms() / 1_000.0 * 100.0;
    table.hold("a turn of 1000 over a model call of one second", share, SHARE_PERCENT_MAX, " %");
    table.hold(
        "processor time of 1000 turns over that of 100",
        sessions[2].cpu_ms / sessions[1].cpu_ms,
        GROWTH_MAX,
        "×",
    );

    let small = played(program, LONG_TURNS, &[]).await?;
    let large = played(program, LONG_TURNS, &["agent.context_budget=10000000"]).await?;
    table.show("compactions in 300 turns, window of 100k", small.compactions.to_string());
    for (name, session) in [("a window of 100k", &small), ("a window that holds all", &large)] {
        table.show(&format!("input tokens from the cache, {name}"), format!("{:.1} %", cached_percent(session.cached)));
    }
    let ratio = cost(small.cached) as f64 / cost(large.cached) as f64;
    table.show("cost of the input in the small window over that in the large", format!("{ratio:.2}×"));
    Ok(table.finish())
}

fn cached_percent(cached: Cached) -> f64 {
    cached.read_tokens as f64 * 100.0 / all_tokens(cached) as f64
}

fn all_tokens(cached: Cached) -> u64 {
    cached.read_tokens + cached.write_5m_tokens + cached.write_1h_tokens + cached.fresh_tokens
}

/// What input costs, in hundredths of a fresh token's price.
fn cost(cached: Cached) -> u64 {
    cached.fresh_tokens * 100
        + cached.read_tokens * READ_PERCENT
        + (cached.write_5m_tokens + cached.write_1h_tokens) * WRITE_PERCENT
}

/// The call of a turn: one prints much, the next ones read a file or write one.
fn call(turn: u64) -> (&'static str, Value) {
    match turn % 3 {
        0 => ("shell", json!({ "command": format!("sh print.sh {}", turn % FILES) })),
        1 => ("read", json!({ "path": format!("notes_{}.txt", turn % FILES) })),
        _ => ("write", json!({ "path": format!("made_{turn}.txt"), "content": lines(turn, 20) })),
    }
}

fn lines(seed: u64, count: u64) -> String {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % 100_000
    };
    (0..count)
        .map(|line| format!("{line:>5} module_{} handles request {} of queue {}\n", next(), next(), next()))
        .collect()
}

/// Plays a session of so many turns with settings of its own.
async fn played(program: &Path, turns: u64, settings: &[&str]) -> Result<PlayedSession> {
    let steps = (1..turns).map(|turn| Step::calling("Next.", [call(turn)])).chain([Step::text("Done.")]);
    let model = Model::start(Script::new(steps)).await?;
    let home = TempDir::new()?;
    let folder = home.path().join("work");
    std::fs::create_dir(&folder)?;
    for file in 0..FILES {
        std::fs::write(folder.join(format!("notes_{file}.txt")), lines(file, FILE_LINES))?;
        std::fs::write(folder.join(format!("printed_{file}.txt")), lines(file + FILES, PRINTED_LINES))?;
    }
    std::fs::write(folder.join("print.sh"), "cat printed_$1.txt\n")?;
    let mut command = Command::new(program);
    command.args(["exec", "--json", "--approval", "all", "--turns", "0", "work through all of it"]);
    command.arg("--set").arg(format!("agent.upstream={}", model.base_url()));
    settings.iter().for_each(|setting| {
        command.arg("--set").arg(setting);
    });
    command
        .env_clear()
        .env("HOME", home.path())
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("ANTHROPIC_API_KEY", "sk-ant-fake-0000")
        .current_dir(&folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().context("cannot start the program")?;
    let process = Process(child.id().context("the program has ended at once")?);
    let output = child.stdout.take().context("the program has no output")?;
    let mut events = BufReader::new(output).lines();

    let (mut answered, mut compactions): (Vec<Instant>, usize) = (Vec::new(), 0);
    let (mut cpu_ms, mut peak_mb) = (0.0_f64, 0.0_f64);
    while let Some(line) = events.next_line().await? {
        let event: Value = serde_json::from_str(&line)?;
        match event["event"].as_str() {
            Some("answered") => answered.push(Instant::now()),
            Some("compacted") => compactions += 1,
            Some("finished") => ensure!(event["exit_code"] == 0, "the run failed: {event}"),
            _ => {}
        }
        if answered.len() % 10 == 0 || answered.len() as u64 >= turns {
            // What the commands took that it ran is not counted: they have ended.
            cpu_ms = process.cpu_ms().unwrap_or(cpu_ms).max(cpu_ms);
            peak_mb = process.peak_mb().unwrap_or(peak_mb).max(peak_mb);
        }
    }
    ensure!(child.wait().await?.success(), "the run failed");
    ensure!(model.broken().is_empty(), "a request broke a rule: {:?}", model.broken());
    let between = answered.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<Duration>>();
    Ok(PlayedSession { turns: Latencies::new(between), cpu_ms, peak_mb, compactions, cached: model.totals() })
}
