//! Compares an old program with a new one: what opening and folding the same branches costs each of them.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use infold_testkit::{Daemon, DaemonSetup, McpHttp};
use tokio::task::JoinSet;

use super::open_and_fold;
use crate::bench::figures::Table;
use crate::bench::process::Process;
use crate::bench::turns::{Both, Ratios};
use crate::bench::{FoldArguments, unlimited};

/// Branches that one program opens and folds before the other program has its turn.
const SLICE: usize = 250;
/// Slices that each program has in one pair of turns.
const SLICES: usize = 12;
/// Sessions that fold at once.
const SESSIONS: usize = 10;

/// One of the two programs as a running daemon, with a client.
struct FoldSide {
    _daemon: Daemon,
    client: Arc<McpHttp>,
    process: Process,
}

impl FoldSide {
    async fn start(program: &Path, arguments: &FoldArguments) -> Result<Self> {
        let daemon = unlimited(DaemonSetup::new(program)).start().await?;
        let client = Arc::new(McpHttp::connect(daemon.base_url(), arguments.era.era()).await?);
        let process = Process(daemon.pid()?);
        Ok(Self { _daemon: daemon, client, process })
    }

    /// Opens and folds branches in several sessions, and returns the processor time in milliseconds that it took.
    async fn slice(&self) -> Result<f64> {
        let before_ms = self.process.cpu_ms()?;
        let mut running = JoinSet::new();
        for session in 0..SESSIONS {
            let client = Arc::clone(&self.client);
            running.spawn(async move {
                for _ in 0..SLICE / SESSIONS {
                    open_and_fold(&client, &format!("turn-{session}")).await?;
                }
                anyhow::Ok(())
            });
        }
        while let Some(done) = running.join_next().await {
            done??;
        }
        Ok(self.process.cpu_ms()? - before_ms)
    }
}

/// Measures both programs; the exit code is a failure when the new one uses more than it may.
pub async fn run(old: &Path, new: &Path, arguments: &FoldArguments) -> Result<ExitCode> {
    let pairs = arguments.turns.pairs.max(1);
    let mut ratios = Ratios::default();
    for pair in 1..=pairs {
        let both = Both { old: FoldSide::start(old, arguments).await?, new: FoldSide::start(new, arguments).await? };
        let mut used_ms = Both { old: 0.0, new: 0.0 };
        for slice in 0..SLICES {
            // Whoever comes second may find a busier machine than the first did, so they take turns in that, too.
            if slice % 2 == 0 {
                used_ms.old += both.old.slice().await?;
                used_ms.new += both.new.slice().await?;
            } else {
                used_ms.new += both.new.slice().await?;
                used_ms.old += both.old.slice().await?;
            }
        }
        ratios.add("open + fold, processor time", used_ms);
        ratios.add_memory(Both { old: both.old.process, new: both.new.process })?;
        eprintln!("pair {pair} of {pairs}: done");
    }
    let mut table = Table::default();
    ratios.hold(&mut table);
    Ok(table.finish())
}
