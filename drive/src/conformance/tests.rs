//! The suite's summary is read, and only what a revision requires counts.

use super::{Summary, Totals};

#[test]
fn only_what_the_revision_requires_counts() {
    let mut summary = Summary::default();

    for line in [
        "=== SUMMARY ===",
        "✓ ping: 2 passed, 0 failed",
        "✗ tools-list: 3 passed, 1 failed",
        "✗ tasks-lifecycle: 1 passed, 8 failed",
        "",
        "Total: 6 passed, 9 failed",
        "",
        "Not scored for 2026-07-28: 1 scenario(s) run, 1 failing. These do not affect conformance.",
        "  ✗ tasks-lifecycle (extension)",
    ] {
        summary.see(line);
    }

    assert_eq!(summary.required(), Totals { passed: 5, failed: 1, skipped: 0 });
}
