//! The engine's metrics: branches, budgets, scrubbing. Ids are not labels, because their number has no bound.

mod shared;

use infold_core::{Decision, Event, ScrubError, Scrubbed};
use opentelemetry::metrics::{Counter, Histogram};
use opentelemetry::{KeyValue, global};

use crate::gateway::GatewayMetrics;
use crate::record::RequestMetrics;
use crate::{Error, Opened};

/// Bounds of the buckets for tokens: from a brief to a full window.
const TOKEN_BOUNDS: [f64; 12] =
    [64.0, 256.0, 1024.0, 2048.0, 4096.0, 8192.0, 16384.0, 32768.0, 65536.0, 131_072.0, 262_144.0, 1_048_576.0];
const SECOND_BOUNDS: [f64; 10] = [0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 120.0, 300.0, 600.0, 3600.0];

pub(crate) struct EngineMetrics {
    opened: Counter<u64>,
    refused: Counter<u64>,
    ended: Counter<u64>,
    branch_tokens: Histogram<u64>,
    branch_seconds: Histogram<f64>,
    returned_tokens: Histogram<u64>,
    budget_warnings: Counter<u64>,
    budget_exhausted: Counter<u64>,
    tool_calls: Counter<u64>,
    tool_tokens: Counter<u64>,
    scrubbed_texts: Counter<u64>,
    secrets: Counter<u64>,
    scrub_failures: Counter<u64>,
    offloaded: Counter<u64>,
    unplanned: Counter<u64>,
    forks: Counter<u64>,
    rollbacks: Counter<u64>,
    sessions_ended: Counter<u64>,
    memories_made: Counter<u64>,
    memories_given: Counter<u64>,
    branches_given: Counter<u64>,
    model_asked: Counter<u64>,
    model_tokens: Counter<u64>,
    pub(crate) requests: RequestMetrics,
    pub(crate) gateway: GatewayMetrics,
    pub(crate) cluster: shared::ClusterMetrics,
}

impl EngineMetrics {
    pub(crate) fn new() -> Self {
        let meter = global::meter("infold");
        let counter = |name: &'static str, what: &'static str| meter.u64_counter(name).with_description(what).build();
        let tokens = |name: &'static str, what: &'static str| {
            meter.u64_histogram(name).with_description(what).with_boundaries(TOKEN_BOUNDS.to_vec()).build()
        };
        Self {
            opened: counter("infold.branches.opened", "Branches opened."),
            refused: counter("infold.branches.refused", "Openings refused, by reason."),
            ended: counter("infold.branches.ended", "Branches ended, by status and reason."),
            branch_tokens: tokens("infold.branch.tokens", "Tokens used by a branch when it ended."),
            branch_seconds: meter
                .f64_histogram("infold.branch.duration")
                .with_unit("s")
                .with_description("Time from a branch's opening to its end.")
                .with_boundaries(SECOND_BOUNDS.to_vec())
                .build(),
            returned_tokens: tokens("infold.branch.returned_tokens", "Tokens a branch gave its parent."),
            budget_warnings: counter("infold.budget.warnings", "Branches that reached 80 % of their budget."),
            budget_exhausted: counter("infold.budget.exhausted", "Branches folded because their budget was used up."),
            tool_calls: counter("infold.operations", "Calls counted in a thread."),
            tool_tokens: counter("infold.operation_tokens", "Tokens of calls counted in a thread."),
            scrubbed_texts: counter("infold.scrub.texts", "Texts scrubbed."),
            secrets: counter("infold.scrub.secrets", "Secrets taken out."),
            scrub_failures: counter("infold.scrub.failures", "Scrubbing that failed, and let nothing through."),
            offloaded: counter("infold.results.offloaded", "Results that were kept out of a context when first seen."),
            unplanned: counter("infold.proxy.planning_failures", "Requests that could not be planned, by kind."),
            forks: counter("infold.sessions.forked", "Sessions that began as a fork."),
            rollbacks: counter("infold.sessions.rolled_back", "Rollbacks."),
            sessions_ended: counter("infold.sessions.ended", "Sessions ended."),
            memories_made: counter("infold.memories.made", "Memories made from ended branches."),
            memories_given: counter("infold.memories.given", "Memories given to branches that opened."),
            branches_given: counter("infold.branches.given_memories", "Branches that were given memories."),
            model_asked: counter(
                "infold.memories.model_requests",
                "Requests to the model that writes lessons, by outcome.",
            ),
            model_tokens: counter("infold.memories.model_tokens", "Tokens that the model that writes lessons took."),
            requests: RequestMetrics::new(),
            gateway: GatewayMetrics::new(),
            cluster: shared::ClusterMetrics::new(),
        }
    }

