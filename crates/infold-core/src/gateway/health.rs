//! The life of a server: started when it is wanted, stopped when nobody uses it, tried again after a failure with a
//! growing wait, and left alone for a while after several failures in a row.
//!
//! [`ServerHealth::step`] says what an event leads to; time and chance are arguments. What a tool reports as its own
//! error is no failure of its server and never comes here.
//!
//! Invariants: no wait is longer than its bound, even if the clock is set back; a server that is left alone is started
//! once when its time is over, and by nothing else.

#[cfg(test)]
mod tests;

/// How a server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerState {
    /// It was never started.
    Configured,
    /// It is being started.
    Starting,
    /// It takes calls.
    Ready,
    /// It was stopped, because nobody used it.
    Idle,
    /// It failed, and is tried again when it is wanted, but not before this time.
    Failing {
        /// When it may be started again.
        retry_at_ms: u64,
    },
    /// It failed too often in a row, and is left alone until then.
    Open {
        /// When it may be tried once.
        until_ms: u64,
    },
    /// The user has to log in.
    NeedsLogin,
    /// The user has to approve it.
    NeedsApproval,
    /// It cannot be used, for this reason.
    Refused(String),
}

impl ServerState {
    /// A word for it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Configured => "configured",
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Idle => "idle",
            Self::Failing { .. } => "failing",
            Self::Open { .. } => "unavailable",
            Self::NeedsLogin => "needs_login",
            Self::NeedsApproval => "needs_approval",
            Self::Refused(_) => "refused",
        }
    }
}

/// What happened to a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HealthEvent {
    /// A call, a search or a list needs it.
    Wanted,
    /// It has started and said what it can do.
    Started,
    /// A call was answered.
    Answered,
    /// Its start, a call or its connection failed: it did not answer in time, or not as the protocol says.
    Failed {
        /// Why, in a few words.
        why: String,
    },
    /// It ended, or its connection did.
    Ended {
        /// Why, in a few words.
        why: String,
    },
    /// Nobody has used it for a while.
    Unused,
    /// It does not let us in without a login.
    LoginMissing,
    /// The user has logged in.
    LoggedIn,
    /// It is a project's, and nobody has approved it as it is.
    ApprovalMissing,
    /// The user has approved it.
    Approved,
    /// It cannot be used: its entry is wrong, or asks for what infold cannot do.
    Unusable {
        /// Why, in a few words.
        why: String,
    },
    /// The user asks for another attempt at once, or has changed its entry.
    Reset,
}

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HealthAction {
    /// Start it.
    Start,
    /// Stop it.
    Stop,
}

/// How long to wait and how often to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HealthRules {
    /// The wait after the first failure; each further one doubles it.
    pub retry_first_ms: u64,
    /// The longest wait after a failure.
    pub retry_max_ms: u64,
    /// Failures in a row after which a server is left alone.
    pub failures_max: u32,
    /// How long it is left alone.
    pub open_ms: u64,
}

/// When something happened, and a number by chance that spreads waits out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HealthMoment {
    /// The time.
    pub now_ms: u64,
    /// Any number: the larger it is, the longer the wait, within its bound.
    pub jitter: u16,
}

/// A server's state, with what led to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerHealth {
    /// How it is.
    pub state: ServerState,
    /// Failures since a call was last answered.
    pub failures: u32,
    /// Why it failed last.
    pub last_failure: Option<String>,
}

impl ServerHealth {
    /// A server that was never started.
    pub fn new() -> Self {
        Self { state: ServerState::Configured, failures: 0, last_failure: None }
    }

    /// What `event` leads to, and what is to be done about it.
    pub fn step(&self, event: HealthEvent, moment: HealthMoment, rules: &HealthRules) -> (Self, Option<HealthAction>) {
        match event {
            HealthEvent::Wanted => self.want(moment.now_ms, rules),
            HealthEvent::Started if self.state == ServerState::Starting => self.become_state(ServerState::Ready),
            HealthEvent::Answered if self.state == ServerState::Ready => {
                (Self { state: ServerState::Ready, failures: 0, last_failure: None }, None)
            }
            HealthEvent::Failed { why } if self.is_running() => self.fail(why, moment, rules),
            HealthEvent::Ended { why } if self.is_running() => {
                // It is gone already: whatever else follows, there is nothing left to stop.
                let (next, _) = self.fail(why, moment, rules);
                let state = match next.state {
                    ServerState::Ready => next.wait(moment, rules),
                    state => state,
                };
                (Self { state, ..next }, None)
            }
            HealthEvent::Unused if self.state == ServerState::Ready => self.become_state(ServerState::Idle),
            HealthEvent::LoginMissing => self.become_state(ServerState::NeedsLogin),
            HealthEvent::LoggedIn if self.state == ServerState::NeedsLogin => (Self::new(), None),
            HealthEvent::ApprovalMissing => self.become_state(ServerState::NeedsApproval),
            HealthEvent::Approved if self.state == ServerState::NeedsApproval => (Self::new(), None),
            HealthEvent::Unusable { why } => self.become_state(ServerState::Refused(why)),
            HealthEvent::Reset if !self.is_running() && self.state != ServerState::NeedsApproval => (Self::new(), None),
            // What comes too late changes nothing.
            HealthEvent::Started
            | HealthEvent::Answered
            | HealthEvent::Failed { .. }
            | HealthEvent::Ended { .. }
            | HealthEvent::Unused
            | HealthEvent::LoggedIn
            | HealthEvent::Approved
            | HealthEvent::Reset => (self.clone(), None),
        }
    }

