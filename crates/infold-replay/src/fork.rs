//! Measures forks: how much of what a child used later was in the context that it began with.
//!
//! A session is cut every twenty requests, as if a child had been forked there. The child's context should hold what
//! the next ten requests used of things that were seen before the cut, unless they were shown again after it.

mod needs;
mod tail;

#[cfg(test)]
mod tests;

use std::collections::HashSet;

use infold_core::fork::{FORK_CHAR_BUDGET, Fork, ForkLimits, Profile};
use infold_core::transcript::Transcript;
use infold_core::{Counter, Family};
use serde::{Deserialize, Serialize};

use crate::Progress;
use crate::thread::usual_model;
use crate::words::{ThreadWords, WordId};

use needs::{Cut, Needed};
use tail::Blocks;

/// A way to make the context that a child begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForkWay {
    /// infold's fork in one of its profiles.
    Profile {
        /// The profile to fork with.
        profile: Profile,
        /// How many characters the context may have.
        char_budget: usize,
    },
    /// The end of the transcript.
    Tail {
        /// How many characters of it.
        chars: usize,
    },
    /// The end of the transcript, at each cut as large in tokens as the context of another way there.
    TailAsLarge {
        /// The index of the other way, which must come before this one.
        way: usize,
    },
}

impl ForkWay {
    /// The ways that a report compares: both profiles, and a plain tail as large as each. The two budgets of the second
    /// profile are 30,000 and 50,000 tokens on average.
    pub const USUAL: [Self; 6] = [
        Self::Profile { profile: Profile::Seed, char_budget: FORK_CHAR_BUDGET },
        Self::TailAsLarge { way: 0 },
        Self::Profile { profile: Profile::Recall, char_budget: 108_000 },
        Self::TailAsLarge { way: 2 },
        Self::Profile { profile: Profile::Recall, char_budget: 230_000 },
        Self::TailAsLarge { way: 4 },
    ];

    /// The way in a few words, for tables.
    fn label(&self, ways: &[Self]) -> String {
        match self {
            Self::Profile { profile, char_budget } => format!("profile {profile}, {}k characters", char_budget / 1_000),
            Self::Tail { chars } => format!("plain tail, {}k characters", chars / 1_000),
            Self::TailAsLarge { way } => match ways.get(*way) {
                Some(other) => format!("plain tail as large as: {}", other.label(&[])),
                None => "plain tail as large".to_owned(),
            },
        }
    }
}

/// How one way to fork did, over all cuts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ForkRow {
    /// The way in a few words.
    pub label: String,
    /// The tokens of a child's context, on average over the cuts.
    pub tokens: f64,
    /// The share of the atoms used by the next ten requests that the context held, in percent.
    pub recall_percent: f64,
    /// The share of the lines named by their edits that the context held, in percent.
    pub line_recall_percent: f64,
}

/// How several ways to fork did at the same cuts.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ForkTable {
    /// How many cuts were made in all sessions.
    pub cuts: u64,
    /// One row for each way, in the order in which they were given.
    pub rows: Vec<ForkRow>,
}

/// Tries several ways to fork. Sessions are added one at a time, so that only one needs to be in memory.
#[derive(Debug)]
pub struct ForkTrial {
    ways: Vec<ForkWay>,
    before_tokens_min: u64,
    cuts: u64,
    sums: Vec<Sum>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Sum {
    tokens: u64,
    atoms_needed: u64,
    atoms_seen: u64,
    lines_needed: u64,
    lines_seen: u64,
}

impl ForkTrial {
    /// Starts a trial of these ways, without any session.
    pub fn new(ways: Vec<ForkWay>) -> Self {
        Self { sums: vec![Sum::default(); ways.len()], ways, before_tokens_min: 0, cuts: 0 }
    }

    /// Limits the trial to cuts with at least `tokens_min` tokens before them. Where there are fewer, everything fits
    /// into the budget and there is nothing to choose.
    pub fn with_more_before_than(mut self, tokens_min: u64) -> Self {
        self.before_tokens_min = tokens_min;
        self
    }

