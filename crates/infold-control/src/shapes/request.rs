//! JSON of requests that went to models, one by one and added up.

use infold_core::record::{self, RequestRecord, RequestTotals, TokenBreakdown};
use infold_engine::RequestRow;
use schemars::JsonSchema;
use serde::Serialize;

use super::branch_of;
use crate::moment::Moment;

/// Costs are stored in millionths of a dollar.
const MICROS_PER_DOLLAR: f64 = 1_000_000.0;

/// Some of the caller's requests, oldest first.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RequestList {
    /// The requests on this page.
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
    /// How many requests there were.
    requests: u64,
    /// How many of them infold edited.
    edited: u64,
    /// How many of them did not get a whole answer.
    broken: u64,
    /// Tokens of the prompts as the client sent them, by infold's count.
    wanted_tokens: u64,
    /// Tokens of the prompts as the provider got them, by infold's count.
    sent_tokens: u64,
    /// Tokens that infold removed: the difference. Below zero if it added more than that.
    saved_tokens: i64,
    /// The tokens that providers reported.
    usage: UsageShape,
    /// How many requests have no report, or only a partial one.
    unreported: u64,
    /// The tokens of those requests by infold's own count: an estimate.
    estimated_usage: UsageShape,
    /// How many requests missed the provider's cache.
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

/// The difference between the two costs, in dollars.
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
    /// Tokens of the prompt that were neither read from a cache nor written to one.
    fresh_tokens: u64,
    /// Tokens of the prompt that were read from the cache.
    cache_read_tokens: u64,
    /// Tokens of the prompt that were written to the cache.
    cache_write_tokens: u64,
    /// Tokens of the model's answer.
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

/// How many tokens belong to one server or tool.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Share")]
struct TokenShare {
    /// The name of a server or a tool.
    name: String,
    /// How many tokens belong to it.
    tokens: u64,
}

/// What a prompt consists of, in tokens by infold's count.
#[derive(Debug, Serialize, JsonSchema)]
struct Composition {
    /// The whole prompt.
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
    /// Whatever is none of the above.
    other: u64,
}

impl From<&TokenBreakdown> for Composition {
    fn from(breakdown: &TokenBreakdown) -> Self {
        let shares = |shares: &[record::NamedTokens]| {
            let share =
                |share: &record::NamedTokens| TokenShare { name: share.name.as_str().to_owned(), tokens: share.tokens };
            shares.iter().map(share).collect()
        };
        Self {
            total: breakdown.total_tokens(),
            system: breakdown.system_tokens,
            tools: shares(&breakdown.tools),
            user: breakdown.user_tokens,
            assistant: breakdown.assistant_tokens,
            calls: breakdown.call_tokens,
            results: shares(&breakdown.results),
            reasoning: breakdown.reasoning_tokens,
            other: breakdown.other_tokens,
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
    /// How many tokens were not read from the cache although they could have been.
    tokens: u64,
    /// Why the cache missed, in words.
    cause: String,
}

/// Something unusual about a request that a person should know.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RequestWarning")]
struct RequestWarningShape {
    /// The kind of warning, as a word that programs can match on.
    kind: String,
    /// The warning as a sentence.
    message: String,
}

/// A request that went to a model.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RequestDetail {
    /// The request's number. A later request has a higher one.
    request_id: u64,
    /// The id of the session that it belongs to.
    session_id: String,
    /// The client's agent that it belongs to; null for the main one.
    agent_id: Option<String>,
    /// The branch whose view was sent; null is the main thread.
    branch_id: Option<String>,
    /// When infold received the request.
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
    /// Microseconds that infold took before it sent the request on.
    added_us: u64,
    /// Milliseconds from the request's arrival to the first byte of the answer; null if none came.
    first_byte_ms: Option<u64>,
    /// Milliseconds from the request's arrival to the end of the answer.
    total_ms: u64,
    /// The HTTP status of the answer; null if the provider could not be reached.
    status: Option<u16>,
    /// How the answer ended: `completed`, `cut`, `aborted`, `refused` or `failed`.
    end: String,
    /// Things about the request that a person should know.
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

/// The name under which serde writes an enum variant without fields.
fn word(value: &impl Serialize) -> String {
    let value = serde_json::to_value(value).ok();
    value.and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}
