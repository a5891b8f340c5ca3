//! How sure a memory is: a posterior that begins with what its source deserves and moves with what came of it.
//!
//! Laws: what speaks for a memory never lowers its confidence, what speaks against it never raises it, and being shown
//! changes nothing. With no evidence for a long time, confidence goes back towards one half.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use super::{LessonSource, Trust};
use crate::Status;

/// The most evidence that counts, so that a memory can still turn.
const EVIDENCE_MAX: f64 = 20.0;
/// What speaks against a lesson from outside counts so much more.
const OUTSIDE_FACTOR: f64 = 1.3;
const DAY_MS: f64 = 86_400_000.0;

/// What speaks for a memory and what against it: the parameters of a beta distribution.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Belief {
    /// What speaks for it.
    pub for_it: f64,
    /// What speaks against it.
    pub against: f64,
}

/// Something that moves a belief.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BeliefMove {
    /// Another branch learnt the same without having been shown it.
    LearntAgain,
    /// A branch relied on it and did what it was asked.
    HelpedBranch,
    /// A branch relied on it and failed.
    FailedBranch,
    /// Somebody called it helpful.
    Helpful,
    /// Somebody called it unhelpful.
    Unhelpful,
    /// A person read it and took it.
    Accepted,
}

impl BeliefMove {
    /// The word for it, in tables and the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LearntAgain => "learnt again",
            Self::HelpedBranch => "helped a branch",
            Self::FailedBranch => "a branch failed with it",
            Self::Helpful => "called helpful",
            Self::Unhelpful => "called unhelpful",
            Self::Accepted => "accepted",
        }
    }
}

impl Belief {
    /// What is believed of a lesson at first, by where it comes from. `end` is how its branch ended, if it has one.
    pub fn prior(source: LessonSource, trust: Trust, end: Option<Status>) -> Self {
        let succeeded = matches!(end, None | Some(Status::Completed));
        let (for_it, against) = match source {
            LessonSource::Hand => (9.0, 1.0),
            LessonSource::Model if succeeded => (4.0, 1.0),
            // Its writer has read all of the report, which nothing mechanical does, and was not there, as the agent was.
            LessonSource::Distilled if succeeded => (3.5, 1.0),
            LessonSource::Model | LessonSource::Distilled => (3.0, 1.0),
            LessonSource::Mechanical if succeeded => (3.0, 1.0),
            LessonSource::Mechanical => (3.0, 1.1),
            LessonSource::Imported => (2.0, 1.0),
        };
        match trust {
            Trust::Person | Trust::Own => Self { for_it, against },
            Trust::Outside => Self { for_it, against: against * OUTSIDE_FACTOR },
        }
    }

    /// This belief after something has moved it.
    pub fn moved(self, by: BeliefMove) -> Self {
        let Self { for_it, against } = self;
        let moved = match by {
            BeliefMove::LearntAgain | BeliefMove::HelpedBranch => Self { for_it: for_it + 1.0, against },
            BeliefMove::FailedBranch => Self { for_it, against: against + 1.0 },
            BeliefMove::Helpful => Self { for_it: for_it + 2.0, against },
            BeliefMove::Unhelpful => Self { for_it, against: against + 2.0 },
            BeliefMove::Accepted => Self { for_it: for_it.max(9.0 * against.max(1.0)), against },
        };
        moved.capped()
    }

    /// The confidence at a moment: the mean, drawn back to one half with the time since the last evidence. What a
    /// person vouches for does not age.
    pub fn confidence(self, trust: Trust, since_evidence_ms: u64, half_life_days: u64) -> f64 {
        let mean = self.for_it / (self.for_it + self.against);
        match trust {
            Trust::Person => mean,
            Trust::Own | Trust::Outside => {
                let half_lives = since_evidence_ms as f64 / (half_life_days.max(1) as f64 * DAY_MS);
                0.5 + (mean - 0.5) * 0.5_f64.powf(half_lives)
            }
        }
    }

    /// The same mean, with no more evidence than counts.
    fn capped(self) -> Self {
        let factor = (EVIDENCE_MAX / (self.for_it + self.against)).min(1.0);
        Self { for_it: self.for_it * factor, against: self.against * factor }
    }
}
