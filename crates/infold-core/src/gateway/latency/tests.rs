//! Percentiles of counts.

use super::LatencyCounts;

#[test]
fn percentiles_are_in_the_step_of_the_call_that_has_the_rank() {
    let mut counts = LatencyCounts::default();
    assert_eq!(counts.percentile_micros(50), None);
    for _ in 0..95 {
        counts.note(1_000);
    }
    for _ in 0..5 {
        counts.note(3_000_000);
    }
    let median = counts.percentile_micros(50).unwrap();
    assert!((512..=1_024).contains(&median), "{median}");
    assert!(counts.percentile_micros(95).unwrap() <= 1_024);
    let slowest = counts.percentile_micros(99).unwrap();
    assert!((2_097_152..=4_194_304).contains(&slowest), "{slowest}");
}

#[test]
fn counts_add_up_and_read_back() {
    let (mut one, mut other) = (LatencyCounts::default(), LatencyCounts::default());
    one.note(0);
    other.note(7);
    other.note(u64::MAX);
    one.add(&other);
    let json = serde_json::to_string(&one).unwrap();
    assert_eq!(serde_json::from_str::<LatencyCounts>(&json).unwrap(), one);
    assert_eq!(one.percentile_micros(1), Some(1));
    assert_eq!(one.percentile_micros(100), Some(1 << 31));
}
