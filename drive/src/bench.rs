//! Measures the program as people run it, and compares with the targets.
//!
//! A measurement made by a slow client flatters the program, because it makes the yardstick longer.
//! So a debug build of this tool does not measure: it runs its release build. Two programs are compared by their own
//! processor time and memory, which a slow client does not change.

mod agent;
mod chat;
mod crowd;
mod figures;
mod fold;
mod fork;
pub mod gateway;
mod growth;
mod memory;
mod pairs;
mod process;
mod proxy;
mod python;
mod recording;
mod scrub;
mod soak;
mod start;
mod turns;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Subcommand, ValueEnum};
use infold_testkit::{DaemonSetup, Era};

use crate::run_release_build;
use xtask::workspace::Workspace;

/// What `cargo xtask bench` takes.
#[derive(Debug, clap::Args)]
pub struct BenchArguments {
    /// Measure this program, instead of building it first.
    #[arg(long, global = true, value_name = "PATH")]
    program: Option<PathBuf>,
    #[command(subcommand)]
    what: Bench,
}

#[derive(Debug, Subcommand)]
enum Bench {
    /// How long the daemon takes to become ready, and how much memory it idles in.
    Start,
    /// What opening and folding a branch costs, alone, in a crowd, and late in a session.
    Fold(FoldArguments),
    /// What forking a recorded session costs as sessions grow to a gigabyte.
    Fork(fork::ForkBenchArguments),
    /// What scrubbing costs, beside rules that do not apply and on hostile texts.
    Scrub,
    /// What a request through the proxy costs, beside other proxies.
    Proxy(proxy::ProxyBenchArguments),
    /// What a call of another server's tool through the gateway costs, beside other gateways.
    Gateway(gateway::GatewayBenchArguments),
    /// What memories cost a branch that opens.
    Memory(memory::MemoryBenchArguments),
    /// What infold's own agent adds to a turn, as sessions grow, and what a long session costs in a small window.
    Agent,
    /// What a frame of the chat takes while words come in quickly, in a short session and in a long one.
    Chat(chat::ChatBenchArguments),
    /// Whether memory stays flat over very many requests, small and very large.
    Soak(soak::SoakArguments),
}

/// What `cargo xtask bench fold` takes.
#[derive(Debug, clap::Args)]
pub struct FoldArguments {
    /// Pairs of calls that are started each second, for the folds and for the yardstick alike.
    #[arg(long, default_value_t = 200)]
    rate: u32,
    /// How long to measure at that rate.
    #[arg(long, default_value_t = 20)]
    seconds: u32,
    /// Sessions that fold at once.
    #[arg(long, default_value_t = 1_000)]
    sessions: usize,
    /// The branch whose cost is compared with the tenth one's.
    #[arg(long, default_value_t = 10_000)]
    branches: usize,
    /// Which era of the protocol the clients speak.
    #[arg(long, value_enum, default_value_t = EraName::Legacy)]
    era: EraName,
    /// Where the state is: in a file of the machine, or in a log on three servers that machines share.
    #[arg(long, value_enum, default_value_t = StoreName::Sqlite)]
    store: StoreName,
    #[command(flatten)]
    turns: turns::TurnArguments,
}

/// Where the state is, as it is typed.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum StoreName {
    Sqlite,
    Nats,
}

/// An era, as it is typed.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum EraName {
    /// 2025-11-25, which has `ping`.
    Legacy,
    /// 2026-07-28, where `server/discover` takes its place.
    Modern,
}

impl EraName {
    fn era(self) -> Era {
        match self {
            Self::Legacy => Era::Legacy,
            Self::Modern => Era::Modern,
        }
    }
}

/// Runs one measurement, or compares two programs; the exit code is a failure when a target is missed.
pub fn run(workspace: &Workspace, arguments: &BenchArguments) -> Result<ExitCode> {
    let before = arguments.what.before().map(found).transpose()?;
    if cfg!(debug_assertions) && before.is_none() {
        return run_release_build(workspace);
    }
    let program = match &arguments.program {
        Some(program) => found(program)?,
        None => workspace.build_shipped_program()?,
    };
    let runtime = tokio::runtime::Runtime::new()?;
    if let Some(before) = before {
        return runtime.block_on(arguments.what.compare(&before, &program));
    }
    match &arguments.what {
        Bench::Start => runtime.block_on(start::run(&program)),
        Bench::Agent => runtime.block_on(agent::run(&program)),
        Bench::Chat(arguments) => runtime.block_on(chat::run(&program, arguments)),
        Bench::Scrub => scrub::run(workspace),
        Bench::Fork(arguments) => fork::run(workspace, &program, arguments),
        Bench::Proxy(arguments) => runtime.block_on(proxy::run(workspace, &program, arguments)),
        Bench::Memory(arguments) => runtime.block_on(memory::run(&program, arguments)),
        Bench::Gateway(arguments) => runtime.block_on(gateway::run(workspace, &program, arguments)),
        Bench::Fold(arguments) => runtime.block_on(async {
            match arguments.store {
                StoreName::Sqlite => fold::run(workspace, &program, arguments).await,
                StoreName::Nats => fold::shared::run(workspace, &program, arguments).await,
            }
        }),
        Bench::Soak(arguments) => runtime.block_on(soak::run(workspace, &program, arguments)),
    }
}

impl Bench {
    /// The older program that a newer one is to be compared with.
    fn before(&self) -> Option<&Path> {
        match self {
            Self::Start
            | Self::Agent
            | Self::Chat(_)
            | Self::Fork(_)
            | Self::Scrub
            | Self::Memory(_)
            | Self::Gateway(_)
            | Self::Soak(_) => None,
            Self::Proxy(arguments) => arguments.turns.before.as_deref(),
            Self::Fold(arguments) => arguments.turns.before.as_deref(),
        }
    }

    /// Compares the processor time and memory of an older program with those of a newer one.
    async fn compare(&self, old: &Path, new: &Path) -> Result<ExitCode> {
        match self {
            Self::Start
            | Self::Agent
            | Self::Chat(_)
            | Self::Fork(_)
            | Self::Scrub
            | Self::Memory(_)
            | Self::Gateway(_)
            | Self::Soak(_) => {
                bail!("only `proxy` and `fold` compare two programs")
            }
            Self::Proxy(arguments) => proxy::before::run(old, new, arguments.turns.pairs).await,
            Self::Fold(arguments) => fold::before::run(old, new, arguments).await,
        }
    }
}

fn found(program: &Path) -> Result<PathBuf> {
    program.canonicalize().with_context(|| format!("there is no {}", program.display()))
}

/// Raises a daemon's limits so far that no measurement runs into them.
fn unlimited(setup: DaemonSetup) -> DaemonSetup {
    setup
        .set("folding.max_branches_per_minute", 1_000_000)
        .set("folding.max_concurrent_per_session", 100_000)
        .set("folding.max_concurrent_per_instance", 100_000)
}
