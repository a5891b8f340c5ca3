//! Learns in one session how its provider counts, prompt by prompt, from the tokens that the provider reports.
//!
//! A prompt is what the one before it was, and something more or less. So the difference between two prompts says how
//! the provider counts text, whatever it adds to every prompt unseen; and the next prompt is best foretold from the last
//! one. Nothing that is learnt leaves its bounds: beyond them something other than counting is wrong.

use super::{Counter, Family};

const PER_MILLE: u64 = 1_000;
/// A ratio never leaves these bounds, in tokens of the provider for each thousand of infold's.
const PER_MILLE_MIN: u64 = 500;
const PER_MILLE_MAX: u64 = 2_000;
/// What is known of the family before the session's first difference weighs as much as a difference of this size.
const START_TOKENS: u64 = 2_000;
/// How much of its weight a difference loses when the next one comes: one fifth.
const LOST_SHARE: u64 = 5;

/// A prompt's tokens by two counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CountedPrompt {
    ours_tokens: u64,
    theirs_tokens: u64,
}

/// How the provider of one session counts, as far as it was learnt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionCalibration {
    family: Family,
    /// Differences between prompts by infold's count and by the provider's; the older, the less they weigh.
    ours_tokens: u64,
    theirs_tokens: u64,
    last: Option<CountedPrompt>,
}

impl SessionCalibration {
    /// Holds a ratio in its bounds.
    pub fn bounded(per_mille: u64) -> u64 {
        per_mille.clamp(PER_MILLE_MIN, PER_MILLE_MAX)
    }

    /// Starts from what is known of the family: tokens that its provider counts for each thousand of infold's.
    pub fn starting_at(family: Family, per_mille: u64) -> Self {
        let theirs_tokens = START_TOKENS * Self::bounded(per_mille) / PER_MILLE;
        Self { family, ours_tokens: START_TOKENS, theirs_tokens, last: None }
    }

    /// The family of models that it was learnt of.
    pub fn family(&self) -> Family {
        self.family
    }

    /// Learns from a prompt: `ours_tokens` by infold's own count, uncalibrated, and `theirs_tokens` as reported.
    pub fn learn(&mut self, ours_tokens: u64, theirs_tokens: u64) {
        let now = CountedPrompt { ours_tokens, theirs_tokens };
        if let Some(last) = self.last
            && (now.ours_tokens > last.ours_tokens) == (now.theirs_tokens > last.theirs_tokens)
        {
            let kept = |tokens: u64| tokens - tokens / LOST_SHARE;
            self.ours_tokens = kept(self.ours_tokens).saturating_add(ours_tokens.abs_diff(last.ours_tokens));
            self.theirs_tokens = kept(self.theirs_tokens).saturating_add(theirs_tokens.abs_diff(last.theirs_tokens));
        }
        self.last = Some(now);
    }

    /// Goes on from a prompt with something in it that only the provider can count. No ratio follows from that.
    pub fn go_on_from(&mut self, ours_tokens: u64, theirs_tokens: u64) {
        self.last = Some(CountedPrompt { ours_tokens, theirs_tokens });
    }

    /// Tokens that the provider counts for each thousand of infold's.
    pub fn per_mille(&self) -> u64 {
        let learnt = self.theirs_tokens.saturating_mul(PER_MILLE).checked_div(self.ours_tokens);
        Self::bounded(learnt.unwrap_or(PER_MILLE))
    }

    /// The counter for texts of this session.
    pub fn counter(&self) -> Counter {
        Counter::calibrated(self.family, self.per_mille())
    }

    /// How many tokens the provider will count in a prompt of `ours_tokens` by infold's own count, uncalibrated: what
    /// it counted in the last one, and the difference as it counts text.
    pub fn prompt_tokens(&self, ours_tokens: u64) -> u64 {
        let scaled = |tokens: u64| tokens.saturating_mul(self.per_mille()) / PER_MILLE;
        let tokens = match self.last {
            None => scaled(ours_tokens),
            Some(last) if ours_tokens >= last.ours_tokens => {
                last.theirs_tokens.saturating_add(scaled(ours_tokens - last.ours_tokens))
            }
            Some(last) => last.theirs_tokens.saturating_sub(scaled(last.ours_tokens - ours_tokens)),
        };
        let bound = |per_mille: u64| ours_tokens.saturating_mul(per_mille) / PER_MILLE;
        tokens.clamp(bound(PER_MILLE_MIN), bound(PER_MILLE_MAX))
    }
}

#[cfg(test)]
mod tests;
