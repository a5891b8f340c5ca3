//! How a server is: what its answers and failures lead to, and what callers and people read of it.

use std::hash::{BuildHasher, RandomState};

use infold_core::gateway::{HealthAction, HealthEvent, HealthMoment, ServerHealth, ServerState};
use infold_engine::ServerNote;

use super::{Host, lock, now_ms};
use crate::gateway::{LinkEra, LinkError, RpcError};

impl Host {
    /// What a caller reads of an error of this server.
    pub(in crate::relay) fn words_of(&self, error: &LinkError) -> String {
        let server = &self.entry.key;
        match (&lock(&self.health).state, error) {
            (ServerState::NeedsLogin, _) => self.login_words(),
            (_, LinkError::RightsMissing(rights)) => format!(
                "{server} needs a login with more rights ({rights}): ask the user to run `infold servers login {server}`"
            ),
            _ => format!("{server}: {}", self.hidden.hide(error.to_string())),
        }
    }

    /// An error that the server answered with, without the user's values.
    pub(in crate::relay) fn without_values(&self, error: RpcError) -> RpcError {
        self.hidden.hide_in(error)
    }

    /// Takes note of a call that was answered.
    pub(in crate::relay) fn answered(&self) {
        self.step(HealthEvent::Answered);
    }

    /// Takes note of an error of the server; errors of a caller say nothing about it.
    pub(in crate::relay) fn failed(&self, error: &LinkError) {
        let why = self.hidden.hide(error.to_string());
        match error {
            LinkError::NeedsLogin { .. } => self.step(HealthEvent::LoginMissing),
            LinkError::CannotStart { .. }
            | LinkError::TimedOut { .. }
            | LinkError::NotMcp(_)
            | LinkError::Http { .. }
            | LinkError::SessionGone
            | LinkError::Login(_)
            | LinkError::Unreachable(_) => self.step(HealthEvent::Failed { why }),
            LinkError::Ended { .. } => self.step(HealthEvent::Ended { why }),
            LinkError::Rpc(_)
            | LinkError::RightsMissing(_)
            | LinkError::Cancelled
            | LinkError::TooLong { .. }
            | LinkError::RequestTooLong { .. }
            | LinkError::Busy { .. }
            | LinkError::Closed => {}
        }
    }

    /// How it is, with why it failed last.
    pub(in crate::relay) fn health(&self) -> ServerHealth {
        lock(&self.health).clone()
    }

    /// Whether nobody has seen its tools yet, and it may be started to see them.
    pub(in crate::relay) fn may_be_learnt(&self) -> bool {
        let health = self.health();
        let is_off =
            matches!(health.state, ServerState::Configured | ServerState::Failing { .. } | ServerState::Open { .. });
        self.tools().is_none() && is_off && health.wait_ms(now_ms(), &self.rules).is_none()
    }

    /// What is to be stored about it, if its state has another word than the one that was stored last.
    pub(in crate::relay) fn take_note(&self) -> Option<ServerNote> {
        let (health, mut noted) = (self.health(), lock(&self.noted));
        let state = health.state.word();
        if *noted == state {
            return None;
        }
        *noted = state;
        let era = lock(&self.era).map(LinkEra::word);
        Some(ServerNote { state, detail: health.detail().map(str::to_owned), era })
    }

    pub(in crate::relay) fn step(&self, event: HealthEvent) {
        let moment = HealthMoment { now_ms: now_ms(), jitter: jitter() };
        let mut health = lock(&self.health);
        let (next, action) = health.step(event, moment, &self.rules);
        let is_other = health.state.word() != next.state.word();
        *health = next;
        drop(health);
        if is_other {
            self.changed.notify_one();
        }
        if action == Some(HealthAction::Stop) {
            // Whoever still has a connection ends with it; a new one is made when its time has come.
            lock(&self.links).clear();
        }
    }
}

/// A number by chance, without asking the system for one: each answer of a server comes here.
fn jitter() -> u16 {
    RandomState::new().hash_one(()) as u16
}