    /// Why it is as it is, if there is more to say than the state's word.
    pub fn detail(&self) -> Option<&str> {
        match &self.state {
            ServerState::Refused(why) => Some(why),
            ServerState::Failing { .. } | ServerState::Open { .. } => self.last_failure.as_deref(),
            ServerState::Configured
            | ServerState::Starting
            | ServerState::Ready
            | ServerState::Idle
            | ServerState::NeedsLogin
            | ServerState::NeedsApproval => None,
        }
    }

    /// How long it takes until the server may be started; `None` if it runs, may be started now, or waits for the user.
    pub fn wait_ms(&self, now_ms: u64, rules: &HealthRules) -> Option<u64> {
        let (at_ms, bound_ms) = match self.state {
            ServerState::Failing { retry_at_ms } => (retry_at_ms, rules.retry_max_ms),
            ServerState::Open { until_ms } => (until_ms, rules.open_ms),
            ServerState::Configured
            | ServerState::Starting
            | ServerState::Ready
            | ServerState::Idle
            | ServerState::NeedsLogin
            | ServerState::NeedsApproval
            | ServerState::Refused(_) => return None,
        };
        // A wait that is longer than any can be comes from a clock that was set back.
        at_ms.checked_sub(now_ms).filter(|wait_ms| (1..=bound_ms).contains(wait_ms))
    }

    /// What a caller reads who wants the server now and cannot have it; `None` if it can.
    pub fn refuse(&self, server: &str, now_ms: u64, rules: &HealthRules) -> Option<String> {
        match &self.state {
            ServerState::NeedsLogin => {
                Some(format!("{server} needs a login: ask the user to run `infold servers login {server}`"))
            }
            ServerState::NeedsApproval => {
                Some(format!("{server} waits for approval: ask the user to run `infold approve {server}`"))
            }
            ServerState::Refused(why) => Some(format!("{server} cannot be used: {why}")),
            ServerState::Failing { .. } | ServerState::Open { .. } => {
                let seconds = self.wait_ms(now_ms, rules)?.div_ceil(1_000);
                let failures = match self.failures {
                    1 => "1 failure".to_owned(),
                    failures => format!("{failures} failures in a row"),
                };
                let last = self.last_failure.as_deref().unwrap_or("unknown");
                Some(format!("{server} is not available: {failures}, next attempt in {seconds} s (last: {last})"))
            }
            ServerState::Configured | ServerState::Starting | ServerState::Ready | ServerState::Idle => None,
        }
    }

    fn is_running(&self) -> bool {
        matches!(self.state, ServerState::Starting | ServerState::Ready)
    }

    /// The same server in another state; what runs and must not any more is stopped.
    fn become_state(&self, state: ServerState) -> (Self, Option<HealthAction>) {
        let next = Self { state, ..self.clone() };
        let stops = self.is_running() && !next.is_running();
        (next, stops.then_some(HealthAction::Stop))
    }

    fn want(&self, now_ms: u64, rules: &HealthRules) -> (Self, Option<HealthAction>) {
        let may_start = match self.state {
            ServerState::Configured | ServerState::Idle => true,
            ServerState::Failing { .. } | ServerState::Open { .. } => self.wait_ms(now_ms, rules).is_none(),
            ServerState::Starting
            | ServerState::Ready
            | ServerState::NeedsLogin
            | ServerState::NeedsApproval
            | ServerState::Refused(_) => false,
        };
        if !may_start {
            return (self.clone(), None);
        }
        (Self { state: ServerState::Starting, ..self.clone() }, Some(HealthAction::Start))
    }

    /// One failure more. A server that has started and fails once in a while goes on: only its start, or too many
    /// failures in a row, end it.
    fn fail(&self, why: String, moment: HealthMoment, rules: &HealthRules) -> (Self, Option<HealthAction>) {
        let failures = self.failures.saturating_add(1);
        let failed = Self { state: self.state.clone(), failures, last_failure: Some(why) };
        if failures < rules.failures_max && self.state == ServerState::Ready {
            return (failed, None);
        }
        let state = failed.wait(moment, rules);
        failed.become_state(state)
    }

    /// The state of a server that has failed as often as this one.
    fn wait(&self, moment: HealthMoment, rules: &HealthRules) -> ServerState {
        if self.failures >= rules.failures_max {
            return ServerState::Open { until_ms: moment.now_ms.saturating_add(rules.open_ms) };
        }
        let doublings = self.failures.saturating_sub(1).min(32);
        let wait_ms = rules.retry_first_ms.saturating_mul(1 << doublings).min(rules.retry_max_ms);
        // Half of the wait is left to chance, so that servers that failed together do not come back together.
        let half_ms = wait_ms / 2;
        let chance_ms = u128::from(wait_ms - half_ms) * u128::from(moment.jitter) / u128::from(u16::MAX);
        let wait_ms = half_ms + u64::try_from(chance_ms).unwrap_or_default();
        ServerState::Failing { retry_at_ms: moment.now_ms.saturating_add(wait_ms) }
    }
}

impl Default for ServerHealth {
    fn default() -> Self {
        Self::new()
    }
}
