//! Counts are read from the lines that test programs print.

use super::{Totals, harness_totals, script_totals};

#[test]
fn the_harness_line_is_read() {
    let line = "test result: FAILED. 12 passed; 3 failed; 1 ignored; 0 measured; 0 filtered out";

    assert_eq!(harness_totals(line), Some(Totals { passed: 12, failed: 3, skipped: 1 }));
    assert_eq!(harness_totals("test some::test ... ok"), None);
}

#[test]
fn a_script_says_ok_or_not_ok() {
    assert_eq!(script_totals("ok lists every tool"), Totals::one_passed());
    assert_eq!(script_totals("not ok lists every tool: 2 are missing"), Totals::one_failed());
    assert_eq!(script_totals("anything else"), Totals::default());
}
