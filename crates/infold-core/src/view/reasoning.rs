//! Which reasoning may still be sent.
//!
//! Providers bind a block of reasoning to everything in front of it. So it is sent in the thread that it was made in,
//! as long as all in front of it is unchanged. It is left out where something in front has changed: before a restart,
//! and behind a branch that was dissolved because nobody knows how it ended.
//!
//! Threads whose views begin with the same thread's are a family: a change in one view changes them all.

use std::collections::HashMap;

use super::tree::{MAIN, ThreadTree};
use super::walk::Walk;
use super::{BlockKind, Restart, ThreadSource, place};
use crate::Thread;

/// Between which blocks of a transcript reasoning may be sent.
#[derive(Debug)]
pub(super) struct Bounds<'r> {
    /// For each family, the block behind its last restart.
    restarted: HashMap<usize, usize>,
    /// Restarts whose place is not in the transcript, although the first result that they changed is: the client went
    /// back to between the two.
    pub left_behind: Vec<&'r Restart>,
    /// The calls that opened branches which were dissolved. Reasoning behind these was made on other bytes, in all
    /// threads, because later branches take some of the items along.
    dissolved: Vec<usize>,
    /// For each family that was asked about, the first of these calls behind its last restart.
    until: HashMap<usize, usize>,
    /// For each thread, its family: the thread that its view begins with.
    family: Vec<usize>,
}

impl<'r> Bounds<'r> {
    pub fn of(walk: &Walk<'r>) -> Self {
        let mut bounds = Self {
            restarted: HashMap::new(),
            left_behind: Vec::new(),
            dissolved: walk.dissolved.clone(),
            until: HashMap::new(),
            family: families(&walk.tree),
        };
        // A thread that its client keeps apart has restarts of its own.
        let of = |root: &Thread| matches!(&walk.request.thread, ThreadSource::Named(of) if root != of);
        for restart in walk.known.restarts.iter().filter(|restart| !restart.root.as_ref().is_some_and(of)) {
            bounds.add_restart(walk, restart);
        }
        for restart in &bounds.left_behind {
            let families = concerned(walk, &bounds.family, restart);
            bounds.restarted.extend(families.into_iter().map(|family| (family, walk.request.blocks.len())));
        }
        bounds
    }

    fn add_restart(&mut self, walk: &Walk<'r>, restart: &'r Restart) {
        let blocks = walk.request.blocks;
        let has_result = |call: &str| {
            blocks.iter().any(|block| matches!(&block.kind, BlockKind::Result(result) if result.call == call))
        };
        if !restart.from.as_deref().is_none_or(has_result) {
            return;
        }
        let Some(at) = place::find(blocks, &restart.place) else {
            return self.left_behind.push(restart);
        };
        // At this place all in front was sent again, with what the restarts before it had changed: those are done with.
        self.left_behind.retain(|earlier| restart.root.is_some() && earlier.root != restart.root);
        for family in concerned(walk, &self.family, restart) {
            let last = self.restarted.entry(family).or_default();
            *last = at.max(*last);
        }
    }

    /// The thread that a thread's view begins with.
    pub fn root(&self, thread: usize) -> usize {
        self.family[thread]
    }

    /// Whether the reasoning in block `at` may be sent in the thread that it was made in.
    pub fn allow(&mut self, at: usize, thread: usize) -> bool {
        let family = self.family[thread];
        let from = self.restarted.get(&family).copied().unwrap_or(0);
        let dissolved = &self.dissolved;
        let until = *self
            .until
            .entry(family)
            .or_insert_with(|| dissolved.iter().copied().filter(|&call| call >= from).min().unwrap_or(usize::MAX));
        (from..=until).contains(&at)
    }
}

/// The families that a restart concerns.
fn concerned(walk: &Walk<'_>, families: &[usize], restart: &Restart) -> Vec<usize> {
    match restart.root.as_ref().map(|root| root.branch()) {
        None => families.to_vec(),
        Some(Some(branch)) if walk.request.thread == ThreadSource::Transcript => {
            walk.tree.find(branch).map(|node| families[node]).into_iter().collect()
        }
        Some(_) => vec![MAIN],
    }
}

/// For each thread, its family: that of its parent if it inherits the parent's view, else its own.
fn families(tree: &ThreadTree<'_>) -> Vec<usize> {
    let mut family: Vec<usize> = Vec::with_capacity(tree.nodes.len());
    for (at, node) in tree.nodes.iter().enumerate() {
        family.push(if at != MAIN && node.inherits() { family[node.parent] } else { at });
    }
    family
}
