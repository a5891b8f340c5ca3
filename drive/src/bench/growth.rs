//! What a branch costs late in a session, against what it costs early in one.
//!
//! The two are measured at the same time and in turns: while the long session goes through the
//! window around its last branch, fresh sessions go through the window around their tenth. So a
//! machine that gets slower or faster meanwhile does so for both.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, bail};
use infold_testkit::McpHttp;
use tokio::task::JoinSet;

use super::figures::Latencies;
use super::fold;

/// Branches in a window. The early window of one session is shorter, so several sessions fill it.
const WINDOW: usize = 400;

/// The early branches of a session that are measured: the tenth, and five on either side.
const EARLY: std::ops::Range<usize> = 5..15;

/// Branches that are under way at once while the long session is filled.
const FILLING_AT_ONCE: usize = 8;

/// The session that becomes long.
const LONG: &str = "growth-long";

/// Latencies of opening and folding a branch, early and late.
#[derive(Debug)]
pub struct Growth {
    /// Branches around the tenth of a session.
    pub early: Latencies,
    /// Branches around the last of a long session.
    pub late: Latencies,
}

impl Growth {
    /// How many times as much a late branch costs as an early one.
    pub fn ratio(&self) -> f64 {
        self.late.median_ms() / self.early.median_ms()
    }
}

/// Fills a session up to its `branches`th branch, and measures around that one.
pub async fn measure(client: &Arc<McpHttp>, branches: usize) -> Result<Growth> {
    let Some(filled) = branches.checked_sub(WINDOW / 2) else {
        bail!("name at least {} branches", WINDOW / 2);
    };
    fill(client, filled).await?;

    let mut early = Vec::new();
    let mut late = Vec::new();
    let mut fresh = 0;
    while late.len() < WINDOW {
        fresh += 1;
        let session = format!("growth-fresh-{fresh}");
        for number in 0..EARLY.end {
            let began = Instant::now();
            fold::open_and_fold(client, &session).await?;
            let took_early = began.elapsed();
            if !EARLY.contains(&number) {
                continue;
            }
            let began = Instant::now();
            fold::open_and_fold(client, LONG).await?;
            late.push(began.elapsed());
            early.push(took_early);
        }
    }
    Ok(Growth { early: Latencies::new(early), late: Latencies::new(late) })
}

/// Opens and folds `count` branches in the long session, several at a time.
async fn fill(client: &Arc<McpHttp>, count: usize) -> Result<()> {
    let mut running = JoinSet::new();
    for _ in 0..count {
        if running.len() >= FILLING_AT_ONCE
            && let Some(done) = running.join_next().await
        {
            done??;
        }
        let client = Arc::clone(client);
        running.spawn(async move { fold::open_and_fold_beside(&client, LONG).await });
    }
    while let Some(done) = running.join_next().await {
        done??;
    }
    Ok(())
}
