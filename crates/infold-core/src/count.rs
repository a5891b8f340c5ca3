//! Counts tokens, as near to the provider's own count as can be had without asking it.
//!
//! One vocabulary (`o200k_base`, inside the binary) serves every family of models. OpenAI's models count by it. What
//! Claude counts more than that depends on the text: on its words, letters and punctuation, with weights that were
//! fitted on recorded sessions against the usage that providers reported (`cargo xtask measure --only counting` says
//! how well). The vocabulary is unpacked on the first count, so a program that counts nothing does not pay for it.
//!
//! Text comes from anywhere, so counting is done in pieces of bounded size: the work grows with the
//! length of a text and never faster, whatever the text is made of.

mod apart;
mod calibration;
mod family;
mod opaque;
mod pieces;
mod size;
mod stream;

#[cfg(test)]
mod tests;

pub use calibration::SessionCalibration;
pub use family::Family;
pub use opaque::{Pixels, pixels_of_file};
pub use size::TextSize;
pub use stream::StreamSize;

use std::borrow::Cow;

use crate::transcript::{Item, Kind};
use opaque::Opaque;

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
        self.tokens(&TextSize::of(text))
    }

    /// How many tokens a call takes, by its arguments as JSON, with the frame that the provider puts around it and its
    /// result.
    pub fn count_call(&self, arguments: &str) -> u64 {
        self.tokens(&TextSize::of_call(arguments))
    }

    /// How many tokens a model of the family sees in texts of this size, rounded up.
    pub fn tokens(&self, size: &TextSize) -> u64 {
        (self.family.weights().thousandths(size) * self.per_mille).div_ceil(1_000 * PER_MILLE)
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

    /// How many tokens an image of this size takes, as the provider of the family bills it.
    pub fn count_image(&self, pixels: Pixels) -> u64 {
        opaque::image_tokens(self.family, Some(pixels))
    }

    /// How many tokens reasoning takes that has this readable text and a sealed part of this length.
    pub fn count_reasoning(&self, text: &str, sealed_bytes: usize) -> u64 {
        self.count(text).max(opaque::sealed_tokens(sealed_bytes))
    }
}

/// The readable part of content of another kind than text, given as JSON: all of it, or what is not in base64.
pub fn readable_of_other(json: &str) -> Cow<'_, str> {
    Opaque::of(json).map_or(Cow::Borrowed(json), |opaque| Cow::Owned(opaque.text()))
}
