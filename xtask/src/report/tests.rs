//! Counts are read from the lines that test programs print.

use super::{Totals, closing_totals, harness_totals, script_totals};

#[test]
fn the_harness_line_is_read() {
    let line = "test result: FAILED. 12 passed; 3 failed; 1 ignored; 0 measured; 0 filtered out";

    assert_eq!(harness_totals(line), Some(Totals { passed: 12, failed: 3, skipped: 1 }));
    assert_eq!(harness_totals("test some::test ... ok"), None);
}

#[test]
fn the_closing_line_of_a_report_is_read() {
    assert_eq!(closing_totals("12 passed, 3 failed, 1 skipped"), Some(Totals { passed: 12, failed: 3, skipped: 1 }));
    assert_eq!(closing_totals("--> page: 1 passed, 0 failed, 0 skipped in 1.0 s"), None);
}

#[test]
fn a_script_says_ok_or_not_ok() {
    assert_eq!(script_totals("ok lists every tool"), Totals::one_passed());
    assert_eq!(script_totals("not ok lists every tool: 2 are missing"), Totals::one_failed());
    assert_eq!(script_totals("anything else"), Totals::default());
}
