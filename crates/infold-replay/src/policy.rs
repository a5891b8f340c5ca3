//! The policies: what is sent of the items before a request, and how a policy goes through a session.
//!
//! A policy decides when an entry is first seen in which form it is sent ([`PolicyRun::arrive`]), and before each
//! request which earlier entries are sent in another form from then on ([`PolicyRun::decide_changes`]). What the client
//! itself did, compacting and clearing, happens under every policy.

use infold_core::fork::{FORK_TIER1_COUNT, FORK_TIER2_COUNT, Tier};
use infold_core::{Counter, ShapeRules};
use serde::{Deserialize, Serialize};

use crate::forms::PromptForm;
use crate::shaping::Shaper;
use crate::thread::{EntryRole, ThreadEntry};

#[cfg(test)]
mod tests;

/// A rule for what is sent of the items before a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "policy", rename_all = "snake_case", deny_unknown_fields)]
pub enum Policy {
    /// Everything is sent that the client sent.
    AsItWas,
    /// Before every request, all results but the last few are cleared.
    KeepLast {
        /// How many results stay.
        results: usize,
    },
    /// Before every request, results are cut by their age, as a fork in the seed's profile cuts them.
    Tiers,
    /// When there are many results, all but the last few are cleared at once.
    ClearInBatches {
        /// The number of results at which they are cleared.
        results_max: usize,
        /// How many results stay.
        keep: usize,
    },
    /// When a request would be large, all results but the last few are cleared at once.
    ClearAt {
        /// The size of a request above which results are cleared.
        tokens_max: u64,
        /// How many results stay.
        keep: usize,
    },
    /// Large results are sent as a reference with their first characters, from the first time on.
    Offload {
        /// The size above which a result is large.
        bytes_max: usize,
        /// How many characters of the result are shown.
        preview_chars: usize,
    },
    /// Large results are sent as infold's reference, from the first time on.
    Shaped {
        /// The size above which a file's content is large.
        file_bytes_max: usize,
        /// The size above which any other output is large.
        output_bytes_max: usize,
        /// If at least this many bytes of a file were shown before, only what is new in it is sent.
        reread_bytes_min: usize,
        /// How many characters of the result's lines the reference shows at most.
        lines_chars_max: usize,
        /// How many characters of the names in the result the reference shows at most.
        names_chars_max: usize,
    },
}

impl Policy {
    /// The policies that a report compares, each with its usual limits; the first is the one to compare with.
    pub const USUAL: [Self; 7] = [
        Self::AsItWas,
        Self::KeepLast { results: 10 },
        Self::Tiers,
        Self::ClearInBatches { results_max: 30, keep: 10 },
        Self::ClearAt { tokens_max: 100_000, keep: 3 },
        Self::Offload { bytes_max: 4_096, preview_chars: 200 },
        Self::SHAPED,
    ];

    /// infold's own policy with its usual limits.
    pub const SHAPED: Self = Self::shaped(ShapeRules::USUAL);

    /// infold's own policy with other limits.
    pub const fn shaped(rules: ShapeRules) -> Self {
        Self::Shaped {
            file_bytes_max: rules.file_bytes_max,
            output_bytes_max: rules.output_bytes_max,
            reread_bytes_min: rules.reread_bytes_min,
            lines_chars_max: rules.lines_chars_max,
            names_chars_max: rules.names_chars_max,
        }
    }

    /// The rules by which the policy shapes results; `None` if it does not shape them.
    fn shape_rules(&self) -> Option<ShapeRules> {
        match *self {
            Self::Shaped { file_bytes_max, output_bytes_max, reread_bytes_min, lines_chars_max, names_chars_max } => {
                Some(ShapeRules {
                    file_bytes_max,
                    output_bytes_max,
                    handed_in_bytes_max: output_bytes_max,
                    reread_bytes_min,
                    lines_chars_max,
                    names_chars_max,
                })
            }
            Self::AsItWas
            | Self::KeepLast { .. }
            | Self::Tiers
            | Self::ClearInBatches { .. }
            | Self::ClearAt { .. }
            | Self::Offload { .. } => None,
        }
    }

    /// The policy in a few words, for tables and charts.
    pub fn label(&self) -> String {
        match *self {
            Self::AsItWas => "as it was".to_owned(),
            Self::KeepLast { results } => format!("keep last {results} results"),
            Self::Tiers => "three tiers, every step".to_owned(),
            Self::ClearInBatches { results_max, keep } => format!("clear in batches, {results_max} to {keep}"),
            Self::ClearAt { tokens_max, keep } => format!("clear at {}k, keep {keep}", tokens_max / 1_000),
            Self::Offload { bytes_max, .. } => format!("offload over {bytes_max} B"),
            Self::SHAPED => "infold".to_owned(),
            Self::Shaped { file_bytes_max, output_bytes_max, .. } => {
                format!("infold, files over {file_bytes_max} B, output over {output_bytes_max} B")
            }
        }
    }
}

