//! What is known of servers, and what their calls add up to. Calls are counted in memory and written together, about once
//! a second, so that no call waits for the disk.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;
use std::time::Duration;

use infold_core::gateway::{LatencyCounts, ServerKey, ServerState};
use infold_core::{Owner, Principal, Scrubbed};
use infold_store::{StoredServer, StoredTool, ToolFigures};

use super::locked;
use crate::process;
use crate::{Engine, Error};

/// How many tools' figures may wait; calls of others are not counted until those are written.
const WAITING_MAX: usize = 10_000;

/// What somebody should know about a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerNote {
    /// A word for how it is.
    pub state: &'static str,
    /// Why it is so, if there is more to say.
    pub detail: Option<String>,
    /// How it was spoken to; `None` leaves what was noted before.
    pub era: Option<&'static str>,
}

/// A call of another server's tool that is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerCall {
    /// The tool's server.
    pub server: ServerKey,
    /// What its server calls it.
    pub tool: String,
    /// How long the server took.
    pub latency: Duration,
    /// Whether it failed.
    pub is_error: bool,
    /// Tokens of the arguments.
    pub tokens_in: u64,
    /// Tokens of what was shown of the result.
    pub tokens_out: u64,
    /// Bytes of the result as it came.
    pub bytes: u64,
    /// Whether the result was offloaded.
    pub offloaded: bool,
}

/// A server with what its calls by one owner add up to.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerFigures {
    /// Its name.
    pub server: ServerKey,
    /// A word for how it was when it was last noted; `None` if nobody has used it yet.
    pub state: Option<String>,
    /// Why it was so.
    pub detail: Option<String>,
    /// How it was spoken to last.
    pub era: Option<String>,
    /// How many of its tools may be used.
    pub tools: u64,
    /// How many of its tools wait for approval.
    pub withheld: u64,
    /// Tokens that its usable tools would take in a request.
    pub definition_tokens: u64,
    /// How many calls there were.
    pub calls: u64,
    /// How many of them failed.
    pub errors: u64,
    /// Tokens of the arguments.
    pub tokens_in: u64,
    /// Tokens of what was shown of the results.
    pub tokens_out: u64,
    /// Bytes of the results as they came.
    pub bytes: u64,
    /// How many results were offloaded.
    pub offloaded: u64,
    /// How long half of the calls took at most, in milliseconds.
    pub p50_ms: Option<f64>,
    /// How long 95 % of the calls took at most, in milliseconds.
    pub p95_ms: Option<f64>,
    /// When the last call was made, in milliseconds since 1970.
    pub last_at_ms: Option<u64>,
}

impl ServerFigures {
    /// The figures of a server that nothing is known of.
    pub fn none(server: &ServerKey) -> Self {
        Self {
            server: server.clone(),
            state: None,
            detail: None,
            era: None,
            tools: 0,
            withheld: 0,
            definition_tokens: 0,
            calls: 0,
            errors: 0,
            tokens_in: 0,
            tokens_out: 0,
            bytes: 0,
            offloaded: 0,
            p50_ms: None,
            p95_ms: None,
            last_at_ms: None,
        }
    }
}

/// Figures that are not written yet.
#[derive(Default)]
pub(super) struct WaitingFigures {
    waiting: Mutex<HashMap<(Owner, ServerKey, String), ToolFigures>>,
    /// Held while figures are written, so that a reader counts none twice and misses none.
    writing: tokio::sync::Mutex<()>,
}

impl WaitingFigures {
    /// Adds figures. Returns whether there was room for them.
    fn add(&self, new: ToolFigures) -> bool {
        let mut waiting = locked(&self.waiting);
        let key = (new.owner.clone(), new.server.clone(), new.tool.clone());
        let is_full = waiting.len() >= WAITING_MAX;
        match waiting.entry(key) {
            Entry::Occupied(mut sum) => sum.get_mut().add(&new),
            Entry::Vacant(_) if is_full => return false,
            Entry::Vacant(place) => drop(place.insert(new)),
        }
        true
    }
}

impl Engine {
    /// Stores what somebody should know about a server.
    pub async fn note_server(&self, server: &ServerKey, note: ServerNote) -> Result<(), Error> {
        let detail = note.detail.map(|detail| infold_core::strip_hostile(&detail));
        let detail = match detail {
            Some(detail) => self.scrub_or_withhold(vec![detail]).await?.into_iter().next(),
            None => None,
        };

        let (state, era) = (Scrubbed::fixed(note.state), note.era.map(Scrubbed::fixed));
        let process = process::own_name();
        let stored = StoredServer { key: server.clone(), state, detail, era, at_ms: self.now_ms(), process };
        Ok(self.inner.store.note_gateway_server(stored).await?)
    }

    /// Counts a call that is over. It never waits for the disk.
    pub fn count_server_call(&self, who: &Principal, call: ServerCall) {
        self.inner.metrics.gateway.called(&call);
        if locked(&self.inner.gateway.called).insert(call.server.clone()) {
            self.inner.metrics.gateway.first_called();
        }
        let mut latencies = LatencyCounts::default();
        latencies.note(u64::try_from(call.latency.as_micros()).unwrap_or(u64::MAX));
        let new = ToolFigures {
            owner: who.owner.clone(),
            server: call.server,
            tool: call.tool,
            calls: 1,
            errors: u64::from(call.is_error),
            tokens_in: call.tokens_in,
            tokens_out: call.tokens_out,
            bytes: call.bytes,
            offloaded: u64::from(call.offloaded),
            latencies,
            last_at_ms: self.now_ms(),
        };
        if !self.inner.gateway.figures.add(new) {
            self.inner.metrics.gateway.uncounted(1);
        }
        self.inner.gateway.came.notify_one();
    }

