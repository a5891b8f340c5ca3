//! Requests through a proxy, and what they cost it.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use super::talk::Talk;
use crate::bench::figures::Latencies;
use crate::bench::process::Process;

/// Something that takes requests: a proxy, or the provider itself.
#[derive(Debug, Clone)]
pub struct Target {
    /// Where a request to Anthropic's Messages goes.
    pub url: String,
    /// The process that is measured; `None` for the provider itself.
    pub process: Option<Process>,
}

/// An HTTP client with the target that it sends to.
#[derive(Debug)]
pub struct LoadWay {
    http: reqwest::Client,
    url: String,
}

impl LoadWay {
    pub fn new(target: &Target) -> Result<Self> {
        Ok(Self { http: reqwest::Client::builder().no_proxy().build()?, url: target.url.clone() })
    }

    /// Sends a request with the whole of a conversation, and returns how long the first byte of its answer took.
    pub async fn send(&self, talk: &Talk) -> Result<Duration> {
        self.send_body(&talk.session, talk.body()).await
    }

    /// Sends a request of a session, and returns how long the first byte of its answer took.
    pub async fn send_body(&self, session: &str, body: Vec<u8>) -> Result<Duration> {
        let started = Instant::now();
        let request = self
            .http
            .post(&self.url)
            .header("content-type", "application/json")
            .header("x-api-key", "sk-measured")
            .header("authorization", "Bearer sk-measured")
            .header("anthropic-version", "2023-06-01")
            .header("x-claude-code-session-id", session)
            .body(body);
        let mut response = request.send().await?;
        response.chunk().await?;
        let took = started.elapsed();
        let status = response.status();
        let rest = response.text().await?;
        if !status.is_success() {
            bail!("HTTP {status}: {rest}");
        }
        Ok(took)
    }
}

/// What a number of requests cost.
#[derive(Debug)]
pub struct Cost {
    /// Processor time of one request on average, in milliseconds; 0 for the provider itself.
    pub cpu_ms: f64,
    pub first_byte: Latencies,
}

/// A load: so many sessions of about this many bytes, each of which goes on for so many turns.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    pub name: &'static str,
    pub bytes: usize,
    pub sessions: usize,
    pub turns: usize,
}

/// Measures the requests after the first one of each session.
pub async fn going_on(target: &Target, size: Size) -> Result<Cost> {
    let way = LoadWay::new(target)?;
    let mut talks = Vec::new();
    for number in 0..size.sessions {
        talks.push(Talk::of_bytes(format!("going-on-{}-{number}", size.bytes), size.bytes));
        way.send(&talks[number]).await?;
    }
    measured(target, size.turns * size.sessions, async |durations| {
        for _ in 0..size.turns {
            for talk in &mut talks {
                talk.turn();
                durations.push(way.send(talk).await?);
            }
        }
        Ok(())
    })
    .await
}

/// Measures sessions of this size of which only the first request is sent, so that all of it is new.
pub async fn first_requests(target: &Target, session: &str, bytes: usize, sessions: usize) -> Result<Cost> {
    let way = LoadWay::new(target)?;
    measured(target, sessions, async |durations| {
        for number in 0..sessions {
            let talk = Talk::of_bytes(format!("{session}-{number}"), bytes);
            durations.push(way.send(&talk).await?);
        }
        Ok(())
    })
    .await
}

async fn measured(
    target: &Target,
    requests: usize,
    work: impl AsyncFnOnce(&mut Vec<Duration>) -> Result<()>,
) -> Result<Cost> {
    let used_ms = || target.process.map_or(Ok(0.0), Process::cpu_ms);
    let before_ms = used_ms()?;
    let mut durations = Vec::with_capacity(requests);
    work(&mut durations).await?;
    let cpu_ms = (used_ms()? - before_ms) / requests.max(1) as f64;
    Ok(Cost { cpu_ms, first_byte: Latencies::new(durations) })
}
