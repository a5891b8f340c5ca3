//! What `infold top` shows: sessions, how full each one is, its rates and its cost, other MCP servers, and the latest
//! requests. This file loads it; `frame` draws it, and `live` handles the terminal.

mod frame;
mod live;
mod servers;

use infold_control::ContextRoom;
use infold_core::Principal;
use infold_core::record::{RequestRecord, RequestTotals};
use infold_engine::{
    ConfiguredServer, Engine, Error, ListedSession, MemoryCounts, RequestQuery, RequestRow, RequestSelection,
    ServerOverview,
};
use serde_json::{Value, json};

use crate::recognised::short_ids;

pub use frame::{FrameSize, once};
pub use live::run;

/// Most sessions that are shown.
const SESSIONS_MAX: usize = 100;
/// How many of the latest requests are loaded.
const REQUESTS_MAX: usize = 500;
/// The time over which rates are averaged.
const RATE_MS: u64 = 5 * 60_000;
const MINUTE_MS: u64 = 60_000;

/// Averages per minute.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Rates {
    pub requests: f64,
    /// Tokens of prompts, as reported or estimated.
    pub prompt_tokens: f64,
    /// Tokens of answers, as reported or estimated.
    pub output_tokens: f64,
}

/// A session in the table.
#[derive(Debug, Clone)]
pub struct SessionLine {
    /// The session, with what is stored of it.
    pub known: ListedSession,
    /// As much of its id as has to be typed in a command.
    pub short_id: String,
    /// Tokens in its main thread: of its latest request, or else as the tools have counted them.
    pub context_tokens: u64,
    /// Tokens that its main thread may have.
    pub window_tokens: u64,
    pub rates: Rates,
}

/// Everything that a frame shows.
#[derive(Debug, Clone)]
pub struct TopView {
    /// When it was loaded.
    pub now_ms: u64,
    /// Sessions, the latest one first.
    pub sessions: Vec<SessionLine>,
    /// The latest requests, the newest first.
    pub requests: Vec<RequestRow>,
    /// Other MCP servers.
    pub servers: Vec<ServerOverview>,
    /// How many memories there are, and what they were used for in the last day.
    pub memories: MemoryCounts,
    /// The totals of all sessions, also of those that are not shown.
    pub totals: RequestTotals,
    /// The rates of all loaded requests together.
    pub rates: Rates,
}

/// What a frame is loaded from.
pub struct TopSource<'a> {
    /// The engine on the database.
    pub engine: &'a Engine,
    /// What the size of main threads is measured against.
    pub room: ContextRoom,
    /// The other MCP servers of the settings.
    pub configured: Vec<ConfiguredServer>,
}

/// Loads what a frame shows.
pub async fn load(source: &TopSource<'_>, now_ms: u64) -> Result<TopView, Error> {
    let engine = source.engine;
    let who = Principal::local();
    let query = RequestQuery { session: None, selection: RequestSelection::Newest, limit: REQUESTS_MAX };
    let mut requests = engine.requests(&who, query).await?;
    requests.reverse();
    let known = engine.listed_sessions(&who).await?;
    let servers = engine.servers(&who, &source.configured).await?;
    let memories = engine.memory_counts(&who).await?;
    Ok(TopView { servers, memories, ..TopView::new(known, requests, &source.room, now_ms) })
}

fn rates<'a>(records: impl Iterator<Item = &'a RequestRecord>, now_ms: u64) -> Rates {
    let lately = records.filter(|record| record.at_ms + RATE_MS >= now_ms);
    let (mut requests, mut prompt_tokens, mut output_tokens) = (0, 0, 0);
    for record in lately {
        requests += 1;
        let usage = record.used().unwrap_or_default();
        prompt_tokens += usage.prompt_tokens();
        output_tokens += usage.output_tokens;
    }
    let by_minute = |count: u64| count as f64 * MINUTE_MS as f64 / RATE_MS as f64;
    Rates {
        requests: by_minute(requests),
        prompt_tokens: by_minute(prompt_tokens),
        output_tokens: by_minute(output_tokens),
    }
}

impl SessionLine {
    fn new(known: ListedSession, short_id: String, requests: &[RequestRow], room: &ContextRoom, now_ms: u64) -> Self {
        let of_session = requests.iter().map(|row| &row.record).filter(|record| record.session == known.id);
        let (rates, main) = (rates(of_session, now_ms), known.main(&room.windows));
        let counted_tokens = known.live.as_ref().map_or(0, |row| row.session.main_tokens);
        Self {
            short_id,
            context_tokens: main.as_ref().map_or(counted_tokens, |main| main.tokens),
            window_tokens: main.as_ref().map_or(room.context_limit_tokens, |main| main.window_tokens),
            rates,
            known,
        }
    }

    /// How many of its branches are open.
    fn open(&self) -> u64 {
        self.known.live.as_ref().map_or(0, |row| row.open)
    }

    /// Whether the session has not ended. If only its requests are stored, it counts as active while they come.
    fn is_active(&self) -> bool {
        match &self.known.live {
            Some(row) => row.session.ended_at_ms.is_none(),
            None => self.rates.requests > 0.0,
        }
    }
}

impl TopView {
    fn new(known: Vec<ListedSession>, requests: Vec<RequestRow>, room: &ContextRoom, now_ms: u64) -> Self {
        let mut short = short_ids(&known);
        let mut totals = RequestTotals::default();
        known.iter().filter_map(|known| known.totals.as_ref()).for_each(|of_session| totals.merge(of_session));
        let line = |known: ListedSession| {
            let short_id = short.remove(&known.id).unwrap_or_default();
            SessionLine::new(known, short_id, &requests, room, now_ms)
        };
        let sessions = known.into_iter().take(SESSIONS_MAX).map(line).collect();
        let rates = rates(requests.iter().map(|row| &row.record), now_ms);
        let memories = MemoryCounts::default();
        Self { now_ms, sessions, requests, servers: Vec::new(), memories, totals, rates }
    }

    /// The sessions, requests, servers and totals in the shapes of the JSON API.
    pub fn as_json(&self, room: &ContextRoom) -> Value {
        let session = |line: &SessionLine| {
            let mut shown = infold_control::session_json(&line.known, room);
            shown["requests_per_minute"] = json!(line.rates.requests);
            shown
        };
        json!({
            "sessions": self.sessions.iter().map(session).collect::<Vec<Value>>(),
            "requests": self.requests.iter().map(infold_control::request_json).collect::<Vec<Value>>(),
            "servers": self.servers.iter().map(infold_control::server_json).collect::<Vec<Value>>(),
            "memories": {
                "live": self.memories.live,
                "waiting": self.memories.waiting,
                "given_in_a_day": self.memories.given,
                "used_in_a_day": self.memories.used,
            },
            "request_totals": infold_control::request_totals_json(&self.totals),
        })
    }
}

#[cfg(test)]
mod tests;
