//! Reads the stream of events.

use anyhow::{Context, Result, bail};
use reqwest::Method;
use serde_json::Value;
use tokio::time::timeout;

use super::{Api, PATIENCE};

impl Api {
    /// Reads a session's events from its first until `enough` says so.
    pub async fn events_until(&self, session: &str, enough: impl Fn(&[Value]) -> bool) -> Result<Vec<Value>> {
        self.stream_until(&format!("/api/v1/events?after=0&session_id={session}"), enough).await
    }

    /// Reads a stream of events until `enough` says so.
    pub async fn stream_until(&self, path: &str, enough: impl Fn(&[Value]) -> bool) -> Result<Vec<Value>> {
        let mut response = self.request(Method::GET, path).send().await?;
        if !response.status().is_success() {
            bail!("{path} got {}: {}", response.status(), response.text().await?);
        }
        let mut rest = Vec::new();
        let mut events = Vec::new();
        while !enough(&events) {
            let chunk = timeout(PATIENCE, response.chunk()).await;
            let chunk = chunk.with_context(|| format!("after {events:#?} nothing more came"))??;
            rest.extend(chunk.context("the stream ended")?);
            while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = rest.drain(..=end).collect();
                if let Some(data) = line.strip_prefix(b"data: ") {
                    events.push(serde_json::from_slice(data)?);
                }
            }
        }
        Ok(events)
    }
}

/// The data of all events of one type.
pub fn of_type<'a>(events: &'a [Value], name: &str) -> Vec<&'a Value> {
    events.iter().map(|record| &record["event"]).filter(|event| event["type"] == name).collect()
}
