//! Requests that went to models, one by one and added up.

use infold_core::record::{self, RequestRecord, RequestTotals, TokenBreakdown};
use infold_engine::RequestRow;
use schemars::JsonSchema;
use serde::Serialize;

use super::branch_of;
use crate::moment::Moment;

/// Dollars are counted in millionths.
const MICROS_PER_DOLLAR: f64 = 1_000_000.0;

/// Some of the caller's requests, oldest first.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RequestList {
    /// The requests.
    pub(crate) requests: Vec<RequestDetail>,
    /// Most requests in this answer.
    pub(crate) limit: usize,
    /// What to send as `after` to get what follows; null if there is nothing yet.
    pub(crate) next_after: Option<u64>,
    /// What all requests add up to: the session's, or the caller's if none is named. Requests whose rows
    /// are gone are still in it.
    pub(crate) request_totals: RequestSums,
}

/// What many requests add up to.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RequestSums {
    /// How many there were.
    requests: u64,
    /// Those that were edited.
    edited: u64,
    /// Those whose answer did not come whole.
    broken: u64,
    /// Tokens of the prompts as the client sent them, by infold's count.
    wanted_tokens: u64,
    /// Tokens of the prompts as the provider got them, by infold's count.
    sent_tokens: u64,
    /// Tokens that infold removed: the difference. Below zero if it added more than that.
    saved_tokens: i64,
    /// What providers reported.
    usage: UsageShape,
    /// Those of which they reported nothing, or not all.
    unreported: u64,
    /// What infold counted of those itself: an estimate.
    estimated_usage: UsageShape,
    /// Those in which the cache missed.
    misses: u64,
    /// Tokens that the cache could have given and did not.
    missed_tokens: u64,
    /// What they cost, in dollars, as far as models have a price; null if none has.
    cost_usd: Option<f64>,
    /// What they would have cost without infold: an estimate.
    wanted_cost_usd: Option<f64>,
    /// What infold saved, in dollars: the difference, an estimate. Below zero if infold made them dearer.
    saved_usd: Option<f64>,
}

impl From<&RequestTotals> for RequestSums {
    fn from(totals: &RequestTotals) -> Self {
        Self {
            requests: totals.requests,
            edited: totals.edited,
            broken: totals.broken,
            wanted_tokens: totals.wanted_tokens,
            sent_tokens: totals.sent_tokens,
            saved_tokens: totals.saved_tokens(),
            usage: (&totals.usage).into(),
            unreported: totals.unreported,
            estimated_usage: (&totals.estimated).into(),
            misses: totals.misses,
            missed_tokens: totals.missed_tokens,
            cost_usd: (totals.priced > 0).then(|| dollars(totals.cost_micros)),
            wanted_cost_usd: (totals.priced > 0).then(|| dollars(totals.wanted_cost_micros)),
            saved_usd: (totals.priced > 0).then(|| saved(totals.cost_micros, totals.wanted_cost_micros)),
        }
    }
}

/// What was saved, in dollars.
fn saved(cost_micros: u64, wanted_cost_micros: u64) -> f64 {
    (wanted_cost_micros as f64 - cost_micros as f64) / MICROS_PER_DOLLAR
}

fn dollars(micros: u64) -> f64 {
    micros as f64 / MICROS_PER_DOLLAR
}

/// Tokens of a request, as its provider reported them or infold counted them.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Usage")]
struct UsageShape {
    /// Of the prompt, neither read from a cache nor written to one.
    fresh_tokens: u64,
    /// Of the prompt, read from the cache.
    cache_read_tokens: u64,
    /// Of the prompt, written to the cache.
    cache_write_tokens: u64,
    /// Of the answer.
    output_tokens: u64,
}

impl From<&record::Usage> for UsageShape {
    fn from(usage: &record::Usage) -> Self {
        Self {
            fresh_tokens: usage.fresh_tokens,
            cache_read_tokens: usage.cache_read_tokens,
            cache_write_tokens: usage.cache_write_tokens,
            output_tokens: usage.output_tokens,
        }
    }
}

/// What has this name takes so many tokens.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Share")]
struct TokenShare {
    /// The name of a server or a tool.
    name: String,
    /// Its tokens.
    tokens: u64,
}

/// What a request is made of, in tokens by our count.
#[derive(Debug, Serialize, JsonSchema)]
struct Composition {
    /// All of it.
    total: u64,
    /// The system prompt, and instructions among the messages.
    system: u64,
    /// Definitions of tools, by the server that they come from.
    tools: Vec<TokenShare>,
    /// Words on the user's side.
    user: u64,
    /// The model's words.
    assistant: u64,
    /// The model's calls.
    calls: u64,
    /// Results, by the tool that gave them.
    results: Vec<TokenShare>,
    /// The model's reasoning.
    reasoning: u64,
    /// Anything else.
    other: u64,
}

impl From<&TokenBreakdown> for Composition {
    fn from(makeup: &TokenBreakdown) -> Self {
        let shares = |shares: &[record::NamedTokens]| {
            let share =
                |share: &record::NamedTokens| TokenShare { name: share.name.as_str().to_owned(), tokens: share.tokens };
            shares.iter().map(share).collect()
        };
        Self {
            total: makeup.total_tokens(),
            system: makeup.system_tokens,
            tools: shares(&makeup.tools),
            user: makeup.user_tokens,
            assistant: makeup.assistant_tokens,
            calls: makeup.call_tokens,
            results: shares(&makeup.results),
            reasoning: makeup.reasoning_tokens,
            other: makeup.other_tokens,
        }
    }
}

