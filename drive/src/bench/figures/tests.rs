//! Percentiles are those of the sorted latencies, and missing numbers miss their targets.

use std::process::ExitCode;
use std::time::Duration;

use super::{Latencies, Table};

#[test]
fn percentiles_are_read_from_the_sorted_latencies() {
    let latencies = Latencies::new((1..=100).rev().map(Duration::from_millis));

    assert_eq!(latencies.median_ms(), 50.0);
    assert_eq!(latencies.percentile_ms(99.0), 99.0);
    assert_eq!(latencies.percentile_ms(100.0), 100.0);
    assert!(Latencies::default().median_ms().is_nan());
}

#[test]
fn a_missed_target_fails_the_table() {
    let mut table = Table::default();
    table.hold("good", 1.0, 1.5, "");
    assert_eq!(format!("{:?}", table.finish()), format!("{:?}", ExitCode::SUCCESS));

    table.hold("nothing measured", f64::NAN, 1.5, "");
    assert_eq!(format!("{:?}", table.finish()), format!("{:?}", ExitCode::FAILURE));
}
