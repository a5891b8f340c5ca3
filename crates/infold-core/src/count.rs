//! Counts tokens, as near to the provider's own count as can be had without asking it.
//!
//! One vocabulary (`o200k_base`, inside the binary) serves every family of models. A family that counts more than that
//! has a factor, fitted on recorded sessions against the usage that providers reported. The vocabulary is unpacked on
//! the first count, so a program that counts nothing does not pay for it.
//!
//! Text comes from anywhere, so counting is done in pieces of bounded size: the work grows with the
//! length of a text and never faster, whatever the text is made of.

mod family;
mod opaque;
mod pieces;

#[cfg(test)]
mod tests;

pub use family::Family;

use std::borrow::Cow;

use crate::transcript::{Item, Kind};
use opaque::Opaque;
use pieces::Pieces;

const VOCABULARY: &str = "o200k_base";
/// The calibration of a counter that was not calibrated: a thousand tokens for each thousand.
const PER_MILLE: u64 = 1_000;

/// Counts the tokens of text for one family of models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counter {
    family: Family,
    /// Tokens that the provider counts for each thousand that infold counts.
    per_mille: u64,
}

impl Counter {
    /// A counter for models of `family`. Cheap: the vocabulary is shared by all counters.
    pub fn new(family: Family) -> Self {
        Self { family, per_mille: PER_MILLE }
    }

    /// A counter for models of `family` whose provider was seen to count `per_mille` tokens for each thousand that
    /// infold counts.
    pub fn calibrated(family: Family, per_mille: u64) -> Self {
        Self { family, per_mille }
    }

    /// The family of models that it counts for.
    pub fn family(&self) -> Family {
        self.family
    }

    /// How many tokens a model of the family sees in `text`, rounded up. Empty text has none.
    pub fn count(&self, text: &str) -> u64 {
        self.scaled(Self::vocabulary_tokens(text))
    }

    /// How many tokens an item takes, without the frame that a provider puts around a call.
    pub fn count_item(&self, item: &Item) -> u64 {
        match &item.kind {
            Kind::Other { json, .. } => self.count_other(json),
            _ => self.count(item.text()),
        }
    }

    /// How many tokens content of another kind takes, given as JSON. Images and documents count as providers bill them,
    /// or by a flat figure where their size cannot be read; content that is only text counts as text.
    pub fn count_other(&self, json: &str) -> u64 {
        match Opaque::of(json) {
            Some(opaque) => opaque.tokens(self.family) + self.count(&opaque.text()),
            None => self.count(json),
        }
    }

    /// How many tokens reasoning takes that has this readable text and a sealed part of this length.
    pub fn count_reasoning(&self, text: &str, sealed_bytes: usize) -> u64 {
        self.count(text).max(opaque::sealed_tokens(sealed_bytes))
    }

    /// How many tokens of the vocabulary `text` has, whatever the family. This can be remembered for a text that is
    /// counted again and again; [`Counter::scaled`] makes a family's count of it.
    pub fn vocabulary_tokens(text: &str) -> u64 {
        Pieces::of(text).map(count_piece).sum()
    }

    /// How many tokens a model of the family sees in a text that has `vocabulary_tokens`, rounded up.
    pub fn scaled(&self, vocabulary_tokens: u64) -> u64 {
        (vocabulary_tokens * self.family.factor_percent() * self.per_mille).div_ceil(100 * PER_MILLE)
    }

    /// What a tool call and its result cost on top of their text: the frame that the provider puts
    /// around them.
    pub fn per_call_tokens(&self) -> u64 {
        (self.family.per_call_tokens() * self.per_mille).div_ceil(PER_MILLE)
    }
}

/// The readable part of content of another kind than text, given as JSON: all of it, or what is not in base64.
pub fn readable_of_other(json: &str) -> Cow<'_, str> {
    Opaque::of(json).map_or(Cow::Borrowed(json), |opaque| Cow::Owned(opaque.text()))
}

fn count_piece(piece: &str) -> u64 {
    match tiktoken::get_encoding(VOCABULARY) {
        Some(vocabulary) => vocabulary.count(piece) as u64,
        // Only a build without the vocabulary comes here. No token is shorter than a byte, so
        // this bound holds a budget for any text, where zero would switch budgets off.
        None => piece.len() as u64,
    }
}