    pub(crate) fn memories_made(&self, count: u64) {
        self.memories_made.add(count, &[]);
    }

    pub(crate) fn model_asked(&self, outcome: &'static str, tokens: u64) {
        self.model_asked.add(1, &[KeyValue::new("outcome", outcome)]);
        self.model_tokens.add(tokens, &[]);
    }

    pub(crate) fn results_offloaded(&self, count: usize) {
        self.offloaded.add(count as u64, &[]);
    }

    pub(crate) fn unplanned(&self, kind: &'static str) {
        self.unplanned.add(1, &[KeyValue::new("kind", kind)]);
    }

    pub(crate) fn opening(&self, opened: &Result<Opened, Error>) {
        match opened {
            Ok(_) => self.opened.add(1, &[]),
            Err(error) => self.refused.add(1, &[KeyValue::new("reason", error.code())]),
        }
    }

    pub(crate) fn scrubbed(&self, outcome: &Result<impl AsRef<[Scrubbed]>, ScrubError>) {
        match outcome {
            Ok(texts) => {
                let texts = texts.as_ref();
                self.scrubbed_texts.add(texts.len() as u64, &[]);
                self.secrets.add(texts.iter().map(|text| u64::from(text.secrets())).sum(), &[]);
            }
            Err(_) => self.scrub_failures.add(1, &[]),
        }
    }

    pub(crate) fn recorded(&self, decision: &Decision) {
        for event in &decision.events {
            match event {
                Event::OperationSeen { operation, .. } => {
                    self.tool_calls.add(1, &[]);
                    self.tool_tokens.add(operation.tokens, &[]);
                }
                Event::BudgetWarning { .. } => self.budget_warnings.add(1, &[]),
                Event::BudgetExhausted { .. } => self.budget_exhausted.add(1, &[]),
                Event::BranchEnded { branch, reason, result_tokens, .. } => {
                    let labels =
                        [KeyValue::new("status", reason.status().as_str()), KeyValue::new("reason", reason.as_str())];
                    self.ended.add(1, &labels);
                    self.returned_tokens.record(*result_tokens, &labels[..1]);
                    if let Some(branch) = decision.after.branches.get(branch) {
                        self.branch_tokens.record(branch.used_tokens, &labels[..1]);
                        let ended_at_ms = branch.end.as_ref().map_or(branch.opened_at_ms, |end| end.at_ms);
                        let took_ms = ended_at_ms.saturating_sub(branch.opened_at_ms);
                        self.branch_seconds.record(took_ms as f64 / 1000.0, &labels[..1]);
                    }
                }
                Event::BranchOpened(opening) => {
                    let given = opening.injected.as_ref().map_or(0, |given| given.memories.len() as u64);
                    self.memories_given.add(given, &[]);
                    self.branches_given.add(u64::from(given > 0), &[]);
                }
                Event::SessionForked { .. } => self.forks.add(1, &[]),
                Event::RolledBack { .. } => self.rollbacks.add(1, &[]),
                Event::SessionEnded {} => self.sessions_ended.add(1, &[]),
                // What providers report is counted with the requests themselves.
                Event::Answered { .. }
                | Event::Said { .. }
                | Event::SessionStarted { .. }
                | Event::BranchActivated { .. }
                | Event::ResultAmended { .. }
                | Event::EndsReported { .. } => {}
            }
        }
    }
}