    /// Writes the figures that wait. If they cannot be written, they go on waiting.
    pub(super) async fn flush_server_calls(&self) {
        let figures = &self.inner.gateway.figures;
        let _turn = figures.writing.lock().await;
        let taken: Vec<ToolFigures> = locked(&figures.waiting).drain().map(|(_, sum)| sum).collect();
        if taken.is_empty() {
            return;
        }
        if let Err(error) = self.inner.store.add_gateway_calls(taken.clone()).await {
            tracing::warn!(%error, tools = taken.len(), "figures of servers could not be written and go on waiting");
            let lost: u64 = taken.into_iter().filter(|sum| !figures.add(sum.clone())).map(|sum| sum.calls).sum();
            self.inner.metrics.gateway.uncounted(lost);
        }
    }

    /// Lists all servers that are known, in order of names, each with what the caller's calls add up to.
    pub async fn server_figures(&self, who: &Principal) -> Result<Vec<ServerFigures>, Error> {
        let store = &self.inner.store;
        let (noted, tools) = (store.gateway_servers().await?, store.gateway_tools(None).await?);
        let writing = self.inner.gateway.figures.writing.lock().await;
        let mut calls = store.gateway_calls(who.owner.clone()).await?;
        let waiting = locked(&self.inner.gateway.figures.waiting);
        calls.extend(waiting.values().filter(|sum| sum.owner == who.owner).cloned());
        drop((waiting, writing));

        let mut sums = BTreeMap::new();
        noted.into_iter().for_each(|server| sum_of(&mut sums, &server.key).note(server));
        let newest = newest_targets(&tools);
        for tool in &tools {
            let counted = newest.get(&tool.server).map(|(_, target)| target.as_str());
            sum_of(&mut sums, &tool.server).add_tool(tool, counted);
        }
        calls.iter().for_each(|call| sum_of(&mut sums, &call.server).add_calls(call));
        Ok(sums.into_values().map(ServerSum::figures).collect())
    }
}

/// How a server is, as far as its note can be believed: one that a process had running does not run any more when that
/// process is gone.
fn state_now(noted: &StoredServer) -> &str {
    let state = noted.state.as_str();
    let ran = [ServerState::Ready, ServerState::Starting].iter().any(|running| running.word() == state);
    let is_gone = noted.process.as_deref().is_some_and(|name| !process::lives(name));
    if ran && is_gone { ServerState::Idle.word() } else { state }
}

/// Of servers with the same name, the target whose tools were pinned last, and when that was.
fn newest_targets(tools: &[StoredTool]) -> BTreeMap<ServerKey, (u64, String)> {
    let mut newest: BTreeMap<ServerKey, (u64, String)> = BTreeMap::new();
    for tool in tools {
        let pinned = (tool.pin.as_ref().map_or(0, |pin| pin.at_ms), tool.target.clone());
        let known = newest.entry(tool.server.clone()).or_insert_with(|| pinned.clone());
        if pinned.0 > known.0 {
            *known = pinned;
        }
    }
    newest
}

fn sum_of<'s>(sums: &'s mut BTreeMap<ServerKey, ServerSum>, server: &ServerKey) -> &'s mut ServerSum {
    sums.entry(server.clone()).or_insert_with(|| ServerSum::new(server))
}

/// A server's figures in the making.
struct ServerSum {
    figures: ServerFigures,
    latencies: LatencyCounts,
}

impl ServerSum {
    fn new(server: &ServerKey) -> Self {
        Self { figures: ServerFigures::none(server), latencies: LatencyCounts::default() }
    }

    fn note(&mut self, noted: StoredServer) {
        self.figures.state = Some(state_now(&noted).to_owned());
        self.figures.detail = noted.detail.map(Scrubbed::into_string);
        self.figures.era = noted.era.map(Scrubbed::into_string);
    }

    /// Adds a tool, which counts if it is of the target `counted`.
    fn add_tool(&mut self, tool: &StoredTool, counted: Option<&str>) {
        match (&tool.pin, &tool.waiting, tool.gone_at_ms) {
            (_, Some(_), _) => self.figures.withheld += 1,
            (Some(pin), None, None) if counted == Some(tool.target.as_str()) => {
                self.figures.tools += 1;
                self.figures.definition_tokens += pin.tokens;
            }
            (_, None, _) => {}
        }
    }

    fn add_calls(&mut self, calls: &ToolFigures) {
        let figures = &mut self.figures;
        figures.calls += calls.calls;
        figures.errors += calls.errors;
        figures.tokens_in += calls.tokens_in;
        figures.tokens_out += calls.tokens_out;
        figures.bytes += calls.bytes;
        figures.offloaded += calls.offloaded;
        figures.last_at_ms = figures.last_at_ms.max(Some(calls.last_at_ms));
        self.latencies.add(&calls.latencies);
    }

    fn figures(self) -> ServerFigures {
        let percentile = |percent: u64| Some(self.latencies.percentile_micros(percent)? as f64 / 1_000.0);
        ServerFigures { p50_ms: percentile(50), p95_ms: percentile(95), ..self.figures }
    }
}
