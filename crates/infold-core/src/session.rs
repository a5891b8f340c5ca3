//! A session as its log leaves it: what all events, applied in order, add up to.
//!
//! [`Session::apply`] is the only thing that changes a session. A session in memory holds all its open branches, and of
//! the ended ones those that somebody asked for, because its cost must not grow with what it has long finished.
//!
//! Invariants: a branch that has ended has no open branch below it; the active thread is open.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::event::{Opening, Origin};
use crate::{
    Allocation, Branch, BranchId, End, Event, Findings, Owner, ProjectHash, Scrubbed, SessionId, Status, Thread,
};

/// A session as its log leaves it now. It is stored as JSON, without its branches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// The name that the caller gave it, or that infold made.
    pub id: SessionId,
    /// To whom it belongs; nobody else can see it.
    pub owner: Owner,
    /// The project it belongs to, if it was named by one.
    pub project: Option<ProjectHash>,
    /// The session that it was forked from and the context that it got; `None` if it is no fork.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Box<Origin>>,
    /// How many events were applied. An append names the version that it was decided on.
    pub version: u64,
    /// The time of its first event, in milliseconds since 1970.
    pub started_at_ms: u64,
    /// The time of its latest event.
    pub active_at_ms: u64,
    /// The time at which it ended; `None` while it has not.
    pub ended_at_ms: Option<u64>,
    /// The thread that works now.
    pub active: Thread,
    /// How many branches it has opened, ended ones included.
    pub opened: u64,
    /// Tokens in the main thread, with the messages that branches returned to it.
    pub main_tokens: u64,
    /// Tokens that the threads of folded branches hold, and that are therefore in no prompt any more.
    pub folded_tokens: u64,
    /// Tokens of the messages that folded branches gave to their parents.
    pub returned_tokens: u64,
    /// Tokens lent to branches of the main thread, where budgets are pooled.
    pub lent_tokens: u64,
    /// Tokens that came into any thread so far; never goes down, not even by a rollback.
    pub spent_tokens: u64,
    /// Branches that were cut short and whose parents have not got the notice of it yet.
    #[serde(rename = "untold")]
    pub unreported: Vec<BranchId>,
    /// Its branches: all open ones, and those ended ones that were asked for.
    #[serde(skip)]
    pub branches: BTreeMap<BranchId, Branch>,
}

impl Session {
    /// A session of which nothing is recorded yet.
    pub fn new(owner: Owner, id: SessionId, now_ms: u64) -> Self {
        Self {
            id,
            owner,
            project: None,
            origin: None,
            version: 0,
            started_at_ms: now_ms,
            active_at_ms: now_ms,
            ended_at_ms: None,
            active: Thread::Main,
            opened: 0,
            main_tokens: 0,
            folded_tokens: 0,
            returned_tokens: 0,
            lent_tokens: 0,
            spent_tokens: 0,
            unreported: Vec::new(),
            branches: BTreeMap::new(),
        }
    }

    /// The session that it was forked from; `None` if it is no fork, or if nobody named its parent.
    pub fn forked_from(&self) -> Option<&SessionId> {
        self.origin.as_ref()?.parent.as_ref()
    }

    /// The branches that have not ended, in the order of their ids.
    pub fn open(&self) -> impl Iterator<Item = &Branch> {
        self.branches.values().filter(|branch| branch.is_open())
    }

    /// The branch that works now; `None` if the main thread does.
    pub fn active_branch(&self) -> Option<&Branch> {
        self.branches.get(self.active.branch()?)
    }

    /// How deep a thread is nested; the main thread is at 0.
    pub fn depth(&self, thread: &Thread) -> u32 {
        thread.branch().and_then(|id| self.branches.get(id)).map_or(0, |branch| branch.depth)
    }

    /// The threads from the main thread down to `thread`.
    pub fn path(&self, thread: &Thread) -> Vec<Thread> {
        let mut path = Vec::new();
        let mut at = thread.clone();
        while let Some(branch) = at.branch().and_then(|id| self.branches.get(id)) {
            let parent = branch.parent.clone();
            path.push(std::mem::replace(&mut at, parent));
        }
        path.push(Thread::Main);
        path.reverse();
        path
    }

