//! Requests that real clients sent: what reaches the provider of each, and what the client gets back.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;

use super::compare::{Group, Pair};
use super::program::{Program, Running};
use crate::upstream::{RecordingUpstream, Retention};

/// Headers that belong to a connection, not to a request.
const OF_THE_CONNECTION: [&str; 5] = ["connection", "host", "content-length", "transfer-encoding", "expect"];

/// A request that a real client sent.
#[derive(Debug)]
struct Recorded {
    name: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

/// A daemon with a provider behind it.
#[derive(Debug)]
pub struct RequestStage {
    pub running: Running,
    pub upstream: RecordingUpstream,
    pub http: reqwest::Client,
}

impl RequestStage {
    pub async fn start(program: &Program, settings: &[(&str, &str)]) -> Result<Self> {
        let upstream = RecordingUpstream::start(Retention::Every).await?;
        let url = upstream.base_url();
        let mut all = vec![("proxy.anthropic.upstream", url.as_str()), ("proxy.openai.upstream", url.as_str())];
        all.extend(settings);
        let running = program.start(&all).await?;
        Ok(Self { running, upstream, http: reqwest::Client::builder().no_proxy().build()? })
    }

    /// Sends a request, and returns the client's answer and all that the provider got meanwhile.
    pub async fn send(&self, request: reqwest::RequestBuilder) -> Result<Vec<u8>> {
        let response = request.send().await.context("the daemon did not answer")?;
        let mut made = format!("answered with {}\n", response.status()).into_bytes();
        made.extend(response.bytes().await?);
        for request in self.upstream.take_every() {
            made.extend(b"\n\nthe provider got\n");
            made.extend(request);
        }
        Ok(made)
    }
}

/// Sends every recorded request through both programs.
pub async fn compare(programs: &Pair<Program>, data: &Path, group: &mut Group) -> Result<()> {
    let (before, after) =
        tokio::try_join!(RequestStage::start(&programs.before, &[]), RequestStage::start(&programs.after, &[]))?;
    let stages = Pair { before, after };
    let mut names = stages.as_ref().map(|stage| stage.running.names());
    for recorded in recordings(data)? {
        let send = |stage: &RequestStage| {
            let root = if recorded.path.starts_with("/v1/messages") { "/anthropic" } else { "/openai" };
            let url = format!("{}{root}{}", stage.running.daemon.base_url(), recorded.path);
            let request = stage.http.post(url).body(recorded.body.clone());
            recorded.headers.iter().fold(request, |request, (name, value)| request.header(name, value))
        };
        let (before, after) =
            tokio::try_join!(stages.before.send(send(&stages.before)), stages.after.send(send(&stages.after)))?;
        group.compare(&recorded.name, &mut names, Pair { before: &before, after: &after })?;
    }
    Ok(())
}

fn recordings(data: &Path) -> Result<Vec<Recorded>> {
    let clients = data.join("clients");
    let mut found = Vec::new();
    for file in files_below(&clients, "requests.jsonl") {
        let shown = file.strip_prefix(&clients).unwrap_or(&file).with_extension("");
        let text = fs::read_to_string(&file)?;
        for (number, line) in text.lines().enumerate() {
            let line: Value = serde_json::from_str(line).with_context(|| format!("{} is no JSON", file.display()))?;
            found.extend(recorded(format!("{}/{}", shown.display(), number + 1), &line));
        }
    }
    Ok(found)
}

fn recorded(name: String, line: &Value) -> Option<Recorded> {
    let body = match &line["body"] {
        Value::String(text) => text.clone(),
        Value::Object(_) => line["body"].to_string(),
        _ => return None,
    };
    let pairs: Vec<(&str, &Value)> = match &line["headers"] {
        Value::Array(pairs) => pairs.iter().filter_map(|pair| Some((pair[0].as_str()?, &pair[1]))).collect(),
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.as_str(), value)).collect(),
        _ => return None,
    };
    let headers = pairs
        .into_iter()
        .filter(|(name, _)| !OF_THE_CONNECTION.contains(&name.to_lowercase().as_str()))
        .filter_map(|(name, value)| Some((name.to_owned(), value.as_str()?.to_owned())));
    Some(Recorded {
        name,
        path: line["path"].as_str()?.to_owned(),
        headers: headers.collect(),
        body: body.into_bytes(),
    })
}

/// Files of this name below a folder, sorted.
pub fn files_below(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files_below(&path, ending));
        } else if path.to_string_lossy().ends_with(ending) {
            found.push(path);
        }
    }
    found.sort();
    found
}
