//! Randomness that can be repeated: every randomised test prints its seed, reads it from `SEED=` if that is
//! set, and fails with one line that repeats the failure.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};

#[cfg(test)]
mod tests;

/// The number a randomised test starts from, and the command that repeats the test.
#[derive(Debug)]
pub struct Seed {
    value: u64,
    command: String,
}

impl Seed {
    /// Takes the seed from `SEED`, or makes a new one, and prints it. `command` is what a person types after
    /// `SEED=…` to run this test alone.
    pub fn announce(command: &str) -> Result<Self> {
        let value = match std::env::var("SEED") {
            Ok(text) => text.trim().parse().with_context(|| format!("SEED must be a whole number, not {text:?}"))?,
            Err(_) => fresh_seed(),
        };
        let seed = Self { value, command: command.to_owned() };
        eprintln!("seed: {}", seed.reproduction());
        Ok(seed)
    }

    /// The one line that runs the test again with the same random numbers.
    pub fn reproduction(&self) -> String {
        format!("SEED={} {}", self.value, self.command)
    }

    /// The random numbers of one part of the test. Each part has its own generator, so that a change in one
    /// does not change the numbers of the others.
    pub fn rng(&self, part: u64) -> Rng {
        Rng::new(self.value ^ part.wrapping_mul(0xA076_1D64_78BD_642F))
    }

    /// Adds to a failure the command that repeats it.
    pub fn explain<T>(&self, outcome: Result<T>) -> Result<T> {
        outcome.with_context(|| format!("repeat with: {}", self.reproduction()))
    }
}

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("repeat with: {}", self.reproduction());
        }
    }
}

/// A new seed from the clock, which is enough because the seed only has to differ between runs.
fn fresh_seed() -> u64 {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Rng::new(since_epoch.as_nanos() as u64).next_u64() >> 16
}

/// A small generator (SplitMix64): the same numbers on every machine and in every release.
#[derive(Debug, Clone)]
pub struct Rng {
    state: u64,
}

impl Rng {
    /// A generator that starts from `seed`.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 up to, but not including, `bound`; 0 when `bound` is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        if bound == 0 { 0 } else { (self.next_u64() % bound as u64) as usize }
    }

    /// True `percent` times in a hundred.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of `choices`, or nothing when there are none.
    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> Option<&'a T> {
        choices.get(self.below(choices.len()))
    }
}
