//! If scrubbing fails, nothing is stored or returned.

use super::*;

#[tokio::test]
async fn a_scrubber_that_panics_stalls_or_is_missing_lets_nothing_through() {
    for fault in [ScrubFault::Panic, ScrubFault::Stall, ScrubFault::Missing] {
        let bench = Bench::new(settings());
        let opened = bench.open("s").await.unwrap();
        let before = bench.session("s").await;

        let mut broken = settings();
        broken.scrub.fault = fault;
        broken.scrub.timeout_ms = 50;
        let broken = bench.another(broken);
        let outcome = broken.fold_branch(&bench.who, fold(opened.branch_id.as_str(), "a message")).await;
        assert_eq!(code(outcome), "scrubbing_failed", "{fault:?}");
        assert_eq!(code(broken.open_branch(&bench.who, open("s")).await), "scrubbing_failed");
        assert_eq!(code(broken.record_result(&bench.who, result("s", "text")).await), "scrubbing_failed");
        assert_eq!(bench.session("s").await, before, "{fault:?} left something behind");
    }
}

#[tokio::test]
async fn text_over_the_scrubbers_limit_is_refused_whole() {
    let mut small = settings();
    small.scrub.bytes_max = 100;
    let bench = Bench::new(small);
    bench.open("s").await.unwrap();
    let outcome = bench.engine.record_result(&bench.who, result("s", &"x".repeat(101))).await;
    assert_eq!(code(outcome), "scrubbing_failed");
}
