//! Error lines planted in long results, as other servers' tools give them: how many can still be seen when the result is
//! offloaded, and how many of the others a search finds.
//!
//! Carriers and errors are in two halves. Shaping was chosen on one and is checked on the other; nothing is in both.

mod carriers;

use crate::Rng;
pub use carriers::{Carrier, plant_in_lines};

const CHOSEN: &str = include_str!("planted/chosen.txt");
const CHECKED: &str = include_str!("planted/checked.txt");

/// Which half of the carriers and errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrialHalf {
    /// What shaping was chosen on.
    Chosen,
    /// What it is checked on.
    Checked,
}

/// A way in which a program says that something went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlantedError {
    /// Whose way it is.
    pub name: &'static str,
    text: &'static str,
}

/// What an error says, filled in.
pub(crate) enum ErrorWords {
    /// Lines, and the part of them that must be visible.
    Said { lines: String, fact: String },
    /// A field of a record, and its value as JSON.
    Field { key: String, value: String },
}

/// A long text with one error in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlantedText {
    /// The whole text.
    pub text: String,
    /// What a reader should see of the error, as it is written in the text.
    pub fact: String,
}

impl PlantedError {
    /// All errors of a half.
    pub fn all(half: TrialHalf) -> Vec<Self> {
        let file = match half {
            TrialHalf::Chosen => CHOSEN,
            TrialHalf::Checked => CHECKED,
        };
        let lines = file.lines().filter(|line| !line.starts_with('#'));
        lines.filter_map(|line| line.split_once("  ")).map(|(name, text)| Self { name, text }).collect()
    }

    pub(crate) fn words(&self, rng: &mut Rng) -> ErrorWords {
        let text = self.text.replace("{n}", &(10_000 + rng.below(50_000)).to_string()).replace('¶', "\n");
        if let Some((key, value)) = text.strip_prefix('@').and_then(|field| field.split_once(' ')) {
            return ErrorWords::Field { key: key.to_owned(), value: value.to_owned() };
        }
        let fact = text.split_once('«').and_then(|(_, rest)| rest.split_once('»')).map_or(&*text, |(fact, _)| fact);
        ErrorWords::Said { fact: fact.to_owned(), lines: text.replace(['«', '»'], "") }
    }
}

/// Where in its carrier an error is planted, in parts of a thousand: one that is chosen by `rng` near the front, in the middle,
/// near the end or anywhere.
pub fn random_place(rng: &mut Rng) -> usize {
    match rng.below(4) {
        0 => 5 + rng.below(20),
        1 => 400 + rng.below(200),
        2 => 975 + rng.below(25),
        _ => rng.below(1_000),
    }
}
