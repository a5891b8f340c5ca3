//! Laws that must hold for any input, each for one thing that reads what others wrote. A law that is broken panics.

// The files that are borrowed from the program have tests of their own, which are run there.
#![cfg(not(test))]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a law that is broken panics")]

mod counter;
mod mcp;
mod quote;
mod requests;
mod scrubber;
mod settings;
mod streams;
mod transcripts;

/// Files of the program, which is no library.
#[allow(dead_code, unused_imports, missing_docs, reason = "the program uses what this does not")]
#[path = "../../crates/infold/src"]
mod program {
    pub mod settings;
}

/// The variable that names the target.
const VARIABLE: &str = "INFOLD_FUZZ";

/// What is fuzzed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FuzzTarget {
    /// Requests to models: read and written without edits, they keep their bytes.
    Requests,
    /// Answers of models: they read the same wherever they are cut.
    Streams,
    /// Recordings of sessions: what is written of them reads as the same.
    Transcripts,
    /// Secrets: none is left, and scrubbing twice changes nothing.
    Scrubber,
    /// Counting: a text has the same tokens wherever it is cut.
    Counter,
    /// Settings: what is wrong is named.
    Settings,
    /// Lines to the MCP server: every one that asks is answered.
    Mcp,
    /// Notes in a brief: none gets out of its quotation.
    Quote,
}

impl FuzzTarget {
    /// Every target with its name.
    const ALL: [(&str, Self); 8] = [
        ("requests", Self::Requests),
        ("streams", Self::Streams),
        ("transcripts", Self::Transcripts),
        ("scrubber", Self::Scrubber),
        ("counter", Self::Counter),
        ("settings", Self::Settings),
        ("mcp", Self::Mcp),
        ("quote", Self::Quote),
    ];

    /// The target that the environment names.
    pub fn of_environment() -> Self {
        let name = std::env::var(VARIABLE).unwrap_or_default();
        let found = Self::ALL.iter().find(|(known, _)| *known == name);
        found.unwrap_or_else(|| panic!("{VARIABLE}={name:?} is no target: use cargo xtask fuzz")).1
    }

    /// Checks the target's laws on an input.
    pub fn check(self, input: &[u8]) {
        match self {
            Self::Requests => requests::check(input),
            Self::Streams => streams::check(input),
            Self::Transcripts => transcripts::check(input),
            Self::Scrubber => scrubber::check(input),
            Self::Counter => counter::check(input),
            Self::Settings => settings::check(input),
            Self::Mcp => mcp::check(input),
            Self::Quote => quote::check(input),
        }
    }
}

/// Splits a list of cuts off an input: a byte that says how many there are, and two bytes for each.
fn split_off_cuts(input: &[u8]) -> (Vec<usize>, &[u8]) {
    const CUTS_MAX: usize = 15;
    let Some((number, rest)) = input.split_first() else { return (Vec::new(), input) };
    let bytes = usize::from(*number).min(CUTS_MAX) * 2;
    let (cuts, rest) = rest.split_at(bytes.min(rest.len()));
    (cuts.chunks(2).map(|pair| pair.iter().fold(0, |at, byte| at << 8 | usize::from(*byte))).collect(), rest)
}

/// The input in pieces, cut at these places; the places are folded into its length.
fn pieces<'a>(input: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut cuts: Vec<usize> = cuts.iter().map(|at| at % (input.len() + 1)).chain([0, input.len()]).collect();
    cuts.sort_unstable();
    cuts.windows(2).map(|ends| &input[ends[0]..ends[1]]).collect()
}
