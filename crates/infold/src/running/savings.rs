//! What a run has saved, in a few lines, from what this process has counted.

use infold_core::grouped;
use prometheus::Registry;
use serde_json::{Value, json};

use super::Agent;

/// What was counted.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub struct Savings {
    requests: u64,
    /// Of these, those that got no whole answer.
    unanswered: u64,
    edited_tokens: u64,
    branches: u64,
    folded_tokens: u64,
    returned_tokens: u64,
    fresh_tokens: u64,
    cache_read_tokens: u64,
    offloaded: u64,
    secrets: u64,
    failures: u64,
    /// Calls of infold's tools of which nobody knows where they belong.
    unplaced: u64,
}

/// Ends of requests that gave the agent no answer.
const UNANSWERED: [&str; 3] = ["refused", "failed", "cut off"];

impl Savings {
    /// What this process has counted.
    pub fn counted(registry: &Registry) -> Self {
        let counts = Counts(registry.gather());
        let input = counts.sum("infold_request_tokens_total", Some(("kind", "input")));
        Self {
            requests: counts.sum("infold_requests_total", None),
            unanswered: UNANSWERED.iter().map(|end| counts.sum("infold_requests_total", Some(("end", *end)))).sum(),
            edited_tokens: counts.sum("infold_request_saved_tokens_total", None),
            branches: counts.sum("infold_branches_ended_total", None),
            folded_tokens: counts.sum("infold_branch_tokens", None),
            returned_tokens: counts.sum("infold_branch_returned_tokens", None),
            fresh_tokens: input,
            cache_read_tokens: counts.sum("infold_request_tokens_total", Some(("kind", "cache_read"))),
            offloaded: counts.sum("infold_results_offloaded_total", None),
            failures: counts.sum("infold_proxy_planning_failures_total", None),
            secrets: counts.sum("infold_scrub_secrets_total", None),
            unplaced: counts.sum("infold_tool_unplaced_total", None),
        }
    }

    /// The same for programs.
    pub fn as_json(&self) -> Value {
        json!({
            "requests": self.requests,
            "unanswered": self.unanswered,
            "reported_tokens": self.reported_tokens(),
            "cache_read_tokens": self.cache_read_tokens,
            "not_sent_tokens": self.edited_tokens,
            "branches": self.branches,
            "folded_tokens": self.folded_tokens,
            "returned_tokens": self.returned_tokens,
            "results_offloaded": self.offloaded,
            "secrets": self.secrets,
            "planning_failures": self.failures,
            "unplaced_calls": self.unplaced,
        })
    }

    /// Tokens of all prompts, as providers reported them.
    fn reported_tokens(&self) -> u64 {
        self.fresh_tokens + self.cache_read_tokens
    }

    /// What was saved, for people.
    pub fn lines(&self, agent: Agent) -> Vec<String> {
        if self.requests == 0 {
            return vec!["no request came through infold".to_owned()];
        }
        let mut lines = Vec::new();
        if self.unanswered > 0 {
            let asked = counted(self.requests, "request", "requests");
            lines.push(format!("{} of {asked} got no answer: `infold top --once` says why", grouped(self.unanswered)));
        }
        if self.unanswered == self.requests {
            return lines;
        }
        if self.branches > 0 {
            let folded = counted(self.branches, "branch", "branches");
            let (work, result) = (grouped(self.folded_tokens), grouped(self.returned_tokens));
            lines.push(format!("{folded} folded: {work} tokens of work became {result}"));
        }
        lines.push(format!(
            "{}: {} input tokens ({} cached); infold removed {}",
            counted(self.requests, "request", "requests"),
            grouped(self.reported_tokens()),
            share(self.cache_read_tokens, self.reported_tokens()),
            grouped(self.edited_tokens),
        ));
        let aside = [
            (
                self.offloaded,
                counted(self.offloaded, "long tool result", "long tool results") + " replaced by references",
            ),
            (self.secrets, counted(self.secrets, "secret", "secrets") + " taken out"),
            (self.failures, counted(self.failures, "request", "requests") + " passed on unplanned after a failure"),
        ];
        let aside: Vec<String> = aside.into_iter().filter(|(count, _)| *count > 0).map(|(_, text)| text).collect();
        if !aside.is_empty() {
            lines.push(aside.join(", "));
        }
        if self.unplaced > 0 {
            let calls = counted(self.unplaced, "call", "calls");
            lines.push(format!("{calls} of infold's tools folded nothing: infold did not see the model make them"));
        }
        if self.branches > 0 {
            // Its reasoning is bound to what infold has sent.
            lines.push(format!("resume: `infold run {}`", agent.resuming()));
        }
        lines
    }
}

fn counted(count: u64, one: &str, several: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { several })
}

fn share(part: u64, whole: u64) -> String {
    let percent = (part * 100 + whole / 2).checked_div(whole).unwrap_or(0);
    format!("{percent} %")
}

/// Everything that this process has counted.
struct Counts(Vec<prometheus::proto::MetricFamily>);

impl Counts {
    /// The sum of a counter, or of a histogram's values, over all labels or those with one.
    fn sum(&self, name: &str, label: Option<(&str, &str)>) -> u64 {
        let families = self.0.iter().filter(|family| family.name() == name);
        let metrics = families.flat_map(|family| family.get_metric());
        let wanted = metrics.filter(|metric| {
            let has =
                |(name, value)| metric.get_label().iter().any(|pair| pair.name() == name && pair.value() == value);
            label.is_none_or(has)
        });
        let sum: f64 =
            wanted.map(|metric| metric.get_counter().get_value() + metric.get_histogram().get_sample_sum()).sum();
        sum.round().max(0.0) as u64
    }
}

#[cfg(test)]
mod tests;
