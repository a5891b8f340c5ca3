//! Whether what clients saw of a session can have happened one thing after the other, each at a moment between its call and its
//! answer: linearisability, looked for by trying orders.

use std::collections::{BTreeMap, HashSet};

/// What a client asked of a session, with the answer that it got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// A branch was opened.
    Opened(String),
    /// A branch was folded.
    Folded(String),
    /// These branches were listed, `true` for those that had ended.
    Listed(BTreeMap<String, bool>),
}

/// An act with the moments of its call and its answer, on one clock. Without an answer it may have happened at any time since, or
/// not at all.
#[derive(Debug, Clone)]
pub struct Observed {
    pub act: Act,
    pub called: u64,
    pub answered: Option<u64>,
}

/// Returns whether there is an order that explains everything. Branches whose opening nobody got an answer to are left out of lists.
pub fn is_linearisable(history: &[Observed]) -> bool {
    let opened: HashSet<&String> = history.iter().filter_map(|seen| opened(&seen.act)).collect();
    let mut history = history.to_vec();
    for seen in &mut history {
        if let Act::Listed(branches) = &mut seen.act {
            branches.retain(|branch, _| opened.contains(branch));
        }
    }
    history.sort_by_key(|seen| seen.called);
    Search { history: &history, tried: HashSet::new() }.explain(&mut vec![false; history.len()], &mut BTreeMap::new())
}

fn opened(act: &Act) -> Option<&String> {
    match act {
        Act::Opened(branch) => Some(branch),
        Act::Folded(_) | Act::Listed(_) => None,
    }
}

struct Search<'a> {
    history: &'a [Observed],
    /// Sets of acts after which nothing explains the rest. What has happened says how the session is.
    tried: HashSet<Vec<bool>>,
}

impl Search<'_> {
    fn explain(&mut self, done: &mut Vec<bool>, session: &mut BTreeMap<String, bool>) -> bool {
        let waiting = || (0..done.len()).filter(|index| !done[*index]);
        let answered = waiting().filter_map(|index| self.history[index].answered);
        // What was answered first must happen before anything that was called after that.
        let Some(first_answer) = answered.min() else { return true };
        if !self.tried.insert(done.clone()) {
            return false;
        }
        let next: Vec<usize> = waiting().filter(|index| self.history[*index].called <= first_answer).collect();
        for index in next {
            let before = session.clone();
            if happens(&self.history[index].act, session) {
                done[index] = true;
                if self.explain(done, session) {
                    return true;
                }
                done[index] = false;
            }
            *session = before;
        }
        false
    }
}

/// Lets an act happen, if the session is so that it can.
fn happens(act: &Act, session: &mut BTreeMap<String, bool>) -> bool {
    match act {
        Act::Opened(branch) => session.insert(branch.clone(), false).is_none(),
        Act::Folded(branch) => session.insert(branch.clone(), true) == Some(false),
        Act::Listed(branches) => branches == session,
    }
}

fn observed(act: Act, called: u64, answered: u64) -> Observed {
    Observed { act, called, answered: Some(answered) }
}

fn listed(branches: &[(&str, bool)]) -> Act {
    Act::Listed(branches.iter().map(|(branch, ended)| ((*branch).to_owned(), *ended)).collect())
}

#[test]
fn histories_that_one_order_explains_are_linearisable() {
    let (open, fold) = (|| Act::Opened("a".to_owned()), || Act::Folded("a".to_owned()));
    // A list that overlaps with a fold may show either.
    for ended in [false, true] {
        let history = [observed(open(), 0, 1), observed(fold(), 2, 9), observed(listed(&[("a", ended)]), 3, 4)];
        assert!(is_linearisable(&history));
    }
    // A fold without an answer may have happened late, or never.
    let unanswered = Observed { act: fold(), called: 2, answered: None };
    for ended in [false, true] {
        let history = [observed(open(), 0, 1), unanswered.clone(), observed(listed(&[("a", ended)]), 20, 21)];
        assert!(is_linearisable(&history));
    }
}

#[test]
fn histories_that_nothing_explains_are_found_out() {
    let (open, fold) = (|| Act::Opened("a".to_owned()), || Act::Folded("a".to_owned()));
    let folded = [observed(open(), 0, 1), observed(fold(), 2, 3)];
    let and = |more: &[Observed]| [&folded[..], more].concat();
    assert!(!is_linearisable(&and(&[observed(listed(&[("a", false)]), 4, 5)])), "a list that is older than an answer");
    assert!(!is_linearisable(&and(&[observed(listed(&[]), 4, 5)])), "an opening that was lost");
    assert!(!is_linearisable(&and(&[observed(fold(), 4, 5)])), "a branch that ended twice");
    let forth = observed(listed(&[("a", true)]), 3, 4);
    let back = observed(listed(&[("a", false)]), 5, 6);
    let overlapping = observed(fold(), 2, 9);
    assert!(!is_linearisable(&[observed(open(), 0, 1), overlapping, forth, back]), "lists that go back in time");
}
