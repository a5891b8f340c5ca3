//! Each fault, and what comes after it.

use proptest::prelude::*;

use super::{Fault, NextAttempt, RetryLimits, next_attempt};
use crate::provider::{AnswerFault, SendFault};

const LIMITS: RetryLimits<'static> = RetryLimits {
    attempts_max: 5,
    first_wait_ms: 1_000,
    wait_ms_max: 6_000,
    retry_after_ms_max: 60_000,
    key_variable: "MY_KEY",
};

fn after(fault: Fault) -> NextAttempt {
    next_attempt(1, &fault, &LIMITS, 1_000)
}

fn status(status: u16, body: &str) -> Fault {
    Fault::of_status(status, None, body.as_bytes())
}

fn reported(kind: &str, message: &str) -> Fault {
    AnswerFault::Reported { kind: Some(kind.to_owned()), message: message.to_owned() }.into()
}

#[test]
fn what_passes_is_tried_again() {
    let mut faults: Vec<Fault> = [429, 500, 502, 503, 504, 529].map(|number| status(number, "{}")).to_vec();
    faults.push(SendFault::Unreached("no connection".to_owned()).into());
    faults.push(SendFault::BrokeOff("silence".to_owned()).into());
    faults.push(AnswerFault::BrokeOff.into());
    faults.push(reported("overloaded_error", "Overloaded"));
    for fault in faults {
        assert_eq!(after(fault.clone()), NextAttempt::Retry { after_ms: 1_000 }, "{fault:?}");
        let NextAttempt::GiveUp { why, .. } = next_attempt(5, &fault, &LIMITS, 0) else { panic!("{fault:?} goes on") };
        assert!(why.contains("5 attempts"), "{why}");
    }
}

#[test]
fn waits_double_up_to_their_bound() {
    let fault = status(529, "{}");
    let waits = [1, 2, 3, 4].map(|attempt| match next_attempt(attempt, &fault, &LIMITS, 0) {
        NextAttempt::Retry { after_ms } => after_ms,
        other => panic!("{other:?}"),
    });
    assert_eq!(waits, [500, 1_000, 2_000, 3_000]);
}

#[test]
fn a_wait_that_the_provider_asks_for_is_kept_up_to_its_bound() {
    let asked = |after_ms: u64| Fault::of_status(429, Some(after_ms), b"{}");
    assert_eq!(after(asked(7_000)), NextAttempt::Retry { after_ms: 7_000 });
    assert_eq!(after(asked(0)), NextAttempt::Retry { after_ms: 1_000 });
    let NextAttempt::GiveUp { why, .. } = after(asked(60_001)) else { panic!("it waits") };
    assert!(why.contains("60 s"), "{why}");
}

#[test]
fn what_stays_says_what_to_do() {
    let spent = "{\"error\":{\"code\":\"insufficient_quota\",\"message\":\"You exceeded your current quota\"}}";
    let repeats = "{\"error\":{\"message\":\"Incorrect API key provided: sk-abc\"}}";
    for (fault, in_why, in_advice) in [
        (status(401, repeats), "refuses the key", "MY_KEY"),
        (status(403, repeats), "refuses the key", "MY_KEY"),
        (status(404, "{\"error\":\"model 'm' not found\"}"), "model 'm' not found", "name of the model"),
        (status(429, spent), "quota", "account"),
        (status(400, "{\"error\":{\"type\":\"invalid_request_error\",\"message\":\"bad\"}}"), "bad", "provider says"),
        (reported("invalid_request_error", "bad"), "bad", "provider says"),
        (SendFault::Unusable("the variable K is not set".to_owned()).into(), "the variable K is not set", "settings"),
        (AnswerFault::Unreadable("it is no stream").into(), "no stream", "address"),
    ] {
        let NextAttempt::GiveUp { why, advice } = after(fault.clone()) else { panic!("{fault:?} goes on") };
        assert!(why.contains(in_why) && advice.contains(in_advice), "{why}: {advice}");
        assert!(!why.contains("sk-abc"), "{why}");
    }
}

#[test]
fn a_request_that_is_too_long_can_be_made_shorter() {
    let anthropic = "{\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long: 210000 tokens > 200000 maximum\"}}";
    let known = NextAttempt::TooLong { window_tokens: Some(200_000) };
    let unknown = NextAttempt::TooLong { window_tokens: None };
    assert_eq!(after(status(400, anthropic)), known);
    assert_eq!(after(status(413, "{}")), unknown);
    assert_eq!(after(reported("context_length_exceeded", "too long")), unknown);
    assert_eq!(after(status(400, "{\"error\":\"the input length exceeds the context length\"}")), unknown);
    let bound = "`thinking` block signature is bound to a different conversation.";
    assert_eq!(after(reported("invalid_request_error", bound)), NextAttempt::WithoutReasoning);
}

proptest! {
    #[test]
    fn no_wait_is_longer_than_its_bound(attempt in 1_u32..200, jitter in 0_u64..5_000, first in 0_u64..u64::MAX) {
        let limits = RetryLimits { attempts_max: u32::MAX, first_wait_ms: first, ..LIMITS };
        let next = next_attempt(attempt, &status(500, ""), &limits, jitter);
        prop_assert!(matches!(next, NextAttempt::Retry { after_ms } if after_ms <= limits.wait_ms_max), "{:?}", next);
    }
}
