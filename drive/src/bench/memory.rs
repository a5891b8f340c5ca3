//! What memories cost a branch that opens: with none in the store, with a thousand and with ten thousand, in one run.
//!
//! The stores take turns, so that a busy moment of the machine falls on all of them.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use infold_testkit::{CallAnswer, Daemon, DaemonSetup, Era, McpHttp};
use serde_json::json;

use super::figures::{Latencies, Table};
use super::process::Process;
use super::unlimited;

/// What `cargo xtask bench memory` takes.
#[derive(Debug, clap::Args)]
pub struct MemoryBenchArguments {
    /// Openings that each store has to answer.
    #[arg(long, default_value_t = 400)]
    openings: usize,
}

/// Memories in each store.
const SIZES: [usize; 3] = [0, 1_000, 10_000];
/// Openings of one store before it is the next one's turn.
const TURN_OPENINGS: usize = 10;
const WARM_UP_OPENINGS: usize = 30;
/// Characters of a brief: as long as one may be.
const BRIEF_CHARS: usize = 9_500;

const ADDED_MS_MAX: f64 = 15.0;
const ADDED_MB_MAX: f64 = 20.0;
/// Ten times as many memories must cost less than ten times as much.
const GROWTH_MAX: f64 = 10.0;

/// A daemon with so many memories.
struct FilledStore {
    memories: usize,
    daemon: Daemon,
    client: McpHttp,
    durations: Vec<Duration>,
}

/// Makes all measurements; the exit code is a failure when a target is missed.
pub async fn run(program: &Path, arguments: &MemoryBenchArguments) -> Result<ExitCode> {
    let mut stores = Vec::new();
    for memories in SIZES {
        stores.push(filled(program, memories).await?);
    }
    let mut given = 0;
    for turn in 0..(arguments.openings + WARM_UP_OPENINGS).div_ceil(TURN_OPENINGS) {
        for store in &mut stores {
            if turn * TURN_OPENINGS == WARM_UP_OPENINGS {
                store.durations.clear();
            }
            for opening in 0..TURN_OPENINGS {
                let answer = store.open(turn * TURN_OPENINGS + opening).await?;
                given += usize::from(!answer.text_field("injected_context").is_empty());
            }
        }
    }
    ensure!(given > 0, "no opening was given anything, so nothing was measured");

    let mut table = Table::default();
    let figures: Vec<(Latencies, f64)> = stores.into_iter().map(FilledStore::figures).collect::<Result<_>>()?;
    let (nothing, nothing_mb) = &figures[0];
    for ((latencies, resident_mb), memories) in figures.iter().zip(SIZES) {
        let name = format!("an opening with {memories} memories, p50 and p99");
        table.show(&name, format!("{:.2}, {:.2} ms", latencies.median_ms(), latencies.percentile_ms(99.0)));
        table.show(&format!("memory (RSS) with {memories} memories"), format!("{resident_mb:.1} MB"));
    }
    let added = |at: usize| figures[at].0.median_ms() - nothing.median_ms();
    table.hold("added by 10000 memories, p50", added(2), ADDED_MS_MAX, " ms");
    table.hold("added by 10000, over added by 1000", added(2) / added(1), GROWTH_MAX, "×");
    table.hold("memory (RSS) added by 10000 memories", figures[2].1 - nothing_mb, ADDED_MB_MAX, " MB");
    Ok(table.finish())
}

/// Starts a daemon and imports so many memories into it. What is imported is less sure than what is given by default.
async fn filled(program: &Path, memories: usize) -> Result<FilledStore> {
    let setup = unlimited(DaemonSetup::new(program)).set("memory.memory_min_confidence", "0.5");
    let daemon = setup.start().await?;
    let client = McpHttp::connect(daemon.base_url(), Era::Modern).await?;
    if memories > 0 {
        let lines: Vec<String> = (0..memories).map(|number| lesson(number).to_string()).collect();
        let body = json!({"lines": lines.join("\n"), "name": "bench"});
        let http = reqwest::Client::new();
        let path = format!("{}/api/v1/memories/import", daemon.base_url());
        let answer = http.post(path).json(&body).send().await?;
        ensure!(answer.status().is_success(), "the import was refused: {}", answer.text().await?);
    }
    Ok(FilledStore { memories, daemon, client, durations: Vec::new() })
}

const PARTS: [&str; 8] = ["parser", "upload", "cache", "scheduler", "login", "billing", "search", "export"];
const DEEDS: [&str; 8] =
    ["fails", "is slow", "loses rows", "leaks memory", "needs a flag", "is flaky", "hangs", "is stale"];

/// A lesson unlike all others, of about 70 words.
fn lesson(number: usize) -> serde_json::Value {
    let (part, deed) = (PARTS[number % 8], DEEDS[number / 8 % 8]);
    let words: Vec<String> = (0..50).map(|word| format!("w{}", (number * 31 + word * word * 7) % 5_000)).collect();
    json!({
        "title": format!("The {part} {deed} in module m{}", number % 997),
        "lesson": format!("The {part} {deed} if m{} is on. {}", number % 997, words.join(" ")),
        "kind": "fact",
        "files": [{"path": format!("src/{part}/m{}.rs", number % 997), "use": "edited"}],
    })
}

impl FilledStore {
    async fn open(&mut self, number: usize) -> Result<CallAnswer> {
        let part = PARTS[number % 8];
        let mut prompt = format!("Mend src/{part}/m{}.rs. ", number % 997);
        while prompt.len() < BRIEF_CHARS {
            prompt.push_str(&format!("w{} ", (prompt.len() * 13 + number) % 5_000));
        }
        let arguments = json!({
            "session_id": format!("s{number}"),
            "description": format!("The {part} fails in module m{}", number % 997),
            "prompt": prompt,
            "budget": 30_000,
        });
        let begun = Instant::now();
        let answer = self.client.call("branch_create", arguments).await?;
        self.durations.push(begun.elapsed());
        ensure!(answer.is_ok(), "with {} memories: {}", self.memories, answer.summary());
        Ok(answer)
    }

    fn figures(self) -> Result<(Latencies, f64)> {
        let resident_mb = Process(self.daemon.pid()?).resident_mb()?;
        Ok((Latencies::new(self.durations), resident_mb))
    }
}
