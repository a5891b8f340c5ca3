//! Fits weights to samples: those whose counts are off least, in percent and by absolute value.
//!
//! Absolute values, because some pieces have something in them that no recording shows, such as a client's reminder;
//! squares would follow those. Solved by weighting squares again and again.

use infold_core::{Family, TextSize};

const ROUNDS: usize = 40;

/// A fitted weight for each thing that a family looks at, in tokens.
pub(super) type FittedWeights = Vec<f64>;

/// What is fitted for a family, by name.
pub(super) fn names(family: Family) -> &'static [&'static str] {
    match family {
        Family::Gpt => &["written", "call", "message"],
        Family::Claude | Family::ClaudeNew => &["read", "word", "letter", "mark", "call", "argument"],
    }
}

/// The numbers that the weights are for.
pub(super) fn numbers(family: Family, size: &TextSize) -> Vec<f64> {
    let numbers = match family {
        Family::Gpt => vec![size.written_tokens, size.calls, size.messages],
        Family::Claude | Family::ClaudeNew => {
            vec![size.read_tokens, size.words, size.letters, size.marks, size.calls, size.arguments]
        }
    };
    numbers.into_iter().map(f64::from).collect()
}

/// What weights count in a text of these numbers.
pub(super) fn counted(weights: &FittedWeights, numbers: &[f64]) -> f64 {
    weights.iter().zip(numbers).map(|(weight, number)| weight * number).sum()
}

/// Fits weights to samples, each its numbers and the provider's count.
pub(super) fn fit(family: Family, samples: &[(&[f64], f64)]) -> FittedWeights {
    // Errors below this are as good as none; without it a single perfect sample would weigh everything.
    let error_min = if family == Family::Gpt { 0.002 } else { 0.02 };
    let mut weights = vec![0.0; names(family).len()];
    let mut trust = vec![1.0; samples.len()];
    for _ in 0..ROUNDS {
        weights = least_squares(samples, &trust, weights.len());
        for ((numbers, theirs), trust) in samples.iter().zip(&mut trust) {
            *trust = 1.0 / (counted(&weights, numbers) / theirs - 1.0).abs().max(error_min);
        }
    }
    weights
}

/// The weights that make the sum of squared relative errors least, each square multiplied by its trust.
fn least_squares(samples: &[(&[f64], f64)], trust: &[f64], unknowns: usize) -> FittedWeights {
    let mut rows = vec![vec![0.0; unknowns + 1]; unknowns];
    for ((numbers, theirs), trust) in samples.iter().zip(trust) {
        for (row, left) in rows.iter_mut().zip(*numbers) {
            for (cell, right) in row.iter_mut().zip(numbers.iter().chain([theirs])) {
                *cell += trust * left * right / (theirs * theirs);
            }
        }
    }
    solved(rows)
}

/// Solves linear equations, given as rows with the right side last, by elimination.
fn solved(mut rows: Vec<Vec<f64>>) -> Vec<f64> {
    let unknowns = rows.len();
    for column in 0..unknowns {
        let pivot = (column..unknowns).max_by(|a, b| rows[*a][column].abs().total_cmp(&rows[*b][column].abs()));
        rows.swap(column, pivot.unwrap_or(column));
        let pivot = rows[column].clone();
        if pivot[column].abs() < f64::EPSILON {
            continue;
        }
        for (at, row) in rows.iter_mut().enumerate() {
            if at != column {
                let times = row[column] / pivot[column];
                row.iter_mut().zip(&pivot).for_each(|(cell, from)| *cell -= times * from);
            }
        }
    }
    let solution =
        |(at, row): (usize, &Vec<f64>)| if row[at].abs() < f64::EPSILON { 0.0 } else { row[unknowns] / row[at] };
    rows.iter().enumerate().map(solution).collect()
}