/// A policy on its way through a session.
#[derive(Debug)]
pub(crate) struct PolicyRun {
    policy: Policy,
    /// The results that the policy may still change, oldest first.
    results: Vec<usize>,
    /// How many of these results are past the first tier, and past the second.
    past_tier1: usize,
    past_tier2: usize,
    /// The results that the client cleared since the last request.
    cleared: Vec<usize>,
    shaper: Option<Shaper>,
}

/// What is sent for an entry the first time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// The entry in one of the forms.
    In(PromptForm),
    /// This text in place of the entry's own.
    As(String),
}

/// An entry that is sent in another form from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PolicyChange {
    pub at: usize,
    pub form: PromptForm,
}

impl PolicyRun {
    pub fn new(policy: Policy) -> Self {
        let shaper = policy.shape_rules().map(Shaper::new);
        Self { policy, results: Vec::new(), past_tier1: 0, past_tier2: 0, cleared: Vec::new(), shaper }
    }

    /// Decides what is sent for an entry the first time.
    pub fn arrive(&mut self, at: usize, entries: &[ThreadEntry<'_>], counter: Counter) -> Arrival {
        let entry = &entries[at];
        self.cleared.extend(&entry.cleared);
        if entry.role == EntryRole::Result {
            self.results.push(at);
        }
        match self.policy {
            Policy::Offload { bytes_max, preview_chars } if entry.text.len() > bytes_max => {
                Arrival::In(PromptForm::Preview { preview_chars })
            }
            Policy::Shaped { .. } => {
                let shaped = self.shaper.as_mut().and_then(|shaper| shaper.arrive(at, entries, counter));
                shaped.map_or(Arrival::In(PromptForm::Whole), Arrival::As)
            }
            Policy::AsItWas
            | Policy::KeepLast { .. }
            | Policy::Tiers
            | Policy::ClearInBatches { .. }
            | Policy::ClearAt { .. }
            | Policy::Offload { .. } => Arrival::In(PromptForm::Whole),
        }
    }

    /// Decides which entries are sent in another form from now on, before a request that would have `prompt_tokens`.
    pub fn decide_changes(&mut self, prompt_tokens: u64) -> Vec<PolicyChange> {
        let cleared = std::mem::take(&mut self.cleared);
        self.forget(&cleared);
        let mut changes: Vec<PolicyChange> =
            cleared.into_iter().map(|at| PolicyChange { at, form: PromptForm::Cleared }).collect();
        match self.policy {
            Policy::AsItWas | Policy::Offload { .. } | Policy::Shaped { .. } => {}
            Policy::KeepLast { results } => self.clear_all_but(results, &mut changes),
            Policy::ClearInBatches { results_max, keep } => {
                if self.results.len() >= results_max {
                    self.clear_all_but(keep, &mut changes);
                }
            }
            Policy::ClearAt { tokens_max, keep } => {
                if prompt_tokens > tokens_max {
                    self.clear_all_but(keep, &mut changes);
                }
            }
            Policy::Tiers => self.cut_by_age(&mut changes),
        }
        changes
    }

    /// Forgets results that the client has cleared: the policy can no longer change them.
    fn forget(&mut self, cleared: &[usize]) {
        if cleared.is_empty() {
            return;
        }
        let gone = |results: &[usize]| results.iter().filter(|at| cleared.contains(at)).count();
        self.past_tier1 -= gone(&self.results[..self.past_tier1]);
        self.past_tier2 -= gone(&self.results[..self.past_tier2]);
        self.results.retain(|at| !cleared.contains(at));
    }

    fn clear_all_but(&mut self, keep: usize, changes: &mut Vec<PolicyChange>) {
        let gone = self.results.len().saturating_sub(keep);
        changes.extend(self.results.drain(..gone).map(|at| PolicyChange { at, form: PromptForm::Cleared }));
    }

    fn cut_by_age(&mut self, changes: &mut Vec<PolicyChange>) {
        // A result that has reached a tier stays there, even if the client clears newer results.
        let older_than = |results: usize| self.results.len().saturating_sub(results);
        let tier2 = older_than(FORK_TIER1_COUNT).max(self.past_tier1);
        let tier3 = older_than(FORK_TIER1_COUNT + FORK_TIER2_COUNT).max(self.past_tier2);
        for &at in &self.results[self.past_tier2..tier3] {
            changes.push(PolicyChange { at, form: PromptForm::Aged(Tier::Three) });
        }
        for &at in &self.results[self.past_tier1.max(tier3)..tier2] {
            changes.push(PolicyChange { at, form: PromptForm::Aged(Tier::Two) });
        }
        self.past_tier1 = tier2;
        self.past_tier2 = tier3;
    }
}
