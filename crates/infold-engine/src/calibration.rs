//! Compares infold's token counts with the provider's, and corrects counts for proxied sessions by what was learnt.
//!
//! A session learns from its own prompts ([`SessionCalibration`]). What each family of models was seen to count over all
//! sessions is stored; a new session starts from it, and so does one that goes on after a restart.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use infold_core::view::RequestKind;
use infold_core::{Counter, Family, Owner, SessionCalibration, SessionId};
use infold_store::StoredCalibration;

use crate::record::{BoundedMap, RequestSeen};
use crate::{Engine, Error};

/// Tokens that a provider counts for each thousand of infold's, if nothing was learnt yet.
const UNKNOWN_PER_MILLE: u64 = 1_000;
/// From this many samples on, every new one has the same weight.
const SAMPLES_WEIGHED_MAX: u64 = 16;
/// Shorter prompts are not learnt from: what the provider adds and nobody sees weighs too much in them.
const PROMPT_TOKENS_MIN: u64 = 2_000;
/// A request whose counts differ by more than this after calibration gets a warning.
const DRIFT_PERCENT_MAX: u64 = 30;
/// How many samples are needed before a difference is called a drift.
const DRIFT_SAMPLES_MIN: u64 = 4;
/// How many sessions' calibrations are remembered.
const SESSIONS_MAX: usize = 4_096;

/// How the provider of one family of models counts tokens, compared with infold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Calibration {
    /// The family of models, by which the ratio is looked up.
    pub family: Family,
    /// Tokens that the provider counts for each thousand of infold's.
    pub per_mille: u64,
    /// How many requests this was learnt from.
    pub samples: u64,
}

/// A request that infold and its provider count very differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Drift {
    ours_tokens: u64,
    theirs_tokens: u64,
}

impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (ours, theirs) = (infold_core::grouped(self.ours_tokens), infold_core::grouped(self.theirs_tokens));
        write!(f, "the provider counted {theirs} tokens where infold counts {ours}")
    }
}

/// What was learnt about how providers count.
pub(crate) struct Calibrations {
    /// `None` until it was read from the store.
    known: Mutex<Option<Vec<Calibration>>>,
    changed: Mutex<Vec<Family>>,
    /// What sessions have learnt of the family that they used last.
    sessions: Mutex<BoundedMap<(Owner, SessionId), SessionCalibration>>,
}

