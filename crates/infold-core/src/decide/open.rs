//! Opening a branch: whether it is allowed, with what budget, and until when.
//!
//! How many branches are open in the whole database is checked by the store, which alone knows it.

use super::Open;
use super::draft::DecisionDraft;
use crate::event::Opening;
use crate::{Allocation, ContextBound, Event, Refusal, Scrubbed, Thread};

const RATE_WINDOW_MS: u64 = 60_000;

impl DecisionDraft<'_> {
    pub(super) fn open(&mut self, open: &Open) -> Result<(), Refusal> {
        self.begin()?;
        let parent = self.parent_of(open)?;
        let depth = self.session.depth(&parent) + 1;
        self.check_limits(open, depth)?;
        let brief_tokens = self.brief_tokens(open);
        let budget_tokens = self.allocate(&parent, open.budget_tokens, brief_tokens)?;
        self.push_opening(open, parent, budget_tokens, brief_tokens);
        Ok(())
    }

    /// Opens a branch that was opened before: with the budget that it had then, and under its parent if that is open.
    pub(super) fn adopt(&mut self, open: &Open) -> Result<(), Refusal> {
        self.begin()?;
        if self.session.branches.contains_key(&open.id) {
            return Ok(());
        }
        let parent = self.parent_of(open).unwrap_or(Thread::Main);
        let brief_tokens = self.brief_tokens(open);
        let budget_tokens = open.budget_tokens.unwrap_or(self.rules.limits.budget_default_tokens);
        self.push_opening(open, parent, budget_tokens.max(brief_tokens + 1), brief_tokens);
        Ok(())
    }

    fn push_opening(&mut self, open: &Open, parent: Thread, budget_tokens: u64, brief_tokens: u64) {
        let limits = self.rules.limits;
        let timeout_s = open.timeout_s.unwrap_or(limits.timeout_default_s).min(limits.timeout_max_s);
        let depth = self.session.depth(&parent) + 1;
        let injected = open.memories.given(&open.id, budget_tokens, brief_tokens, self.rules.counter);
        self.push(Event::BranchOpened(Box::new(Opening {
            branch: open.id.clone(),
            parent,
            depth,
            description: open.description.clone(),
            prompt: open.prompt.clone(),
            brief_tokens: brief_tokens + injected.as_ref().map_or(0, |given| given.tokens),
            injected,
            work_place: open.work_place.clone(),
            budget_tokens,
            allocation: limits.allocation,
            timeout_ms: timeout_s * 1000,
            claims: open.claims.clone(),
            isolation: open.isolation,
            start: open.start,
        })));
        self.push(Event::BranchActivated { branch: open.id.clone() });
        self.check_budget(&Thread::Branch(open.id.clone()));
    }

    fn parent_of(&self, open: &Open) -> Result<Thread, Refusal> {
        let parent = open.parent.clone().unwrap_or_else(|| self.session.active.clone());
        if let Some(id) = parent.branch() {
            let branch = self.find_branch(id)?;
            if !branch.is_open() {
                return Err(Refusal::ParentNotActive { branch: id.clone(), status: branch.status });
            }
        }
        Ok(parent)
    }

    fn check_limits(&self, open: &Open, depth: u32) -> Result<(), Refusal> {
        let limits = self.rules.limits;
        if depth > limits.depth_max {
            return Err(Refusal::TooDeep { depth, depth_max: limits.depth_max });
        }
        let open_now = self.session.open().count() as u64;
        if open_now >= limits.open_per_session_max {
            return Err(Refusal::TooManyInSession { open: open_now, open_max: limits.open_per_session_max });
        }
        // An opening in the future was made before the clock was set back. When it was cannot be said any more, so it
        // does not count: nobody waits longer than the window, and each such step lets one more window's worth through.
        let mark_ms = open.rate_mark_ms.filter(|mark_ms| *mark_ms <= self.now_ms);
        let free_again_ms = mark_ms.map_or(0, |mark_ms| mark_ms + RATE_WINDOW_MS);
        if free_again_ms > self.now_ms {
            return Err(Refusal::TooFast {
                per_minute_max: limits.openings_per_minute_max,
                retry_after_ms: free_again_ms - self.now_ms,
            });
        }
        let current_tokens = self.session.total_tokens();
        if limits.context_bound == ContextBound::Hard && current_tokens >= limits.context_limit_tokens {
            return Err(Refusal::ContextLimit { current_tokens, limit_tokens: limits.context_limit_tokens });
        }
        Ok(())
    }

    fn brief_tokens(&self, open: &Open) -> u64 {
        let prompt = open.prompt.as_ref().map_or("", Scrubbed::as_str);
        self.rules.counter.count(open.description.as_str()) + self.rules.counter.count(prompt)
    }

    fn allocate(&self, parent: &Thread, wished_tokens: Option<u64>, brief_tokens: u64) -> Result<u64, Refusal> {
        let limits = self.rules.limits;
        let wished_tokens = wished_tokens.unwrap_or(limits.budget_default_tokens).min(limits.budget_max_tokens);
        let lender = parent.branch().and_then(|id| self.session.branches.get(id));
        let session_left_tokens =
            limits.session_budget_tokens.map(|budget| self.session.budget_left_tokens(budget, limits.allocation));
        let left_tokens = match (limits.allocation, lender) {
            (Allocation::Pool, Some(branch)) => Some(branch.budget_left_tokens()),
            (Allocation::Pool, None) | (Allocation::Independent, _) => session_left_tokens,
        };
        if left_tokens == Some(0) {
            return Err(Refusal::BudgetGone);
        }
        let budget_tokens = left_tokens.map_or(wished_tokens, |left_tokens| wished_tokens.min(left_tokens));
        if brief_tokens >= budget_tokens {
            return Err(Refusal::BriefTooLarge { brief_tokens, budget_tokens });
        }
        Ok(budget_tokens)
    }
}
