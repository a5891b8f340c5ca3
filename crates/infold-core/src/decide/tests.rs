//! Decisions, case by case; as a machine against a small model; and racing for one branch.

mod cases;
mod laws;
mod metering;
mod races;
mod turns;
mod words;

use crate::memory::OpeningMemories;
use crate::{
    Allocation, BranchId, Claims, Command, ContextBound, Counter, Decision, Family, IdKey, Limits, Open, Operation,
    Owner, Refusal, ReturnOutcome, Rules, Scrubbed, Scrubber, Session, SessionId, Thread, decide,
};

pub(crate) fn limits() -> Limits {
    Limits {
        budget_default_tokens: 8192,
        budget_max_tokens: 32_768,
        timeout_default_s: 300,
        timeout_max_s: 600,
        depth_max: 3,
        open_per_session_max: 10,
        open_per_instance_max: 100,
        fair_share_percent: None,
        openings_per_minute_max: 5,
        allocation: Allocation::Independent,
        session_budget_tokens: None,
        context_limit_tokens: 32_768,
        context_bound: ContextBound::Soft,
        session_end_ms: 30_000,
    }
}

pub(crate) fn scrubbed(text: &str) -> Scrubbed {
    Scrubber::new([7; 32]).scrub(text).unwrap()
}

pub(crate) fn id(number: u64) -> BranchId {
    BranchId::mint(number.to_be_bytes(), &IdKey::derive(&[1; 32]))
}

/// A session with its limits, clock and log, changed command by command.
pub(crate) struct World {
    pub(crate) session: Session,
    pub(crate) limits: Limits,
    pub(crate) now_ms: u64,
    pub(crate) log: Vec<(u64, crate::Event)>,
    counter: Counter,
}

impl World {
    pub(crate) fn new(limits: Limits) -> Self {
        let session = Session::new(Owner::local(), SessionId::parse("s").unwrap(), 0);
        Self { session, limits, now_ms: 1_000_000, log: Vec::new(), counter: Counter::new(Family::Gpt) }
    }

    pub(crate) fn decide(&self, command: &Command) -> Result<Decision, Refusal> {
        let rules = Rules { limits: &self.limits, counter: &self.counter };
        decide(&self.session, std::slice::from_ref(command), rules, self.now_ms)
    }

    /// Decides a command, adds its events to the log and takes over the session after them.
    pub(crate) fn run(&mut self, command: &Command) -> Result<Decision, Refusal> {
        let decision = self.decide(command)?;
        self.log.extend(decision.events.iter().map(|event| (self.now_ms, event.clone())));
        self.session = decision.after.clone();
        Ok(decision)
    }

    pub(crate) fn open(&mut self, number: u64, parent: Option<Thread>) -> Result<BranchId, Refusal> {
        self.run(&open(number, parent, None)).map(|_| id(number))
    }

    pub(crate) fn count(&self, text: &str) -> u64 {
        self.counter.count(text)
    }

    pub(crate) fn status(&self, branch: &BranchId) -> &'static str {
        self.session.branches[branch].status.as_str()
    }
}

pub(crate) fn open(number: u64, parent: Option<Thread>, budget_tokens: Option<u64>) -> Command {
    Command::Open(Box::new(Open {
        id: id(number),
        parent,
        description: scrubbed("look for it"),
        prompt: None,
        budget_tokens,
        timeout_s: None,
        claims: Claims::default(),
        isolation: crate::Isolation::Isolated,
        start: crate::Start::AtOnce,
        memories: OpeningMemories::Nothing,
        work_place: None,
        rate_mark_ms: None,
    }))
}

pub(crate) fn observe(thread: Option<Thread>, tokens: u64) -> Command {
    let operation = Operation {
        tool: scrubbed("read_file"),
        call_id: None,
        arguments: scrubbed(r#"{"path":"src/a.rs"}"#),
        result: scrubbed("fn main() {}"),
        blob: None,
        tokens,
    };
    Command::Observe { thread, operation: Box::new(operation) }
}

pub(crate) fn fold(branch: Option<&BranchId>, message: &str) -> Command {
    Command::Fold { branch: branch.cloned(), message: scrubbed(message), outcome: ReturnOutcome::Completed }
}