    /// Open branches below `branch`, deepest first, and of one depth the latest first.
    pub fn open_below(&self, branch: &BranchId) -> Vec<BranchId> {
        let mut below: Vec<&Branch> = self.open().filter(|other| self.lies_below(other, branch)).collect();
        below.sort_by_key(|other| std::cmp::Reverse((other.depth, other.ordinal)));
        below.into_iter().map(|other| other.id.clone()).collect()
    }

    fn lies_below(&self, branch: &Branch, above: &BranchId) -> bool {
        let mut at = branch;
        while let Some(parent) = at.parent.branch() {
            if parent == above {
                return true;
            }
            let Some(next) = self.branches.get(parent) else { return false };
            at = next;
        }
        false
    }

    /// Branches of a thread that were cut short, and of whose end the thread has not got the notice yet.
    pub fn unreported_to(&self, thread: &Thread) -> Vec<BranchId> {
        let is_its = |id: &&BranchId| self.branches.get(*id).is_some_and(|branch| branch.parent == *thread);
        self.unreported.iter().filter(is_its).cloned().collect()
    }

    /// The branch itself, if it was cut short and its parent has not got the notice yet; else nothing.
    pub fn unreported_of(&self, branch: &BranchId) -> Vec<BranchId> {
        self.unreported.iter().filter(|unreported| *unreported == branch).cloned().collect()
    }

    /// Tokens in the main thread and all open branches.
    pub fn total_tokens(&self) -> u64 {
        self.main_tokens + self.open().map(|branch| branch.used_tokens).sum::<u64>()
    }

    /// What is left of a session's budget.
    pub fn budget_left_tokens(&self, budget_tokens: u64, allocation: Allocation) -> u64 {
        let used = match allocation {
            Allocation::Independent => self.spent_tokens,
            Allocation::Pool => self.main_tokens + self.lent_tokens,
        };
        budget_tokens.saturating_sub(used)
    }

    /// Changes the session by one event of its log, which happened at `at_ms`.
    pub fn apply(&mut self, event: &Event, at_ms: u64) {
        self.version += 1;
        self.active_at_ms = at_ms;
        match event {
            Event::SessionStarted { project } => {
                self.project.clone_from(project);
                self.started_at_ms = at_ms;
            }
            // The context that a fork began with counts when somebody reads it, as any offloaded result does.
            Event::SessionForked { origin, .. } => self.origin = Some(origin.clone()),
            Event::BranchOpened(opening) => self.apply_opened(opening, at_ms),
            Event::BranchActivated { branch } => {
                self.active = Thread::Branch(branch.clone());
                self.change(branch, |branch| branch.status = Status::Active);
            }
            Event::OperationSeen { thread, operation } => {
                self.grow(thread, operation.tokens);
                if let Some(id) = thread.branch() {
                    self.change(id, |branch| {
                        branch.operations += 1;
                        branch.findings.note(operation);
                    });
                }
            }
            Event::Said { branch, words } => {
                self.change(branch, |branch| branch.findings.last_words.clone_from(words));
            }
            Event::Answered { thread, output_tokens, .. } => self.grow(thread, *output_tokens),
            Event::BudgetWarning { branch, .. } => self.change(branch, |branch| branch.warned = true),
            Event::BudgetExhausted { branch, overrun_tokens, blob, .. } => self.change(branch, |branch| {
                branch.overrun_tokens += *overrun_tokens;
                branch.findings.unseen.clone_from(blob);
            }),
            Event::BranchEnded { branch, reason, result, result_tokens, .. } => {
                let end = End { reason: *reason, at_ms, result: result.clone(), result_tokens: *result_tokens };
                self.apply_ended(branch, end);
            }
            Event::ResultAmended { branch, result, result_tokens, .. } => {
                self.apply_amended(branch, result, *result_tokens);
            }
            Event::RolledBack { to, reopened, discarded } => self.apply_rolled_back(to, reopened, discarded, at_ms),
            Event::EndsReported { branches } => self.unreported.retain(|branch| !branches.contains(branch)),
            Event::SessionEnded {} => self.ended_at_ms = Some(at_ms),
        }
    }

