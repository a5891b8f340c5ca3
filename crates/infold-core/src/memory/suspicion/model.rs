//! The weights, how they are kept in a file, and what they make of a text.

use std::collections::BTreeSet;

use super::Suspicion;
use super::grams::{GRAMS, WindowFeatures};
use super::rules::rule_names;

/// Threshold, bias and the gram weights' unit, before the weights of the rules and of the grams.
const HEAD_FLOATS: usize = 3;

/// Weights for grams and rules, and the threshold that goes with them.
#[derive(Debug, Clone, PartialEq)]
pub struct SuspicionModel {
    /// Of the sum of weights, not of the score.
    threshold: f32,
    bias: f32,
    /// What a gram's weight of 1 counts.
    unit: f32,
    rules: Vec<f32>,
    grams: Vec<i8>,
}

impl SuspicionModel {
    /// The weights that infold comes with.
    pub const SHIPPED_BYTES: &[u8] = include_bytes!("weights.bin");

    /// Rounds weights to what is kept of them. `grams` has one for each hash, `rules` one for each rule.
    pub fn rounded(grams: &[f64], rules: &[f64], bias: f64) -> Self {
        let largest = grams.iter().fold(0.0_f64, |largest, weight| largest.max(weight.abs()));
        let unit = if largest > 0.0 { (largest / f64::from(i8::MAX)) as f32 } else { 1.0 };
        let round =
            |weight: &f64| (weight / f64::from(unit)).round().clamp(f64::from(i8::MIN), f64::from(i8::MAX)) as i8;
        let rules = rules.iter().map(|weight| *weight as f32).collect();
        Self { threshold: 0.0, bias: bias as f32, unit, rules, grams: grams.iter().map(round).collect() }
    }

    /// The same weights with another threshold, one that [`Self::sum`] has to be above.
    pub fn with_threshold(self, threshold: f32) -> Self {
        Self { threshold, ..self }
    }

    /// The sum of the weights of the window that has the highest.
    pub fn sum(&self, windows: &[WindowFeatures]) -> f32 {
        windows.iter().map(|window| self.sum_of(window)).fold(f32::NEG_INFINITY, f32::max)
    }

    fn sum_of(&self, window: &WindowFeatures) -> f32 {
        let grams: i32 = window
            .grams
            .iter()
            .filter_map(|gram| self.grams.get(usize::from(*gram)))
            .map(|weight| i32::from(*weight))
            .sum();
        let rules: f32 = window.rules.iter().filter_map(|rule| self.rules.get(*rule)).sum();
        self.bias + rules + self.unit * grams as f32 * window.gram_value()
    }

    /// What the model makes of a text's windows.
    pub fn judge(&self, windows: &[WindowFeatures]) -> Suspicion {
        let sum = self.sum(windows);
        let matched: BTreeSet<usize> = windows.iter().flat_map(|window| window.rules.iter().copied()).collect();
        let named = rule_names().enumerate().filter(|(rule, _)| matched.contains(rule));
        let rules = named.map(|(_, name)| name).collect();
        Suspicion { score: 1.0 / (1.0 + (-sum).exp()), rules, is_over_threshold: sum > self.threshold }
    }

    /// The weights as they are kept in a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let head = [self.threshold, self.bias, self.unit];
        let floats = head.iter().chain(&self.rules).flat_map(|float| float.to_le_bytes());
        floats.chain(self.grams.iter().map(|weight| weight.to_le_bytes()[0])).collect()
    }

    /// Reads what [`Self::to_bytes`] wrote; `None` if it was for other rules or is cut off.
    pub fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let (floats, grams) = bytes.split_at_checked((HEAD_FLOATS + rule_names().len()) * size_of::<f32>())?;
        if grams.len() != GRAMS {
            return None;
        }
        let mut floats =
            floats.chunks_exact(size_of::<f32>()).filter_map(|bytes| Some(f32::from_le_bytes(bytes.try_into().ok()?)));
        let (threshold, bias, unit) = (floats.next()?, floats.next()?, floats.next()?);
        let grams = grams.iter().map(|byte| i8::from_le_bytes([*byte])).collect();
        Some(Self { threshold, bias, unit, rules: floats.collect(), grams })
    }
}
