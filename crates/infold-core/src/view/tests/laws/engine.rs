//! An engine that is made up: as little as a plan's actions and our tools' answers need.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::super::text::{branch, key};
use crate::view::{Anchor, BranchState, ForcedFold, PlanAction, StoredBranch, StoredDecisions};
use crate::{BranchId, EndReason, Thread};

#[derive(Debug, Default)]
pub struct Engine {
    pub known: StoredDecisions,
    pub parents: BTreeMap<BranchId, Thread>,
    /// In the order in which they were opened.
    pub opened: Vec<BranchId>,
    pub discarded: Vec<BranchId>,
    /// Whether a fold took place that no call shows, or anything else that only the store knows.
    pub is_needed: bool,
    ticks: usize,
}

impl Engine {
    /// What a branch has found so far: another text each time.
    fn partial(&mut self) -> String {
        self.ticks += 1;
        format!("found {}", self.ticks)
    }

    pub fn open(&mut self, parent: Thread, inherits: bool) -> Value {
        let number = u8::try_from(self.opened.len() + 1).expect("few branches");
        let id = branch(number);
        self.opened.push(id.clone());
        self.parents.insert(id.clone(), parent);
        self.set_open(&id);
        let mut body = json!({"branch_id": id, "budget_allocated": 8192, "depth": 1});
        if inherits {
            body["isolation"] = json!("inherit");
        }
        body
    }

    fn set_open(&mut self, id: &BranchId) {
        let partial = self.partial();
        let generation = self.known.branches.get(id).map_or(1, |known| known.generation + 1);
        self.known.branches.insert(id.clone(), StoredBranch { generation, state: BranchState::Open { partial } });
    }

    pub fn is_open(&self, id: &BranchId) -> bool {
        self.known.branches.get(id).is_some_and(|known| matches!(known.state, BranchState::Open { .. }))
    }

    pub fn lies_below(&self, id: &BranchId, above: &BranchId) -> bool {
        let mut at = id.clone();
        while let Some(Thread::Branch(parent)) = self.parents.get(&at) {
            if parent == above {
                return true;
            }
            at = parent.clone();
        }
        false
    }

    fn end(&mut self, id: &BranchId, reason: EndReason, result: String) {
        let below: Vec<BranchId> =
            self.opened.iter().filter(|other| self.is_open(other) && self.lies_below(other, id)).cloned().collect();
        for other in below {
            self.set_ended(&other, EndReason::ParentReturning, String::new());
        }
        self.set_ended(id, reason, result);
    }

    fn set_ended(&mut self, id: &BranchId, reason: EndReason, result: String) {
        if let Some(known) = self.known.branches.get_mut(id) {
            known.state = BranchState::Ended { reason, result };
        }
    }

    /// Ends a branch by force. The transcript does not show it.
    pub fn force(&mut self, id: &BranchId) {
        self.is_needed = true;
        let result = cut_short(EndReason::BudgetExhausted, &self.partial());
        self.end(id, EndReason::BudgetExhausted, result);
    }

    pub fn fold(&mut self, id: &BranchId, message: &str) -> Value {
        let is_late = self.known.branches.get(id).is_some_and(|known| {
            let by_force = matches!(known.state, BranchState::Ended { reason: EndReason::BudgetExhausted, .. });
            let stored = self.known.endings.iter().any(|end| end.branch == *id && end.generation == known.generation);
            by_force && !stored
        });
        if !self.is_open(id) && !is_late {
            return json!({"code": "branch_ended", "status": 409, "message": "it is over", "data": {"branch_id": id}});
        }
        self.end(id, EndReason::Returned, message.to_owned());
        json!({"success": true, "tokens_used": 1, "message": message, "branch_id": id, "status": "completed"})
    }

    pub fn roll_back(&mut self, to: &BranchId) -> Value {
        if self.discarded.contains(to) || !self.known.branches.contains_key(to) {
            return json!({"code": "branch_not_found", "status": 404, "message": "no such branch"});
        }
        let at = self.opened.iter().position(|id| id == to).expect("it was opened");
        let later: Vec<BranchId> =
            self.opened[at + 1..].iter().filter(|id| !self.discarded.contains(id)).cloned().collect();
        for id in &later {
            if self.is_open(id) {
                self.set_ended(id, EndReason::RolledBack, String::new());
            }
        }
        self.discarded.extend(later.clone());
        let mut chain = vec![to.clone()];
        while let Some(Thread::Branch(parent)) = chain.last().and_then(|id| self.parents.get(id)) {
            chain.push(parent.clone());
        }
        for id in chain.iter().rev() {
            if !self.is_open(id) {
                self.set_open(id);
            }
        }
        json!({"rolled_back_to": to, "branches_discarded": later, "restored": true, "generation": 2})
    }

    /// Carries out an action that a plan asks for.
    pub fn act(&mut self, action: &PlanAction) {
        match action {
            PlanAction::Interrupt { branch, place } => {
                self.is_needed = true;
                let result = match self.known.branches.get(branch).map(|known| &known.state) {
                    Some(BranchState::Open { partial }) => cut_short(EndReason::Interrupted, partial),
                    Some(BranchState::Ended { result, .. }) => result.clone(),
                    None => panic!("a branch that nobody knows is interrupted"),
                };
                self.end(branch, EndReason::Interrupted, result);
                self.record(branch, place);
            }
            PlanAction::End { branch, place } => self.record(branch, place),
            PlanAction::Reopen(branch) => {
                self.discarded.retain(|id| id != branch);
                self.is_needed = true;
                self.set_open(branch);
            }
            PlanAction::Adopt { branch, parent, .. } => {
                self.parents.insert(branch.clone(), parent.clone());
                assert!(BranchId::verify(branch.as_str(), &key()).is_some());
                self.set_open(branch);
            }
            PlanAction::Lose(branch) => self.set_ended(branch, EndReason::OpeningLost, String::new()),
            PlanAction::Restart(restart) => self.known.restarts.push(restart.clone()),
            PlanAction::Continue(place) => {
                self.is_needed = true;
                self.known.continued.insert(*place);
            }
            PlanAction::Remember(answers) => self.known.answers.extend(answers.iter().cloned()),
        }
    }

    fn record(&mut self, branch: &BranchId, place: &Anchor) {
        let known = &self.known.branches[branch];
        let BranchState::Ended { result, .. } = &known.state else { panic!("the end of an open branch is recorded") };
        let ending = ForcedFold {
            branch: branch.clone(),
            generation: known.generation,
            place: place.clone(),
            result: result.clone(),
        };
        let is_it = |end: &&ForcedFold| end.branch == ending.branch && end.generation == ending.generation;
        assert_eq!(self.known.endings.iter().find(is_it), None, "each generation has one end");
        self.known.endings.push(ending);
    }
}

/// A partial result with the beginning that the real engine gives it.
fn cut_short(reason: EndReason, partial: &str) -> String {
    format!("[Partial result: {}. The sub-task did not return by itself.]\n{partial}", reason.as_str())
}