    fn apply_opened(&mut self, opening: &Opening, at_ms: u64) {
        self.opened += 1;
        self.spent_tokens += opening.brief_tokens;
        if opening.allocation == Allocation::Pool {
            *self.lent_by(&opening.parent) += opening.budget_tokens;
        }
        let branch = Branch {
            id: opening.branch.clone(),
            parent: opening.parent.clone(),
            depth: opening.depth,
            ordinal: self.opened,
            generation: 1,
            description: opening.description.clone(),
            prompt: opening.prompt.clone(),
            memories: opening.injected.as_ref().map(|given| given.memories.clone()).unwrap_or_default(),
            work_place: opening.work_place.clone(),
            claims: opening.claims.clone(),
            isolation: opening.isolation,
            start: opening.start,
            status: Status::Created,
            budget_tokens: opening.budget_tokens,
            allocation: opening.allocation,
            used_tokens: opening.brief_tokens,
            lent_tokens: 0,
            overrun_tokens: 0,
            operations: 0,
            warned: false,
            opened_at_ms: at_ms,
            timeout_ms: opening.timeout_ms,
            deadline_ms: at_ms + opening.timeout_ms,
            end: None,
            discarded: false,
            findings: Findings::default(),
        };
        let before = branch.ordinal - 1;
        self.branches.insert(branch.id.clone(), branch);
        self.line_up(&opening.parent, before, at_ms);
    }

    /// Whether a branch waits for others to end before its time begins to run.
    pub(crate) fn is_waiting(&self, branch: &Branch) -> bool {
        !branch.start.is_at_once() && self.in_turn(&branch.parent).any(|other| other.ordinal < branch.ordinal)
    }

    fn in_turn(&self, parent: &Thread) -> impl Iterator<Item = &Branch> {
        self.open().filter(move |branch| !branch.start.is_at_once() && branch.parent == *parent)
    }

    /// Sets the deadlines of the branches of `parent` that run in turn and were opened after number `ordinal`. Each
    /// gets its whole time from when those before it have ended or are out of time.
    fn line_up(&mut self, parent: &Thread, ordinal: u64, at_ms: u64) {
        let (in_front, mut behind): (Vec<&Branch>, Vec<&Branch>) =
            self.in_turn(parent).partition(|branch| branch.ordinal <= ordinal);
        behind.sort_by_key(|branch| branch.ordinal);
        let mut turn_ms = in_front.iter().map(|branch| branch.deadline_ms).fold(at_ms, u64::max);
        for id in behind.into_iter().map(|branch| branch.id.clone()).collect::<Vec<_>>() {
            let Some(branch) = self.branches.get_mut(&id) else { continue };
            branch.deadline_ms = turn_ms + branch.timeout_ms;
            turn_ms = branch.deadline_ms;
        }
    }

    fn apply_ended(&mut self, id: &BranchId, end: End) {
        let Some(branch) = self.branches.get_mut(id) else { return };
        let (parent, ordinal, start, at_ms) = (branch.parent.clone(), branch.ordinal, branch.start, end.at_ms);
        let returned_tokens = end.result_tokens;
        if end.reason.is_forced() {
            self.unreported.push(id.clone());
        }
        branch.status = end.reason.status();
        let handed_back = (branch.description.clone(), end.result.clone());
        branch.end = Some(end);
        let (used_tokens, unused_tokens) = (branch.used_tokens, branch.budget_left_tokens());
        let pooled = branch.allocation == Allocation::Pool;

        self.folded_tokens += used_tokens;
        self.returned_tokens += returned_tokens;
        if pooled {
            let lent_tokens = self.lent_by(&parent);
            *lent_tokens = lent_tokens.saturating_sub(unused_tokens);
        }
        self.grow(&parent, returned_tokens);
        if let (Some(parent), true) = (parent.branch(), returned_tokens > 0) {
            self.change(parent, |parent| parent.findings.note_returned(&handed_back.0, &handed_back.1));
        }
        // A branch that has ended can get no notices any more.
        let ended = Thread::Branch(id.clone());
        let moot = self.unreported_to(&ended);
        self.unreported.retain(|branch| !moot.contains(branch));
        if !start.is_at_once() {
            self.line_up(&parent, ordinal, at_ms);
        }
        let held_the_turn = self.active.branch() == Some(id);
        if held_the_turn {
            self.active = self.next_active(&parent);
        }
    }

