//! What a run has saved, in a few lines, taken from this process's metrics.

use infold_core::grouped;
use prometheus::Registry;
use serde_json::{Value, json};

use super::Agent;

/// The sums of this process's metrics.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub struct Savings {
    requests: u64,
    /// Those of the requests that got no complete answer.
    unanswered: u64,
    /// Tokens that infold removed from prompts; below zero if it added more than it removed.
    saved_tokens: i64,
    /// Dollars that this saved; `None` if no model has a price.
    saved_usd: Option<f64>,
    branches: u64,
    folded_tokens: u64,
    returned_tokens: u64,
    fresh_tokens: u64,
    cache_read_tokens: u64,
    offloaded: u64,
    secrets: u64,
    failures: u64,
    /// Calls of infold's tools that belong to no session of the proxy.
    unplaced: u64,
    /// Calls of other servers' tools, the servers that were called, and the results that were stored.
    server_calls: u64,
    servers: u64,
    stored: u64,
    /// Memories that branches were given, the branches that were given some, and memories that were made.
    memories_given: u64,
    branches_given: u64,
    memories_made: u64,
}

/// The smallest saving that is shown as a figure.
const CENT_USD: f64 = 0.01;
/// Ends of requests that gave the agent no answer.
const UNANSWERED: [&str; 3] = ["refused", "failed", "cut off"];

impl Savings {
    /// Sums up the metrics in the registry.
    pub fn counted(registry: &Registry) -> Self {
        let counts = Counts(registry.gather());
        let input = counts.sum("infold_request_tokens_total", Some(("kind", "input")));
        Self {
            requests: counts.sum("infold_requests_total", None),
            unanswered: UNANSWERED.iter().map(|end| counts.sum("infold_requests_total", Some(("end", *end)))).sum(),
            saved_tokens: counts.total("infold_request_saved_tokens", None).unwrap_or(0.0).round() as i64,
            saved_usd: counts.total("infold_request_saved_cost", None),
            branches: counts.sum("infold_branches_ended_total", None),
            folded_tokens: counts.sum("infold_branch_tokens", None),
            returned_tokens: counts.sum("infold_branch_returned_tokens", None),
            fresh_tokens: input,
            cache_read_tokens: counts.sum("infold_request_tokens_total", Some(("kind", "cache_read"))),
            offloaded: counts.sum("infold_results_offloaded_total", None),
            failures: counts.sum("infold_proxy_planning_failures_total", None),
            secrets: counts.sum("infold_scrub_secrets_total", None),
            unplaced: counts.sum("infold_tool_unplaced_total", None),
            server_calls: counts.sum("infold_gateway_calls_total", None),
            servers: counts.sum("infold_gateway_servers_total", None),
            stored: counts.sum("infold_gateway_stored_total", None),
            memories_given: counts.sum("infold_memories_given_total", None),
            branches_given: counts.sum("infold_branches_given_memories_total", None),
            memories_made: counts.sum("infold_memories_made_total", None),
        }
    }

    /// All sums, for programs.
    pub fn as_json(&self) -> Value {
        json!({
            "requests": self.requests,
            "unanswered": self.unanswered,
            "prompt_tokens": self.prompt_tokens(),
            "cache_read_tokens": self.cache_read_tokens,
            "saved_tokens": self.saved_tokens,
            "saved_usd": self.saved_usd,
            "branches": self.branches,
            "folded_tokens": self.folded_tokens,
            "returned_tokens": self.returned_tokens,
            "results_offloaded": self.offloaded,
            "secrets_scrubbed": self.secrets,
            "planning_failures": self.failures,
            "unplaced_calls": self.unplaced,
            "server_calls": self.server_calls,
            "servers_called": self.servers,
            "server_results_stored": self.stored,
            "memories_given": self.memories_given,
            "branches_given_memories": self.branches_given,
            "memories_made": self.memories_made,
        })
    }

    /// Tokens of all prompts, as providers reported them.
    fn prompt_tokens(&self) -> u64 {
        self.fresh_tokens + self.cache_read_tokens
    }

