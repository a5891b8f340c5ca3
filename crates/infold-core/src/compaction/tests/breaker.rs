//! Compactions in vain come to an end.

use super::*;

const LIMITS: BreakerLimits = BreakerLimits { compactions_max: 3, turns_between_min: 2 };

#[test]
fn compactions_that_miss_their_target_are_stopped_with_what_cannot_shrink() {
    let mut breaker = CompactionBreaker::default();
    let mut made = 0;
    for turn in 0..211 {
        if breaker.check(&LIMITS).is_ok() {
            made += 1;
            breaker.note(turn * 10, CompactionEnd::InVain("The last turn takes 9,000 tokens"), &LIMITS);
        }
    }
    assert_eq!(made, 3);
    insta::assert_snapshot!(breaker.check(&LIMITS).unwrap_err(), @"no more compactions: 3 in a row freed too little or came again at once. The last turn takes 9,000 tokens. They go on when the user says something new or the model has a larger window");
}

#[test]
fn compactions_that_reach_their_target_but_come_at_once_are_stopped_too() {
    let mut breaker = CompactionBreaker::default();
    let mut made = 0;
    for turn in 0..211 {
        if breaker.check(&LIMITS).is_ok() {
            made += 1;
            breaker.note(turn, CompactionEnd::Reached, &LIMITS);
        }
    }
    assert_eq!(made, 4, "the first is not soon after any other");
    insta::assert_snapshot!(breaker.check(&LIMITS).unwrap_err(), @"no more compactions: 3 in a row freed too little or came again at once. Each reached its target, and the thread was full again at once: single turns are too large. They go on when the user says something new or the model has a larger window");
}

#[test]
fn compactions_with_work_between_them_never_trip_it() {
    let mut breaker = CompactionBreaker::default();
    for turn in 0..211 {
        assert!(breaker.check(&LIMITS).is_ok());
        breaker.note(turn * 2, CompactionEnd::Reached, &LIMITS);
    }
}

#[test]
fn new_words_or_a_larger_window_start_anew_and_a_smaller_one_does_not() {
    let mut tripped = CompactionBreaker::default();
    tripped.window_is(1_000);
    for turn in 0..3 {
        tripped.note(turn, CompactionEnd::InVain("x"), &LIMITS);
    }
    let after = |change: fn(&mut CompactionBreaker)| {
        let mut breaker = tripped.clone();
        change(&mut breaker);
        breaker.check(&LIMITS).is_ok()
    };
    assert!(!after(|_| {}));
    assert!(after(CompactionBreaker::person_spoke));
    assert!(after(|breaker| breaker.window_is(2_000)));
    assert!(!after(|breaker| breaker.window_is(1_000)));
    assert!(!after(|breaker| breaker.window_is(500)));
}

#[test]
fn a_breaker_is_the_same_after_a_restart() {
    let mut breaker = CompactionBreaker::default();
    breaker.note(4, CompactionEnd::InVain("x"), &LIMITS);
    let stored = serde_json::to_string(&breaker).unwrap();
    assert_eq!(serde_json::from_str::<CompactionBreaker>(&stored).unwrap(), breaker);
}
