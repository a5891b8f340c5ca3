//! Open + fold against its yardstick, at a fixed rate and in the same run.
//!
//! Work is started by the clock, whether or not earlier work is done, and its latency runs from the
//! moment it was due: a server that stalls cannot hide the stall by slowing its clients down. Of each
//! two ticks one is a fold and one is the yardstick, in an order that chance decides: with a strict
//! turn about, one of them would always sync while the other wants to.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use infold_store::Store;
use infold_testkit::{McpHttp, Rng};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::figures::Latencies;
use super::fold;

/// Sessions that the folds go round. Enough that two folds in one session do not meet.
const SESSIONS: usize = 200;

/// Where chance begins. The same order each time, so that runs can be compared.
const ORDER_SEED: u64 = 7;

/// How long to run before anything is counted.
const WARM_UP: Duration = Duration::from_secs(2);

/// Latencies of both kinds of work, measured in the same run.
#[derive(Debug)]
pub struct Measured {
    /// Opening a branch and folding it.
    pub folds: Latencies,
    /// Two calls that do nothing, and two commits of one row.
    pub yardstick: Latencies,
}

/// What is done at one tick of the clock.
#[derive(Debug, Clone, Copy)]
enum PairWork {
    Fold { session: usize },
    Yardstick,
}

/// Starts `rate` pairs of each kind a second, for `seconds`.
pub async fn measure(client: &Arc<McpHttp>, store: &Arc<Store>, rate: u32, seconds: u32) -> Result<Measured> {
    let gap = Duration::from_secs(1) / (rate.max(1) * 2);
    let began = Instant::now();
    let counted_from = began + WARM_UP;
    let ends = counted_from + Duration::from_secs(seconds.into());

    let mut running = JoinSet::new();
    let mut order = Rng::new(ORDER_SEED);
    let mut due = began;
    for pair in 0.. {
        if due >= ends {
            break;
        }
        let fold = PairWork::Fold { session: pair % SESSIONS };
        let turns = if order.chance(50) { [fold, PairWork::Yardstick] } else { [PairWork::Yardstick, fold] };
        for work in turns {
            tokio::time::sleep_until(due).await;
            running.spawn(timed(Arc::clone(client), Arc::clone(store), work, due));
            due += gap;
        }
    }

    let mut folds = Vec::new();
    let mut yardstick = Vec::new();
    while let Some(done) = running.join_next().await {
        let (work, due, latency) = done??;
        match work {
            _ if due < counted_from => {}
            PairWork::Fold { .. } => folds.push(latency),
            PairWork::Yardstick => yardstick.push(latency),
        }
    }
    Ok(Measured { folds: Latencies::new(folds), yardstick: Latencies::new(yardstick) })
}

/// Does the work, and returns how long after it was due it was done.
async fn timed(
    client: Arc<McpHttp>,
    store: Arc<Store>,
    work: PairWork,
    due: Instant,
) -> Result<(PairWork, Instant, Duration)> {
    match work {
        PairWork::Fold { session } => fold::open_and_fold(&client, &format!("rate-{session}")).await?,
        PairWork::Yardstick => {
            for _ in 0..2 {
                client.no_op().await?;
                store.bare_commit().await?;
            }
        }
    }
    Ok((work, due, due.elapsed()))
}
