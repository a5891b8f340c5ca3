//! Logistic regression with a penalty on large weights, by Newton's method with conjugate gradients.
//!
//! It uses nothing but sums, products, quotients and square roots, which give the same bits on every machine: so the weights that are
//! committed can be compared with those that a run makes.

use infold_core::memory::suspicion::{GRAMS, SuspicionModel, WindowFeatures, rule_names};

/// How much a text that is judged wrongly counts against large weights.
const FIT: f64 = 3.0;
const NEWTON_STEPS_MAX: usize = 20;
const GRADIENT_STEPS_MAX: usize = 40;
/// The gradient counts as none when it is this part of what it was at the start.
const GRADIENT_PART: f64 = 1e-3;

/// A window to learn from.
pub(super) struct TaughtWindow<'a> {
    pub window: &'a WindowFeatures,
    pub label: f64,
    pub weight: f64,
}

/// The weights that tell the windows apart best.
pub(super) fn train(taught: &[TaughtWindow<'_>]) -> SuspicionModel {
    let rules = rule_names().len();
    let mut weights = vec![0.0; GRAMS + rules + 1];
    let (mut gradient, mut curvature) = slope(taught, &weights);
    let enough = GRADIENT_PART * norm(&gradient);
    for _ in 0..NEWTON_STEPS_MAX {
        if norm(&gradient) <= enough {
            break;
        }
        let direction = solve(taught, &curvature, &gradient);
        let mut step = 1.0;
        loop {
            let tried: Vec<f64> = weights.iter().zip(&direction).map(|(weight, by)| weight - step * by).collect();
            let (new_gradient, new_curvature) = slope(taught, &tried);
            if norm(&new_gradient) < norm(&gradient) || step < 0.01 {
                (weights, gradient, curvature) = (tried, new_gradient, new_curvature);
                break;
            }
            step /= 2.0;
        }
    }
    let (grams, others) = weights.split_at(GRAMS);
    SuspicionModel::rounded(grams, &others[..rules], others[rules])
}

/// The gradient, and how much each window's part of it changes.
fn slope(taught: &[TaughtWindow<'_>], weights: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let mut gradient = weights.to_vec();
    let mut curvature = Vec::with_capacity(taught.len());
    for one in taught {
        let likely = 1.0 / (1.0 + exponential(-product(one.window, weights)));
        add(one.window, FIT * one.weight * (likely - one.label), &mut gradient);
        curvature.push(FIT * one.weight * likely * (1.0 - likely));
    }
    (gradient, curvature)
}

/// Solves the Newton equation: which change of weights takes the gradient away.
fn solve(taught: &[TaughtWindow<'_>], curvature: &[f64], gradient: &[f64]) -> Vec<f64> {
    let mut solution = vec![0.0; gradient.len()];
    let mut rest = gradient.to_vec();
    let mut direction = rest.clone();
    let mut size = dot(&rest, &rest);
    let enough = size * 0.01;
    for _ in 0..GRADIENT_STEPS_MAX {
        let mut bent = direction.clone();
        for (one, curvature) in taught.iter().zip(curvature) {
            add(one.window, curvature * product(one.window, &direction), &mut bent);
        }
        let by = size / dot(&direction, &bent);
        for at in 0..solution.len() {
            solution[at] += by * direction[at];
            rest[at] -= by * bent[at];
        }
        let size_now = dot(&rest, &rest);
        if size_now <= enough {
            break;
        }
        direction.iter_mut().zip(&rest).for_each(|(direction, rest)| *direction = rest + size_now / size * *direction);
        size = size_now;
    }
    solution
}

fn product(window: &WindowFeatures, weights: &[f64]) -> f64 {
    let grams: f64 = window.grams.iter().map(|gram| weights[usize::from(*gram)]).sum();
    let rules: f64 = window.rules.iter().map(|rule| weights[GRAMS + rule]).sum();
    grams * f64::from(window.gram_value()) + rules + weights[weights.len() - 1]
}

fn add(window: &WindowFeatures, amount: f64, to: &mut [f64]) {
    let each = amount * f64::from(window.gram_value());
    window.grams.iter().for_each(|gram| to[usize::from(*gram)] += each);
    window.rules.iter().for_each(|rule| to[GRAMS + rule] += amount);
    let last = to.len() - 1;
    to[last] += amount;
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

fn norm(vector: &[f64]) -> f64 {
    dot(vector, vector).sqrt()
}

/// e to the power of `x`: the system's own function differs from machine to machine in the last bit.
fn exponential(x: f64) -> f64 {
    let x = x.clamp(-30.0, 30.0);
    // Halved until the series is exact enough, and squared as often.
    let small = x / 1024.0;
    let series = (1..=8).rev().fold(1.0, |sum, n| 1.0 + small * sum / f64::from(n));
    (0..10).fold(series, |power, _| power * power)
}