    /// Replaces the message for a branch's parent, which has not seen the one before.
    fn apply_amended(&mut self, id: &BranchId, result: &Scrubbed, result_tokens: u64) {
        let Some(branch) = self.branches.get_mut(id) else { return };
        let Some(end) = &mut branch.end else { return };
        let before_tokens = std::mem::replace(&mut end.result_tokens, result_tokens);
        end.result = result.clone();
        let (parent, description) = (branch.parent.clone(), branch.description.clone());
        self.returned_tokens = (self.returned_tokens + result_tokens).saturating_sub(before_tokens);
        self.spent_tokens += result_tokens.saturating_sub(before_tokens);
        match &parent {
            Thread::Main => self.main_tokens = (self.main_tokens + result_tokens).saturating_sub(before_tokens),
            Thread::Branch(parent) => self.change(parent, |parent| {
                parent.take_out(before_tokens);
                parent.grow(result_tokens);
                parent.findings.note_returned(&description, result);
            }),
        }
        self.unreported.retain(|branch| branch != id);
    }

    /// Who goes on when a branch of `parent` has ended: the latest of its open siblings, because a
    /// parent waits for all of them; then the parent.
    fn next_active(&self, parent: &Thread) -> Thread {
        let siblings = self.open().filter(|branch| branch.parent == *parent);
        match siblings.max_by_key(|branch| branch.ordinal) {
            Some(sibling) => Thread::Branch(sibling.id.clone()),
            None => parent.clone(),
        }
    }

    fn apply_rolled_back(&mut self, to: &BranchId, reopened: &[BranchId], discarded: &[BranchId], at_ms: u64) {
        for id in discarded {
            self.change(id, |branch| branch.discarded = true);
            self.take_back(id);
        }
        for id in reopened {
            // The message of a discarded branch was taken back when that was discarded.
            if self.branches.get(id).is_some_and(|branch| !branch.discarded) {
                self.take_back(id);
            }
            let Some(branch) = self.branches.get_mut(id) else { continue };
            branch.discarded = false;
            branch.status = Status::Active;
            branch.generation += 1;
            branch.end = None;
            branch.findings.unseen = None;
            branch.deadline_ms = at_ms + branch.timeout_ms;
            let (parent, pooled) = (branch.parent.clone(), branch.allocation == Allocation::Pool);
            let (left_tokens, ordinal, start) = (branch.budget_left_tokens(), branch.ordinal, branch.start);
            if pooled {
                *self.lent_by(&parent) += left_tokens;
            }
            if !start.is_at_once() {
                self.line_up(&parent, ordinal, at_ms);
            }
        }
        // Last, because taking messages back, above, first reduces what did not fit.
        reopened.iter().for_each(|id| self.change(id, |branch| branch.overrun_tokens = 0));
        self.unreported.retain(|branch| !reopened.contains(branch) && !discarded.contains(branch));
        self.active = Thread::Branch(to.clone());
    }

    /// Takes an ended branch's message out of its parent's thread again, and its tokens out of what
    /// has been folded.
    fn take_back(&mut self, id: &BranchId) {
        let Some(branch) = self.branches.get(id) else { return };
        let Some(end) = &branch.end else { return };
        let (parent, used_tokens, returned_tokens) = (branch.parent.clone(), branch.used_tokens, end.result_tokens);
        self.folded_tokens = self.folded_tokens.saturating_sub(used_tokens);
        self.returned_tokens = self.returned_tokens.saturating_sub(returned_tokens);
        let Some(parent) = parent.branch().and_then(|id| self.branches.get_mut(id)) else {
            self.main_tokens = self.main_tokens.saturating_sub(returned_tokens);
            return;
        };
        let before_tokens = parent.used_tokens;
        parent.take_out(returned_tokens);
        // A parent that has folded was added to the folded tokens with this message in it.
        if !parent.is_open() && !parent.discarded {
            self.folded_tokens = self.folded_tokens.saturating_sub(before_tokens - parent.used_tokens);
        }
    }

    fn grow(&mut self, thread: &Thread, tokens: u64) {
        self.spent_tokens += tokens;
        match thread {
            Thread::Main => self.main_tokens += tokens,
            Thread::Branch(id) => self.change(id, |branch| branch.grow(tokens)),
        }
    }

    fn lent_by(&mut self, thread: &Thread) -> &mut u64 {
        match thread.branch().and_then(|id| self.branches.get_mut(id)) {
            Some(branch) => &mut branch.lent_tokens,
            None => &mut self.lent_tokens,
        }
    }

    fn change(&mut self, id: &BranchId, change: impl FnOnce(&mut Branch)) {
        if let Some(branch) = self.branches.get_mut(id) {
            change(branch);
        }
    }
}
