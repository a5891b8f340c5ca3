//! Tests of which model has which price, and of the cost of a bill.

use super::{Price, Prices};
use crate::Measures;

fn price(model: &str, input: f64, cache_write: Option<f64>) -> Price {
    Price { model: model.to_owned(), input, output: 10.0, cache_read: 0.5, cache_write }
}

#[test]
fn a_star_matches_anything() {
    let prices = Prices(vec![
        price("claude-opus-4-*", 1.0, None),
        price("*sonnet*", 2.0, None),
        price("gpt-5", 3.0, None),
        price("o*-mini", 4.0, None),
    ]);
    let of = |model: &str| prices.of(model).map(|price| price.input);
    assert_eq!(of("claude-opus-4-6"), Some(1.0));
    assert_eq!(of("us.anthropic.claude-sonnet-5-v1:0"), Some(2.0));
    assert_eq!(of("gpt-5"), Some(3.0));
    assert_eq!(of("o4-mini"), Some(4.0));
    for unknown in ["gpt-5.1", "claude-opus-5", "o4-minimal", ""] {
        assert_eq!(of(unknown), None, "{unknown}");
    }
}

#[test]
fn the_first_price_counts() {
    let prices = Prices(vec![price("*", 1.0, None), price("gpt-5", 2.0, None)]);
    assert_eq!(prices.of("gpt-5").map(|price| price.input), Some(1.0));
}

#[test]
fn a_bill_is_reads_and_writes_and_answers() {
    let measures = Measures {
        cache_read_tokens: 2_000_000,
        cache_write_tokens: 1_000_000,
        output_tokens: 100_000,
        ..Measures::default()
    };
    // The cost is 2 × 0.5 + 1 × 4 + 0.1 × 10. With writes at the price of input it has 1 × 3 instead of 1 × 4.
    assert_eq!(measures.cost(&price("*", 3.0, Some(4.0))), 6.0);
    assert_eq!(measures.cost(&price("*", 3.0, None)), 5.0);
}
