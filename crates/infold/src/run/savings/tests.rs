//! The lines that `infold run` prints at the end.

use super::*;

#[test]
fn a_run_that_sent_nothing_says_so() {
    assert_eq!(Savings::default().lines(Agent::Claude), ["no requests went through infold"]);
}

#[test]
fn requests_without_an_answer_are_said_first_and_nothing_is_claimed_of_them() {
    let failed = Savings { requests: 7, unanswered: 7, ..Savings::default() };
    assert_eq!(failed.lines(Agent::Codex), ["7 of 7 requests got no answer: run `infold top --once` to see why"]);
    let some = Savings { requests: 7, unanswered: 1, fresh_tokens: 10, ..Savings::default() };
    assert_eq!(
        some.lines(Agent::Codex),
        [
            "1 of 7 requests got no answer: run `infold top --once` to see why",
            "7 requests: 10 input tokens (0 % cached); infold removed 0",
        ]
    );
}

#[test]
fn what_was_folded_and_what_was_sent_is_said_in_a_few_lines() {
    let savings = Savings {
        requests: 14,
        unanswered: 0,
        saved_tokens: 81_000,
        saved_usd: Some(0.0612),
        branches: 2,
        folded_tokens: 38_500,
        returned_tokens: 1_600,
        fresh_tokens: 10_000,
        cache_read_tokens: 90_000,
        offloaded: 3,
        secrets: 1,
        failures: 0,
        unplaced: 0,
        server_calls: 41,
        servers: 3,
        stored: 12,
        memories_given: 3,
        branches_given: 2,
        memories_made: 1,
    };
    assert_eq!(
        savings.lines(Agent::Claude),
        [
            "2 branches folded: 38,500 tokens of work replaced by 1,600",
            "14 requests: 100,000 input tokens (90 % cached); infold removed 81,000, saving about $0.06",
            "3 long tool results replaced by references, 1 secret removed",
            "41 calls of 3 servers; 12 results stored",
            "3 memories given to 2 branches, 1 lesson learnt",
            "resume: `infold run claude --continue`",
        ]
    );
}

#[test]
fn calls_that_folded_nothing_are_said() {
    let lines = Savings { requests: 3, unplaced: 2, ..Savings::default() }.lines(Agent::Codex);
    assert_eq!(lines[1], "2 calls of infold's tools had no effect: they came from outside the proxied session");
}

#[test]
fn dollars_are_said_only_where_some_were_saved_and_the_model_has_a_price() {
    let ends_with = |saved_tokens, saved_usd, wanted: &str| {
        let savings = Savings { requests: 1, saved_tokens, saved_usd, ..Savings::default() };
        let lines = savings.lines(Agent::Claude);
        assert!(lines[0].ends_with(wanted), "{lines:?}");
    };
    ends_with(500, None, "infold removed 500");
    ends_with(500, Some(0.002), "infold removed 500, saving less than $0.01");
    ends_with(500, Some(-0.5), "infold removed 500");
    ends_with(-70, Some(0.5), "infold added 70");
    ends_with(0, Some(0.0), "infold removed 0");
}
