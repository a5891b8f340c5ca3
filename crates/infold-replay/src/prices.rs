//! The price in dollars of one session, or of many. The table of prices is in `infold-core`.

use infold_core::record::Usage;

use crate::Measures;

pub use infold_core::{Price, Prices};

impl Measures {
    /// What these requests cost at this price, in dollars, without what would be fetched again.
    pub fn cost(&self, price: &Price) -> f64 {
        price.cost(&Usage {
            fresh_tokens: 0,
            cache_read_tokens: self.cache_read_tokens,
            cache_write_tokens: self.cache_write_tokens,
            output_tokens: self.output_tokens,
        })
    }
}

#[cfg(test)]
mod tests;
