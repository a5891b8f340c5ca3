//! Which reasoning may still be sent.
//!
//! A block of reasoning is bound to everything in front of it. It stays in the thread it was made in, where
//! that is still so; it goes where something in front of it is no longer what it was: a thread that was
//! started anew, a result whose stored form is lost, a branch of which nobody knows how it ended.

use std::collections::HashMap;
use std::ops::Range;

use super::tree::{MAIN, Tree};
use super::walk::Walk;
use super::{Block, BlockKind};

/// Where reasoning is bound to what is not there any more.
#[derive(Debug, Default)]
pub(super) struct Bounds {
    /// For each family of threads, the block that it was last started anew in front of.
    restarted: HashMap<usize, usize>,
    /// Where branches were over when their family was started anew, and a rollback has opened them again since.
    /// What was said there stands behind the restart's last result, but was said before.
    over: Vec<(usize, Range<usize>)>,
    /// Blocks behind which reasoning was made on something else, and the family it concerns, or all.
    changed: Vec<(usize, Option<usize>)>,
    /// For each family that was asked about, the first of these that still counts.
    until: HashMap<usize, usize>,
    /// For each thread, the thread that its view begins with.
    family: Vec<usize>,
}

impl Bounds {
    /// Looks for them in a transcript that was read.
    pub fn of(walk: &Walk<'_>) -> Self {
        let mut bounds = Self { family: families(&walk.tree), ..Self::default() };
        let known = walk.known;
        if !known.restarts.is_empty() || !known.lost.is_empty() {
            bounds.look_for_stored(walk);
        }
        // What stood in a dissolved branch stands in its parent now, and later branches take some of it along.
        bounds.changed.extend(walk.dissolved.iter().map(|&call| (call, None)));
        bounds
    }

    fn look_for_stored(&mut self, walk: &Walk<'_>) {
        let blocks = walk.request.blocks;
        let results: HashMap<&str, usize> = blocks
            .iter()
            .enumerate()
            .filter_map(|(at, block)| match &block.kind {
                BlockKind::Result(result) => Some((&*result.call, at)),
                _ => None,
            })
            .collect();
        for restart in &walk.known.restarts {
            let upto = match &restart.upto {
                Some(call) => results.get(call.as_str()).copied(),
                None => Some(0),
            };
            if let Some(upto) = upto {
                let place = first_run_with_a_call(blocks, upto);
                let family = self.family[if restart.upto.is_some() { walk.tree.home[upto] } else { MAIN }];
                let last = self.restarted.entry(family).or_default();
                *last = (*last).max(place);
                self.over.extend(over(&walk.tree, &self.family, family, upto).map(|blocks| (family, blocks)));
            }
        }
        for call in &walk.known.lost {
            let lost = results.get(call.as_str()).filter(|at| super::assemble::rewrite(walk, **at).is_none());
            self.changed.extend(lost.map(|&at| (at, (!loads(blocks, at)).then(|| self.family[walk.tree.home[at]]))));
        }
    }

    /// Whether reasoning may be sent in the thread it was made in.
    pub fn allow(&mut self, at: usize, thread: usize) -> bool {
        let family = self.family[thread];
        if self.over.iter().any(|(its, blocks)| *its == family && blocks.contains(&at)) {
            return false;
        }
        let from = self.restarted.get(&family).copied().unwrap_or(0);
        let changed = &self.changed;
        let until = *self.until.entry(family).or_insert_with(|| {
            let concerning = changed.iter().filter(|(_, its)| its.is_none_or(|its| its == family));
            concerning.map(|(changed, _)| *changed).filter(|&changed| changed >= from).min().unwrap_or(usize::MAX)
        });
        (from..=until).contains(&at)
    }
}

/// The blocks between the openings of a family's branches and the rollbacks that opened them again, where a
/// restart lies between.
fn over(tree: &Tree, families: &[usize], family: usize, upto: usize) -> impl Iterator<Item = Range<usize>> {
    let its = tree.nodes.iter().zip(families).filter(move |(_, its)| **its == family).map(|(node, _)| node);
    let spans = its.filter_map(|node| Some(node.opening.as_ref()?.call..node.reopened?));
    spans.filter(move |blocks| blocks.contains(&upto))
}

/// Whether a result made tools known: branches take it along.
fn loads(blocks: &[Block<'_>], at: usize) -> bool {
    matches!(&blocks[at].kind, BlockKind::Result(result) if !result.loads.is_empty())
}

/// Threads that begin as their parent does are of one family with it: what changes in the parent's view changes
/// in theirs.
fn families(tree: &Tree) -> Vec<usize> {
    let mut family: Vec<usize> = Vec::with_capacity(tree.nodes.len());
    for (at, node) in tree.nodes.iter().enumerate() {
        family.push(if at != MAIN && node.inherits() { family[node.parent] } else { at });
    }
    family
}

/// The first thing that the model can have said after a restart: what it said in front of the next call was in
/// answer to a request that was made at the restart, or later. What it said without a call behind `from`
/// may be older.
fn first_run_with_a_call(blocks: &[Block<'_>], from: usize) -> usize {
    let mut run_start = None;
    for (at, block) in blocks.iter().enumerate().skip(from) {
        match (block.kind.side(), run_start) {
            (super::Side::Model, None) => run_start = Some(at),
            (super::Side::Model, Some(_)) => {}
            (super::Side::User, _) => run_start = None,
        }
        if let (BlockKind::Call(_), Some(start)) = (&block.kind, run_start) {
            return start;
        }
    }
    blocks.len()
}
