//! What `infold top` shows: sessions, how full each is, how fast it goes and what it costs, and the latest
//! requests. Loading is here; drawing and the terminal are below.

mod frame;
mod live;

use std::collections::BTreeMap;

use infold_core::record::{RequestRecord, RequestTotals};
use infold_core::{ModelWindows, Principal, SessionId};
use infold_engine::{Engine, Error, RequestQuery, RequestRow, RequestSelection};
use infold_store::SessionRow;
use serde_json::{Value, json};

use crate::proxied::Fill;

pub use frame::{Size, once};
pub use live::run;

/// Sessions that are shown.
const SESSIONS_MAX: usize = 100;
/// Sessions that are looked at. One that is passed over would seem to be known by its requests alone.
pub const KNOWN_MAX: usize = 10_000;
/// Requests that are looked at.
const REQUESTS_MAX: usize = 500;
/// Rates are those of so long.
const RATE_MS: u64 = 5 * 60_000;
const MINUTE_MS: u64 = 60_000;

/// How fast something goes, by the minute.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Rates {
    /// Requests.
    pub requests: f64,
    /// Tokens of prompts.
    pub prompt_tokens: f64,
    /// Tokens of answers.
    pub output_tokens: f64,
}

/// Whether a session goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It does.
    Active,
    /// It has ended.
    Ended,
    /// Only its requests are known: its live state has lapsed, or no answer ever came.
    Recorded,
}

impl State {
    /// The state in a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Ended => "ended",
            Self::Recorded => "recorded",
        }
    }
}

/// A session at a glance.
#[derive(Debug, Clone)]
pub struct SessionLine {
    /// Its name.
    pub id: SessionId,
    /// Whether it goes on.
    pub state: State,
    /// Open branches.
    pub open: u64,
    /// Tokens in the context of its main thread.
    pub context_tokens: u64,
    /// Tokens that fit.
    pub window_tokens: u64,
    /// What its requests add up to.
    pub totals: RequestTotals,
    /// How fast it goes.
    pub rates: Rates,
    /// When something last happened.
    pub active_at_ms: u64,
}

/// Everything that is shown.
#[derive(Debug, Clone)]
pub struct TopView {
    /// When this was so.
    pub now_ms: u64,
    /// Sessions, the one that was used last first.
    pub sessions: Vec<SessionLine>,
    /// The latest requests, the newest first.
    pub requests: Vec<RequestRow>,
    /// What all requests add up to.
    pub totals: RequestTotals,
    /// How fast all of it goes.
    pub rates: Rates,
}

/// How many tokens fit.
#[derive(Clone, Copy)]
pub struct Room<'a> {
    /// In a session of which no request was seen.
    pub limit_tokens: u64,
    /// What says how much models take.
    pub windows: &'a ModelWindows,
}

/// Looks.
pub async fn load(engine: &Engine, room: Room<'_>, now_ms: u64) -> Result<TopView, Error> {
    let who = Principal::local();
    let query = RequestQuery { session: None, selection: RequestSelection::Newest, limit: REQUESTS_MAX };
    let mut requests = engine.requests(&who, query).await?;
    requests.reverse();
    let sums = engine.request_totals(&who, None).await?;
    let known = engine.sessions(&who, 0, KNOWN_MAX).await?;

    let mut totals = RequestTotals::default();
    sums.iter().for_each(|(_, of_session)| totals.merge(of_session));
    let sessions = lines(&known, &sums, &requests, room, now_ms);
    let rates = rates(requests.iter().map(|row| &row.record), now_ms);
    Ok(TopView { now_ms, sessions, requests, totals, rates })
}

fn lines(
    known: &[SessionRow],
    sums: &[(SessionId, RequestTotals)],
    requests: &[RequestRow],
    room: Room<'_>,
    now_ms: u64,
) -> Vec<SessionLine> {
    let mut lines: BTreeMap<&SessionId, SessionLine> = BTreeMap::new();
    for row in known {
        let session = &row.session;
        let line = SessionLine {
            id: session.id.clone(),
            state: if session.ended_at_ms.is_some() { State::Ended } else { State::Active },
            open: row.open,
            context_tokens: session.main_tokens,
            window_tokens: room.limit_tokens,
            totals: RequestTotals::default(),
            rates: Rates::default(),
            active_at_ms: session.active_at_ms,
        };
        lines.insert(&session.id, line);
    }
    for (id, totals) in sums {
        let line = lines.entry(id).or_insert_with(|| SessionLine {
            id: id.clone(),
            state: State::Recorded,
            open: 0,
            context_tokens: 0,
            window_tokens: room.limit_tokens,
            totals: RequestTotals::default(),
            rates: Rates::default(),
            active_at_ms: totals.last_at_ms,
        });
        line.totals = *totals;
        line.active_at_ms = line.active_at_ms.max(totals.last_at_ms);
        let of_session = || requests.iter().map(|row| &row.record).filter(|record| record.session == *id);
        line.rates = rates(of_session(), now_ms);
        if let Some(fill) = Fill::of(of_session(), room.windows) {
            (line.context_tokens, line.window_tokens) = (fill.tokens, fill.window_tokens);
        }
    }
    let mut lines: Vec<SessionLine> = lines.into_values().collect();
    lines.sort_by(|a, b| b.active_at_ms.cmp(&a.active_at_ms).then_with(|| a.id.cmp(&b.id)));
    lines.truncate(SESSIONS_MAX);
    lines
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
    /// Whether anything is going on in it, as far as that can be told.
    fn goes_on(&self) -> bool {
        match self.state {
            State::Active => true,
            State::Ended => false,
            State::Recorded => self.rates.requests > 0.0,
        }
    }
}

impl TopView {
    /// The same for programs. Sessions have the names that the JSON API gives their fields.
    pub fn as_json(&self) -> Value {
        let session = |line: &SessionLine| {
            json!({
                "session_id": line.id,
                "status": line.state.as_str(),
                "active_branches": line.open,
                "context_tokens": line.context_tokens,
                "window_tokens": line.window_tokens,
                "requests_per_minute": line.rates.requests,
                "request_totals": infold_control::request_totals_json(&line.totals),
            })
        };
        json!({
            "sessions": self.sessions.iter().map(session).collect::<Vec<Value>>(),
            "requests": self.requests.iter().map(infold_control::request_json).collect::<Vec<Value>>(),
            "request_totals": infold_control::request_totals_json(&self.totals),
        })
    }
}

#[cfg(test)]
mod tests;
