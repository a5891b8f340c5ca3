//! How much a text looks like an instruction aimed at an agent: rules and words, weighed by a model that was trained on
//! texts of both kinds.
//!
//! It never decides alone: it holds a lesson back for a person to look at, and a lesson that it misses is still quoted as
//! what it is, a note. Texts of a kind that it was not trained on are judged badly; docs/measurements.md has the figures.
//!
//! A text is looked at in windows, so that a long harmless part does not hide a short hostile one. Training is not here:
//! `cargo xtask measure --only injection` makes `suspicion/weights.bin`.

mod fold;
mod grams;
mod model;
mod rules;
#[cfg(test)]
mod tests;

use std::sync::LazyLock;

pub use grams::{GRAMS, WindowFeatures, windows};
pub use model::SuspicionModel;
pub use rules::rule_names;

static SHIPPED: LazyLock<Option<SuspicionModel>> =
    LazyLock::new(|| SuspicionModel::of_bytes(SuspicionModel::SHIPPED_BYTES));

/// What a text was found to be.
#[derive(Debug, Clone, PartialEq)]
pub struct Suspicion {
    /// From 0, harmless, to 1: that of the window with the highest.
    pub score: f32,
    /// The names of the rules that some window matches.
    pub rules: Vec<&'static str>,
    is_over_threshold: bool,
}

impl Suspicion {
    /// Whether the text should be held back until a person has looked at it.
    pub fn is_suspicious(&self) -> bool {
        self.is_over_threshold
    }
}

/// Scores a title and a lesson, or any other text; only the first 6,000 characters count.
pub fn suspicion(text: &str) -> Suspicion {
    match &*SHIPPED {
        Some(model) => model.judge(&windows(text)),
        // A build without weights that can be read holds everything back.
        None => Suspicion { score: 1.0, rules: Vec::new(), is_over_threshold: true },
    }
}