    /// Forks a session at each of its cuts, in every way. `progress` is called before each cut and at the end.
    pub fn add(&mut self, transcript: &Transcript, mut progress: impl FnMut(Progress)) {
        let counter = Counter::new(Family::of_model(usual_model(&transcript.calls)));
        let mut words = ThreadWords::default();
        let cuts = needs::cuts(transcript, &mut words);
        let parent = Parent { transcript, blocks: Blocks::of(&transcript.items), counter };
        for (done, cut) in cuts.iter().enumerate() {
            progress(Progress { done, steps: cuts.len() });
            if self.before_tokens_min > 0 && parent.blocks.tokens(cut.item, counter) < self.before_tokens_min {
                continue;
            }
            let mut taken = Vec::with_capacity(self.ways.len());
            for (way, sum) in self.ways.iter().zip(&mut self.sums) {
                let context = parent.context(*way, cut, &taken);
                let tokens = counter.count(&context);
                taken.push(tokens);
                sum.add(tokens, &cut.needed, &words.seen_in(&context));
            }
            self.cuts += 1;
        }
        progress(Progress { done: cuts.len(), steps: cuts.len() });
    }

    /// Adds the sums of another trial of the same ways.
    pub fn merge(&mut self, other: &Self) {
        debug_assert_eq!(self.ways, other.ways, "trials of the same ways");
        self.cuts += other.cuts;
        self.sums.iter_mut().zip(&other.sums).for_each(|(sum, other)| sum.merge(other));
    }

    /// The averages over all cuts.
    pub fn finish(self) -> ForkTable {
        let cuts = self.cuts.max(1) as f64;
        let percent = |seen: u64, needed: u64| 100.0 * seen as f64 / needed.max(1) as f64;
        let row = |(way, sum): (&ForkWay, &Sum)| ForkRow {
            label: way.label(&self.ways),
            tokens: sum.tokens as f64 / cuts,
            recall_percent: percent(sum.atoms_seen, sum.atoms_needed),
            line_recall_percent: percent(sum.lines_seen, sum.lines_needed),
        };
        ForkTable { cuts: self.cuts, rows: self.ways.iter().zip(&self.sums).map(row).collect() }
    }
}

impl Sum {
    fn merge(&mut self, other: &Self) {
        self.tokens += other.tokens;
        self.atoms_needed += other.atoms_needed;
        self.atoms_seen += other.atoms_seen;
        self.lines_needed += other.lines_needed;
        self.lines_seen += other.lines_seen;
    }

    fn add(&mut self, tokens: u64, needed: &Needed, seen: &HashSet<WordId>) {
        let count = |words: &[WordId]| words.iter().filter(|word| seen.contains(word)).count() as u64;
        self.tokens += tokens;
        self.atoms_needed += needed.atoms.len() as u64;
        self.atoms_seen += count(&needed.atoms);
        self.lines_needed += needed.lines.len() as u64;
        self.lines_seen += count(&needed.lines);
    }
}

/// The session that children are forked from.
struct Parent<'t> {
    transcript: &'t Transcript,
    blocks: Blocks,
    counter: Counter,
}

impl Parent<'_> {
    /// The context that a child forked at a cut would begin with. `taken` is how many tokens each earlier way used
    /// there.
    fn context(&self, way: ForkWay, cut: &Cut, taken: &[u64]) -> String {
        match way {
            ForkWay::Profile { profile, char_budget } => {
                let mut fork = Fork::new(profile, ForkLimits::with_char_budget(char_budget));
                self.transcript.items[..cut.item].iter().cloned().for_each(|item| fork.push(item));
                fork.finish().context
            }
            ForkWay::Tail { chars } => self.blocks.tail_of_chars(cut.item, chars),
            ForkWay::TailAsLarge { way } => {
                let tokens = taken.get(way).copied().unwrap_or(0);
                self.blocks.tail_of_tokens(cut.item, tokens, self.counter)
            }
        }
    }
}
