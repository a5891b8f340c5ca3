//! How the ratio between a provider's counts and infold's is learnt.

use super::*;

fn after(samples: &[u64]) -> Calibration {
    let learnt = samples.iter().fold(None, |before, sample| Some(learn(Family::Claude, before, *sample)));
    learnt.unwrap()
}

#[test]
fn the_first_sample_is_taken_and_later_ones_are_averaged() {
    assert_eq!(after(&[1_200]).per_mille, 1_200);
    assert_eq!(after(&[1_200, 1_000]).per_mille, 1_100);
    assert_eq!(after(&[1_200, 1_000]).samples, 2);
}

#[test]
fn a_provider_that_counts_otherwise_from_now_on_is_followed() {
    let mut samples = vec![1_000; 200];
    samples.extend([1_300; 60]);
    let learnt = after(&samples).per_mille;
    assert!((1_280..=1_300).contains(&learnt), "{learnt}");
}

#[test]
fn one_stray_sample_moves_little_and_none_leaves_the_bounds() {
    let mut samples = vec![1_000; 50];
    samples.push(50_000);
    let learnt = after(&samples).per_mille;
    assert!(learnt <= 1_000 + 1_000 / 16 + 1, "{learnt}");
    assert_eq!(after(&[u64::MAX / 2_000]).per_mille, 2_000);
    assert_eq!(after(&[0]).per_mille, 500);
}

#[test]
fn a_drift_says_both_counts() {
    let drift = Drift { ours_tokens: 10_000, theirs_tokens: 25_000 };
    assert_eq!(drift.to_string(), "the provider counted 25,000 tokens where infold counts 10,000");
}
