//! The breaker: stops compactions that free nothing from coming again and again.
//!
//! A compaction is in vain if it misses its target, or if it comes so soon after the one before that nothing was done in
//! between. After some in a row no more are made, until something changes that a compaction depends on: the user says
//! something new, or the window is larger.

use serde::{Deserialize, Serialize};

use crate::grouped;

/// When the breaker trips.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BreakerLimits {
    /// Compactions in vain, in a row, after which no more are made.
    pub compactions_max: u32,
    /// A compaction fewer turns after the one before is in vain, whatever it freed.
    pub turns_between_min: u64,
}

/// How a compaction went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompactionEnd<'a> {
    /// It reached its target.
    Reached,
    /// It did not reach its target, or changed nothing. The words say what cannot shrink.
    InVain(&'a str),
}

/// Counts compactions in vain.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CompactionBreaker {
    in_vain: u32,
    last_turn: Option<u64>,
    window_tokens: u64,
    /// What could not shrink the last time that something could not.
    cannot_shrink: String,
}

/// Why no compaction is made any more.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error(
    "no more compactions: {} in a row freed too little or came again at once. {cannot_shrink}. They go on when the user \
     says something new or the model has a larger window",
    grouped(u64::from(*compactions))
)]
pub struct BreakerTripped {
    /// Compactions in vain so far, in a row.
    pub compactions: u32,
    /// What cannot shrink.
    pub cannot_shrink: String,
}

impl CompactionBreaker {
    /// Whether another compaction may be made.
    pub fn check(&self, limits: &BreakerLimits) -> Result<(), BreakerTripped> {
        if self.in_vain < limits.compactions_max {
            return Ok(());
        }
        let cannot_shrink = if self.cannot_shrink.is_empty() {
            "Each reached its target, and the thread was full again at once: single turns are too large".to_owned()
        } else {
            self.cannot_shrink.clone()
        };
        Err(BreakerTripped { compactions: self.in_vain, cannot_shrink })
    }

    /// Takes in how a compaction went, in the turn of this number.
    pub fn note(&mut self, turn: u64, end: CompactionEnd<'_>, limits: &BreakerLimits) {
        let is_soon = self.last_turn.is_some_and(|last| turn.saturating_sub(last) < limits.turns_between_min);
        self.last_turn = Some(turn);
        let has_reached = match end {
            CompactionEnd::Reached => true,
            CompactionEnd::InVain(cannot_shrink) => {
                self.cannot_shrink = cannot_shrink.to_owned();
                false
            }
        };
        if has_reached && !is_soon {
            self.forget();
        } else {
            self.in_vain = self.in_vain.saturating_add(1);
        }
    }

    /// The user has said something new.
    pub fn person_spoke(&mut self) {
        self.forget();
        self.last_turn = None;
    }

    /// The model takes this many tokens now; a larger window than before starts the count anew.
    pub fn window_is(&mut self, window_tokens: u64) {
        if window_tokens > self.window_tokens && self.window_tokens > 0 {
            self.forget();
            self.last_turn = None;
        }
        self.window_tokens = window_tokens;
    }

    fn forget(&mut self) {
        self.in_vain = 0;
        self.cannot_shrink.clear();
    }
}
