//! What providers ask for tokens. The table is an argument: prices change, and the program has them in its
//! settings.

use serde::{Deserialize, Serialize};

use crate::models::fits_model;
use crate::record::Usage;

const MICROS_PER_DOLLAR: f64 = 1_000_000.0;

/// What one model's tokens cost, in dollars for each million of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Which models: their name, in which `*` matches anything.
    pub model: String,
    /// Prompt tokens that are neither read from nor written to a cache.
    pub input: f64,
    /// Tokens of the answer, reasoning included.
    pub output: f64,
    /// Prompt tokens read from the cache.
    pub cache_read: f64,
    /// Prompt tokens written to the cache; where a provider asks nothing extra for that, the price of input.
    #[serde(default)]
    pub cache_write: Option<f64>,
}

impl Price {
    /// The cost of these tokens in dollars.
    pub fn cost(&self, usage: &Usage) -> f64 {
        self.micros(usage) / MICROS_PER_DOLLAR
    }

    /// The cost of these tokens in millionths of a dollar, rounded.
    pub fn cost_micros(&self, usage: &Usage) -> u64 {
        self.micros(usage).round().max(0.0) as u64
    }

    /// A dollar for a million tokens is a millionth of a dollar for one.
    fn micros(&self, usage: &Usage) -> f64 {
        let write = self.cache_write.unwrap_or(self.input);
        usage.fresh_tokens as f64 * self.input
            + usage.cache_read_tokens as f64 * self.cache_read
            + usage.cache_write_tokens as f64 * write
            + usage.output_tokens as f64 * self.output
    }

    /// Whether writing to the cache costs more than input. It does where clients mark what to cache.
    pub fn asks_for_writes(&self) -> bool {
        self.cache_write.is_some_and(|write| write > self.input)
    }
}

/// A table of prices. The first whose pattern fits a model's name counts.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Prices(pub Vec<Price>);

impl Prices {
    /// The price of a model, if the table has one.
    pub fn of(&self, model: &str) -> Option<&Price> {
        self.0.iter().find(|price| fits_model(&price.model, model))
    }
}
