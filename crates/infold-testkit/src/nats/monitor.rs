//! What servers say of themselves at their monitoring ports.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use tokio::time::{Instant, sleep};

/// How long a server may take to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);
/// How long servers may take until they are as waited for. An election takes up to 10 seconds.
const WAIT_MAX: Duration = Duration::from_secs(60);
/// How often servers are asked meanwhile.
const POLL: Duration = Duration::from_millis(20);

/// Asks servers how they are.
#[derive(Debug, Clone)]
pub struct Monitor {
    http: reqwest::Client,
}

impl Monitor {
    pub fn new() -> Result<Self> {
        let http = reqwest::Client::builder().no_proxy().timeout(ANSWER_TIMEOUT).build()?;
        Ok(Self { http })
    }

    /// Whether the server calls itself healthy: with JetStream in a cluster it has a leader, and has caught up.
    pub async fn is_healthy(&self, port: u16) -> bool {
        let answer = self.http.get(format!("http://127.0.0.1:{port}/healthz")).send().await;
        answer.is_ok_and(|answer| answer.status().is_success())
    }

    /// How many connections the server has with others.
    pub async fn routes(&self, port: u16) -> u64 {
        let answer = self.answer(port, "routez").await;
        answer.and_then(|answer| answer["num_routes"].as_u64()).unwrap_or_default()
    }

    /// Who leads a stream, by its name in the servers' files, as far as this server knows.
    pub async fn leader_of(&self, port: u16, stream: &str) -> Option<String> {
        let answer = self.answer(port, "jsz?accounts=true&streams=true").await?;
        let accounts = answer["account_details"].as_array()?.iter();
        let mut streams = accounts.filter_map(|account| account["stream_detail"].as_array()).flatten();
        let found = streams.find(|found| found["name"] == stream)?;
        found["cluster"]["leader"].as_str().map(str::to_owned)
    }

    async fn answer(&self, port: u16, about: &str) -> Option<Value> {
        let asked = self.http.get(format!("http://127.0.0.1:{port}/{about}")).send().await;
        asked.ok()?.json().await.ok()
    }
}

/// Asks again and again until there is an answer; `what` names it for the failure.
pub async fn until_some<T>(what: &str, mut ask: impl AsyncFnMut() -> Result<Option<T>>) -> Result<T> {
    let deadline = Instant::now() + WAIT_MAX;
    loop {
        match ask().await.with_context(|| format!("while waiting for {what}"))? {
            Some(answer) => return Ok(answer),
            None if Instant::now() > deadline => bail!("{what} did not come within {WAIT_MAX:?}"),
            None => sleep(POLL).await,
        }
    }
}
