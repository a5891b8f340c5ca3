//! The suite's closing count is read.

use super::{Totals, total_line};

#[test]
fn the_closing_count_is_read() {
    let found = total_line("Total: 83 passed, 2 failed");

    assert_eq!(found, Some(Totals { passed: 83, failed: 2, skipped: 0 }));
    assert_eq!(total_line("✓ ping: 2 passed, 0 failed"), None);
}