impl Default for Calibrations {
    fn default() -> Self {
        Self {
            known: Mutex::new(None),
            changed: Mutex::new(Vec::new()),
            sessions: Mutex::new(BoundedMap::new(SESSIONS_MAX)),
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Engine {
    /// The counter for a model, corrected by what was learnt about its provider.
    pub fn counter_for(&self, model: &str) -> Counter {
        self.calibrated(Family::of_model(model))
    }

    /// The counter for a session's texts: that of the model which the session used last.
    pub(crate) fn counter_in(&self, owner: &Owner, session: &SessionId) -> Counter {
        let learnt = self.session_calibration(owner, session);
        learnt.map_or(self.inner.settings.counter, |learnt| learnt.counter())
    }

    /// How a session's provider counts prompts to a model, as far as the session has learnt it.
    pub(crate) fn calibration_in(&self, owner: &Owner, session: &SessionId, model: &str) -> SessionCalibration {
        let family = Family::of_model(model);
        let learnt = self.session_calibration(owner, session).filter(|learnt| learnt.family() == family);
        learnt.unwrap_or_else(|| self.starting_calibration(family))
    }

    /// The counter for the parts of a request whose answer is over: in sum they are what its provider reported.
    pub(crate) fn counter_of(&self, owner: &Owner, seen: &RequestSeen) -> Counter {
        let learnt = self.calibration_in(owner, &seen.session, &seen.model);
        let ours_tokens = seen.parts.sent_tokens(&Counter::new(learnt.family()));
        let reported = seen.usage.filter(|_| !seen.parts.has_opaque()).map(|usage| usage.prompt_tokens());
        let per_mille = reported.and_then(|theirs| theirs.saturating_mul(1_000).checked_div(ours_tokens));
        per_mille.map_or_else(
            || learnt.counter(),
            |per_mille| Counter::calibrated(learnt.family(), SessionCalibration::bounded(per_mille)),
        )
    }

    fn session_calibration(&self, owner: &Owner, session: &SessionId) -> Option<SessionCalibration> {
        locked(&self.inner.calibrations.sessions).get(&(owner.clone(), session.clone())).cloned()
    }

    fn starting_calibration(&self, family: Family) -> SessionCalibration {
        let per_mille = self.known(family).map_or(UNKNOWN_PER_MILLE, |known| known.per_mille);
        SessionCalibration::starting_at(family, per_mille)
    }

    /// Learns in its session from a request.
    pub(crate) fn calibrate_session(&self, owner: &Owner, seen: &RequestSeen) {
        let mut learnt = self.calibration_in(owner, &seen.session, &seen.model);
        // Side requests have a front of their own, so that their difference to a turn says nothing.
        if let Some(usage) = seen.usage.filter(|_| seen.kind == RequestKind::Turn) {
            let ours_tokens = seen.parts.sent_tokens(&Counter::new(learnt.family()));
            match seen.parts.has_opaque() {
                true => learnt.go_on_from(ours_tokens, usage.prompt_tokens()),
                false => learnt.learn(ours_tokens, usage.prompt_tokens()),
            }
        }
        locked(&self.inner.calibrations.sessions).insert((owner.clone(), seen.session.clone()), learnt);
    }

    /// Lists what was learnt, for each family of models.
    pub async fn calibrations(&self) -> Result<Vec<Calibration>, Error> {
        Ok(self.inner.store.calibrations().await?.iter().filter_map(read).collect())
    }

    fn calibrated(&self, family: Family) -> Counter {
        Counter::calibrated(family, self.known(family).map_or(UNKNOWN_PER_MILLE, |known| known.per_mille))
    }

    fn known(&self, family: Family) -> Option<Calibration> {
        let mut known = locked(&self.inner.calibrations.known);
        let known = known.get_or_insert_with(|| {
            // If nothing can be read, counting starts from the fitted figures again.
            let stored = self.inner.store.calibrations_now().unwrap_or_default();
            stored.iter().filter_map(read).collect()
        });
        known.iter().find(|calibration| calibration.family == family).copied()
    }

    /// Learns from a request, and returns the drift if the two counts of this request are far apart.
    pub(crate) fn calibrate(&self, seen: &RequestSeen) -> Option<Drift> {
        let theirs_tokens = seen.usage?.prompt_tokens();
        let is_comparable = seen.kind == RequestKind::Turn && !seen.parts.has_opaque();
        if theirs_tokens < PROMPT_TOKENS_MIN || !is_comparable {
            return None;
        }
        let family = Family::of_model(&seen.model);
        let before = self.known(family);
        let plain_tokens = seen.parts.sent_tokens(&Counter::new(family));
        let now_per_mille = theirs_tokens.saturating_mul(1_000).checked_div(plain_tokens)?;

        let learnt = learn(family, before, now_per_mille);
        self.set_calibration(learnt);
        let ours_tokens = seen.parts.sent_tokens(&Counter::calibrated(family, learnt.per_mille));
        let apart_percent = theirs_tokens.abs_diff(ours_tokens).saturating_mul(100) / theirs_tokens;
        let is_drift = learnt.samples >= DRIFT_SAMPLES_MIN && apart_percent > DRIFT_PERCENT_MAX;
        is_drift.then_some(Drift { ours_tokens, theirs_tokens })
    }

    fn set_calibration(&self, learnt: Calibration) {
        let mut known = locked(&self.inner.calibrations.known);
        let known = known.get_or_insert_default();
        known.retain(|calibration| calibration.family != learnt.family);
        known.push(learnt);
        let mut changed = locked(&self.inner.calibrations.changed);
        if !changed.contains(&learnt.family) {
            changed.push(learnt.family);
        }
        self.inner.metrics.requests.calibrated(learnt.family, learnt.per_mille);
    }

    /// Returns what was learnt since the last call, to be stored.
    pub(crate) fn changed_calibrations(&self) -> Vec<StoredCalibration> {
        let changed = std::mem::take(&mut *locked(&self.inner.calibrations.changed));
        let known = changed.into_iter().filter_map(|family| self.known(family));
        let at_ms = self.now_ms();
        let stored = |known: Calibration| StoredCalibration {
            family: known.family.as_str().to_owned(),
            per_mille: known.per_mille,
            samples: known.samples,
            at_ms,
        };
        known.map(stored).collect()
    }
}

/// Averages the samples. The older a sample is, the less it weighs.
fn learn(family: Family, before: Option<Calibration>, now_per_mille: u64) -> Calibration {
    let now = SessionCalibration::bounded(now_per_mille);
    let samples = before.map_or(0, |before| before.samples) + 1;
    let weight = samples.min(SAMPLES_WEIGHED_MAX);
    let before = before.map_or(now, |before| before.per_mille);
    let per_mille = (before * (weight - 1) + now + weight / 2) / weight;
    Calibration { family, per_mille: SessionCalibration::bounded(per_mille), samples }
}

fn read(stored: &StoredCalibration) -> Option<Calibration> {
    let per_mille = SessionCalibration::bounded(stored.per_mille);
    Some(Calibration { family: stored.family.parse().ok()?, per_mille, samples: stored.samples })
}

#[cfg(test)]
mod tests;