/// One thing that was edited.
#[derive(Debug, Serialize, JsonSchema)]
struct Edited {
    /// Why: `folded`, `isolated`, `brief`, `waiting`, `scrubbed`, `offloaded`, `reasoning`, `note` or
    /// `rescued`.
    reason: String,
    /// Blocks that it took out, replaced or put in.
    blocks: usize,
}

/// What the cache could have given and did not.
#[derive(Debug, Serialize, JsonSchema)]
struct Missed {
    /// How many tokens.
    tokens: u64,
    /// Why, in words.
    cause: String,
}

/// What somebody should know about a request.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RequestWarning")]
struct RequestWarningShape {
    /// What kind of thing.
    kind: String,
    /// In words.
    message: String,
}

/// A request that went to a model.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RequestDetail {
    /// Its id. Ids only grow.
    request_id: u64,
    /// Its session.
    session_id: String,
    /// The client's agent that it belongs to; null for the main one.
    agent_id: Option<String>,
    /// The branch whose view was sent; null is the main thread.
    branch_id: Option<String>,
    /// When it came.
    at: Moment,
    /// Which of the providers' interfaces: `messages`, `responses` or `chat`.
    api: String,
    /// The model it asked for.
    model: String,
    /// What kind of request it was: `turn`, `side` or `compaction`.
    kind: String,
    /// The program that sent it; null if that is not known.
    client: Option<String>,
    /// The prompt as the client sent it.
    wanted: Composition,
    /// The prompt as the provider got it.
    sent: Composition,
    /// Tokens that infold removed, by its own count. Below zero if it added more than that.
    saved_tokens: i64,
    /// What was edited, and why.
    edits: Vec<Edited>,
    /// What the provider reported; null if it reported nothing.
    usage: Option<UsageShape>,
    /// What it did not report, by infold's own count: an estimate; null if it reported all.
    estimated_usage: Option<UsageShape>,
    /// What the cache could have given and did not; null if there was nothing of note.
    cache_miss: Option<Missed>,
    /// What it cost, in dollars; null if its model has no price or nothing was reported.
    cost_usd: Option<f64>,
    /// What it would have cost without infold: an estimate.
    wanted_cost_usd: Option<f64>,
    /// What infold saved, in dollars: the difference, an estimate. Below zero if infold made it dearer.
    saved_usd: Option<f64>,
    /// What infold added in front of sending it, in microseconds.
    added_us: u64,
    /// From its arrival to the first byte of the answer; null if none came.
    first_byte_ms: Option<u64>,
    /// From its arrival to the end of the answer.
    total_ms: u64,
    /// The HTTP status of the answer; null if the provider could not be reached.
    status: Option<u16>,
    /// How the answer ended: `completed`, `cut`, `aborted`, `refused` or `failed`.
    end: String,
    /// What somebody should know about it.
    warnings: Vec<RequestWarningShape>,
}

impl From<&RequestRow> for RequestDetail {
    fn from(row: &RequestRow) -> Self {
        let record = &row.record;
        let text = |text: &infold_core::Scrubbed| text.as_str().to_owned();
        Self {
            request_id: row.id,
            session_id: record.session.to_string(),
            agent_id: record.agent.as_ref().map(text),
            branch_id: branch_of(&record.thread),
            at: Moment(record.at_ms),
            api: text(&record.api),
            model: text(&record.model),
            kind: word(&record.kind),
            client: record.client.as_ref().map(text),
            wanted: (&record.wanted).into(),
            sent: (&record.sent).into(),
            saved_tokens: record.saved_tokens(),
            edits: edits(record),
            usage: record.usage.as_ref().map(UsageShape::from),
            estimated_usage: record.estimated.as_ref().map(UsageShape::from),
            cache_miss: record
                .miss
                .as_ref()
                .map(|miss| Missed { tokens: miss.missed_tokens, cause: miss.cause.to_string() }),
            cost_usd: record.cost_micros.map(dollars),
            wanted_cost_usd: record.wanted_cost_micros.map(dollars),
            saved_usd: record.cost_micros.zip(record.wanted_cost_micros).map(|(cost, wanted)| saved(cost, wanted)),
            added_us: record.timing.added_us,
            first_byte_ms: record.timing.first_byte_ms,
            total_ms: record.timing.total_ms,
            status: record.status,
            end: word(&record.end),
            warnings: warnings(record),
        }
    }
}

fn edits(record: &RequestRecord) -> Vec<Edited> {
    record.edits.iter().map(|edit| Edited { reason: word(&edit.reason), blocks: edit.blocks }).collect()
}

fn warnings(record: &RequestRecord) -> Vec<RequestWarningShape> {
    let warning = |warning: &record::RequestWarning| RequestWarningShape {
        kind: word(&warning.kind),
        message: warning.text.as_str().to_owned(),
    };
    record.warnings.iter().map(warning).collect()
}

/// The word that a value without fields is stored as.
fn word(value: &impl Serialize) -> String {
    let value = serde_json::to_value(value).ok();
    value.and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}
