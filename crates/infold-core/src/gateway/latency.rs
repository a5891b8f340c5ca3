//! How long calls took, as counts in fixed steps: a few numbers for any number of calls, and two processes' counts can be
//! added up.

use serde::{Deserialize, Serialize};

#[cfg(test)]
mod tests;

/// Each step is twice as long as the one before. The last one, which begins at about 18 minutes, has all that is longer.
const STEPS: usize = 32;

/// How many calls took how long.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LatencyCounts(
    /// The number of calls in each step; steps at the end that have none may be left out.
    Vec<u64>,
);

impl LatencyCounts {
    /// Counts one call.
    pub fn note(&mut self, micros: u64) {
        let step = (u64::BITS - micros.leading_zeros()) as usize;
        *self.step(step.min(STEPS - 1)) += 1;
    }

    /// Adds other counts to these.
    pub fn add(&mut self, other: &Self) {
        for (step, count) in other.0.iter().take(STEPS).enumerate() {
            let sum = self.step(step);
            *sum = sum.saturating_add(*count);
        }
    }

    /// How long at most `percent` of the calls took, in microseconds. Within a step the calls count as evenly spread, so
    /// the figure may be wrong by as much as a step is wide. `None` if there were no calls.
    pub fn percentile_micros(&self, percent: u64) -> Option<u64> {
        let calls: u64 = self.0.iter().sum();
        let rank = (calls * percent.min(100)).div_ceil(100).max(1);
        let mut below = 0;
        for (step, count) in self.0.iter().enumerate() {
            if *count > 0 && below + count >= rank {
                let (from, to) = bounds(step);
                return Some(from + (to - from) * (rank - below) / count);
            }
            below += count;
        }
        None
    }

    fn step(&mut self, step: usize) -> &mut u64 {
        if self.0.len() <= step {
            self.0.resize(step + 1, 0);
        }
        &mut self.0[step]
    }
}

/// Where a step begins and ends, in microseconds.
fn bounds(step: usize) -> (u64, u64) {
    let end = 1 << step.min(STEPS - 1);
    if step == 0 { (0, 1) } else { (end / 2, end) }
}