    /// A few lines for people: failures first, then what was saved, then how to resume the session.
    pub fn lines(&self, agent: Agent) -> Vec<String> {
        if self.requests == 0 {
            let nothing = "no requests went through infold".to_owned();
            return [nothing].into_iter().chain(self.of_servers()).collect();
        }
        let mut lines = Vec::new();
        if self.unanswered > 0 {
            let asked = counted(self.requests, "request", "requests");
            lines.push(format!(
                "{} of {asked} got no answer: run `infold top --once` to see why",
                grouped(self.unanswered)
            ));
        }
        if self.unanswered == self.requests {
            return lines;
        }
        if self.branches > 0 {
            let folded = counted(self.branches, "branch", "branches");
            let (work, result) = (grouped(self.folded_tokens), grouped(self.returned_tokens));
            lines.push(format!("{folded} folded: {work} tokens of work replaced by {result}"));
        }
        lines.push(format!(
            "{}: {} input tokens ({} cached); infold {}",
            counted(self.requests, "request", "requests"),
            grouped(self.prompt_tokens()),
            share(self.cache_read_tokens, self.prompt_tokens()),
            self.removed(),
        ));
        let aside = [
            (
                self.offloaded,
                counted(self.offloaded, "long tool result", "long tool results") + " replaced by references",
            ),
            (self.secrets, counted(self.secrets, "secret", "secrets") + " removed"),
            (
                self.failures,
                counted(self.failures, "request", "requests") + " forwarded unchanged after an internal error",
            ),
        ];
        let aside: Vec<String> = aside.into_iter().filter(|(count, _)| *count > 0).map(|(_, text)| text).collect();
        if !aside.is_empty() {
            lines.push(aside.join(", "));
        }
        lines.extend(self.of_servers());
        lines.extend(self.of_memories());
        if self.unplaced > 0 {
            let calls = counted(self.unplaced, "call", "calls");
            lines.push(format!("{calls} of infold's tools had no effect: they came from outside the proxied session"));
        }
        if self.branches > 0 {
            // The session's reasoning is bound to the prompts that infold sent, so it has to be resumed through infold.
            lines.push(format!("resume: `infold run {}`", agent.resuming()));
        }
        lines
    }

    /// What the gateway did, if it did something.
    fn of_servers(&self) -> Option<String> {
        let calls = counted(self.server_calls, "call", "calls");
        let servers = counted(self.servers, "server", "servers");
        let stored = counted(self.stored, "result", "results");
        (self.server_calls > 0).then(|| format!("{calls} of {servers}; {stored} stored"))
    }

    /// What branches were given of memories and what was learnt from them, if there was something.
    fn of_memories(&self) -> Option<String> {
        let given = counted(self.memories_given, "memory", "memories");
        let branches = counted(self.branches_given, "branch", "branches");
        let parts = [
            (self.memories_given, format!("{given} given to {branches}")),
            (self.memories_made, counted(self.memories_made, "lesson", "lessons") + " learnt"),
        ];
        let parts: Vec<String> = parts.into_iter().filter(|(count, _)| *count > 0).map(|(_, text)| text).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    /// How many tokens infold removed or added, and what that saved.
    fn removed(&self) -> String {
        let amount = grouped(self.saved_tokens.unsigned_abs());
        match (self.saved_tokens, self.saved_usd) {
            (..0, _) => format!("added {amount}"),
            (1.., Some(saved_usd)) if saved_usd >= CENT_USD => {
                format!("removed {amount}, saving about ${saved_usd:.2}")
            }
            (1.., Some(saved_usd)) if saved_usd > 0.0 => format!("removed {amount}, saving less than $0.01"),
            (0.., _) => format!("removed {amount}"),
        }
    }
}

fn counted(count: u64, one: &str, several: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { several })
}

fn share(part: u64, whole: u64) -> String {
    let percent = (part * 100 + whole / 2).checked_div(whole).unwrap_or(0);
    format!("{percent} %")
}

/// All metrics of this process.
struct Counts(Vec<prometheus::proto::MetricFamily>);

impl Counts {
    /// The sum of a counter or of a histogram's values, over all labels or only those with the given one.
    fn sum(&self, name: &str, label: Option<(&str, &str)>) -> u64 {
        self.total(name, label).unwrap_or(0.0).round().max(0.0) as u64
    }

    /// The same, also for gauges, and it may be below zero; `None` if the metric was never recorded.
    fn total(&self, name: &str, label: Option<(&str, &str)>) -> Option<f64> {
        let families = self.0.iter().filter(|family| family.name() == name);
        let metrics = families.flat_map(|family| family.get_metric());
        let wanted = metrics.filter(|metric| {
            let has =
                |(name, value)| metric.get_label().iter().any(|pair| pair.name() == name && pair.value() == value);
            label.is_none_or(has)
        });
        let value = |metric: &prometheus::proto::Metric| {
            metric.get_counter().get_value() + metric.get_gauge().get_value() + metric.get_histogram().get_sample_sum()
        };
        wanted.map(value).reduce(|sum, value| sum + value)
    }
}

#[cfg(test)]
mod tests;
