//! Many sessions at once: each has a client of its own, opens a branch, waits until all the others
//! have one too, and folds it. Nobody may be refused.

use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use infold_testkit::{Daemon, Era, McpHttp};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::fold;

/// Reasons that are shown when somebody was refused.
const REASONS_SHOWN_MAX: usize = 3;

/// What became of all the sessions together.
#[derive(Debug)]
pub struct Crowd {
    /// Sessions that could not open or fold.
    pub refused: usize,
    /// How long all sessions took together, from their connecting to the last fold.
    pub seconds: f64,
}

/// Lets `sessions` clients open and fold a branch at once.
pub async fn measure(daemon: &Daemon, era: Era, sessions: usize) -> Result<Crowd> {
    let first = McpHttp::connect(daemon.base_url(), era).await?;
    let all_open = Arc::new(Barrier::new(sessions));
    let began = Instant::now();
    let mut running = JoinSet::new();
    for number in 0..sessions {
        let http = first.http().clone();
        let base_url = daemon.base_url().to_owned();
        let all_open = Arc::clone(&all_open);
        running.spawn(async move { take_part(http, &base_url, era, number, &all_open).await });
    }

    let mut reasons = Vec::new();
    while let Some(done) = running.join_next().await {
        if let Err(reason) = done? {
            reasons.push(format!("{reason:#}"));
        }
    }
    for reason in reasons.iter().take(REASONS_SHOWN_MAX) {
        println!("a session of the crowd failed: {reason}");
    }
    Ok(Crowd { refused: reasons.len(), seconds: began.elapsed().as_secs_f64() })
}

async fn take_part(http: reqwest::Client, base_url: &str, era: Era, number: usize, all_open: &Barrier) -> Result<()> {
    let opened = async {
        let client = McpHttp::connect_with(http, base_url, era).await?;
        let branch = fold::open(&client, &format!("crowd-{number}")).await?;
        anyhow::Ok((client, branch))
    }
    .await;
    // Those that failed wait too, or the others would wait for them for ever.
    all_open.wait().await;
    let (client, branch) = opened?;
    fold::fold(&client, &branch).await
}
