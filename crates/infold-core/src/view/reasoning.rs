//! Which reasoning may still be sent.
//!
//! A block of reasoning is bound to everything in front of it. It stays in the thread it was made in, where
//! that is still so; it goes where something in front of it is no longer what it was: a thread that was
//! started anew, a branch of which nobody knows how it ended.

use std::collections::HashMap;

use super::tree::{MAIN, ThreadTree};
use super::walk::Walk;
use super::{BlockKind, Restart, place};

/// Where reasoning is bound to what is not there any more.
#[derive(Debug)]
pub(super) struct Bounds<'r> {
    /// For each family of threads, the block that it was last started anew in front of.
    restarted: HashMap<usize, usize>,
    /// Restarts that lie behind the end of the transcript, although what they changed is in it.
    pub left_behind: Vec<&'r Restart>,
    /// The calls of branches that were dissolved: reasoning behind these was made on something else, in all
    /// threads, because later branches take some of it along.
    dissolved: Vec<usize>,
    /// For each family that was asked about, the first of these that still counts.
    until: HashMap<usize, usize>,
    /// For each thread, the thread that its view begins with.
    family: Vec<usize>,
}

impl<'r> Bounds<'r> {
    /// Looks for them in a transcript that was read.
    pub fn of(walk: &Walk<'r>) -> Self {
        let mut bounds = Self {
            restarted: HashMap::new(),
            left_behind: Vec::new(),
            dissolved: walk.dissolved.clone(),
            until: HashMap::new(),
            family: families(&walk.tree),
        };
        for restart in &walk.known.restarts {
            bounds.restart(walk, restart);
        }
        for restart in &bounds.left_behind {
            let families = concerned(&walk.tree, &bounds.family, restart);
            bounds.restarted.extend(families.into_iter().map(|family| (family, walk.request.blocks.len())));
        }
        bounds
    }

    fn restart(&mut self, walk: &Walk<'r>, restart: &'r Restart) {
        let blocks = walk.request.blocks;
        let is_from = |call: &str| {
            blocks.iter().any(|block| matches!(&block.kind, BlockKind::Result(result) if result.call == call))
        };
        if !restart.from.as_deref().is_none_or(is_from) {
            return;
        }
        let Some(at) = place::find(blocks, &restart.place) else {
            return self.left_behind.push(restart);
        };
        // Everything in front of it was sent anew then, in the form that an earlier one gave it.
        self.left_behind.retain(|earlier| restart.root.is_some() && earlier.root != restart.root);
        for family in concerned(&walk.tree, &self.family, restart) {
            let last = self.restarted.entry(family).or_default();
            *last = at.max(*last);
        }
    }

    /// The thread that the view of a thread begins with.
    pub fn root(&self, thread: usize) -> usize {
        self.family[thread]
    }

    /// Whether reasoning may be sent in the thread it was made in.
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

/// The families of threads that a restart is about.
fn concerned(tree: &ThreadTree<'_>, families: &[usize], restart: &Restart) -> Vec<usize> {
    match restart.root.as_ref().map(|root| root.branch()) {
        None => families.to_vec(),
        Some(None) => vec![MAIN],
        Some(Some(branch)) => tree.find(branch).map(|node| families[node]).into_iter().collect(),
    }
}

/// Threads that begin as their parent does are of one family with it: what changes in the parent's view changes
/// in theirs.
fn families(tree: &ThreadTree<'_>) -> Vec<usize> {
    let mut family: Vec<usize> = Vec::with_capacity(tree.nodes.len());
    for (at, node) in tree.nodes.iter().enumerate() {
        family.push(if at != MAIN && node.inherits() { family[node.parent] } else { at });
    }
    family
}
