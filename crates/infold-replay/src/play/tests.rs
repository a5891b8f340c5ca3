//! Tests of each measure on a session small enough to work it out by hand.
//!
//! The base is always the smallest allowed, 5,000 tokens. With a GPT model, counts of tokens are not scaled.

use crate::tests::script::session;
use crate::thread::Thread;
use crate::{Compactions, Measures, Policy};

use super::{PlayedThread, Sent, play};

const BASE: u64 = 5_000;

fn played(model: &str, policy: Policy, text: &str) -> PlayedThread {
    let transcript = session(model, text);
    let (thread, mut texts) = Thread::main(&transcript, Compactions::AsRecorded);
    assert_eq!(thread.base_tokens, BASE);
    play(&thread, &mut texts, policy)
}

fn measures(policy: Policy, text: &str) -> Measures {
    played("gpt-5", policy, text).measures
}

const TWO_REQUESTS: &str = "
    user the*10
    says the*20
    user the*30
    says the*1
";

#[test]
fn what_was_in_the_request_before_is_read_and_the_rest_is_written() {
    let played = played("gpt-5", Policy::AsItWas, TWO_REQUESTS);
    let sent = |prompt_tokens, read_tokens| Sent { prompt_tokens, read_tokens };
    assert_eq!(played.sent, [sent(BASE + 10, 0), sent(BASE + 60, BASE + 10)]);
    let it = played.measures;
    assert_eq!((it.requests, it.peak_tokens, it.prompt_tokens), (2, 5_060, 10_070));
    assert_eq!((it.cache_read_tokens, it.cache_write_tokens, it.output_tokens), (5_010, 5_060, 200));
}

#[test]
fn the_bill_has_each_providers_weights() {
    // 5,010 tokens are read, 5,010 + 50 are written, and the answers have 200.
    let openai = played("gpt-5", Policy::AsItWas, TWO_REQUESTS).measures;
    assert!((openai.billed - (0.1 * 5_010.0 + 5_060.0 + 8.0 * 200.0)).abs() < 1e-6);
    // Claude up to 4.6 counts 9, 17 and 25 for so many short words.
    let anthropic = played("claude-opus-4-5", Policy::AsItWas, TWO_REQUESTS).measures;
    assert!((anthropic.billed - (0.1 * 5_009.0 + 1.25 * 5_051.0 + 5.0 * 200.0)).abs() < 1e-6);
    assert_eq!(anthropic.adjusted, anthropic.billed);
}

/// `a` is a tool whose name has one token, and `{}` are arguments of one token.
const THREE_RESULTS: &str = "
    user the*10
    call 1 a {}
    result 1 the*1000
    call 2 a {}
    result 2 the*2000
    call 3 a {}
    result 3 the*3000
    says done
";

#[test]
fn clearing_a_result_costs_everything_behind_it() {
    let cleared = 7;
    assert_eq!(infold_core::Counter::new(infold_core::Family::Gpt).count(infold_core::transcript::CLEARED), cleared);
    let played = played("gpt-5", Policy::KeepLast { results: 1 }, THREE_RESULTS);
    let sizes: Vec<u64> = played.sent.iter().map(|sent| sent.prompt_tokens - BASE).collect();
    assert_eq!(sizes, [10, 1_012, 2_014 + cleared, 3_016 + 2 * cleared]);
    // The third request shares the first call with the second one. The fourth shares the cleared first result and the
    // second call with the third.
    let reads: Vec<u64> = played.sent.iter().map(|sent| sent.read_tokens).collect();
    assert_eq!(reads, [0, BASE + 10, BASE + 12, BASE + 14 + cleared]);
}

#[test]
fn batches_and_thresholds_clear_seldom() {
    let prompts = |policy| -> Vec<u64> {
        played("gpt-5", policy, THREE_RESULTS).sent.iter().map(|sent| sent.prompt_tokens - BASE).collect()
    };
    assert_eq!(prompts(Policy::ClearInBatches { results_max: 3, keep: 1 }), [10, 1_012, 3_014, 3_030]);
    assert_eq!(prompts(Policy::ClearInBatches { results_max: 4, keep: 1 }), [10, 1_012, 3_014, 6_016]);
    assert_eq!(prompts(Policy::ClearAt { tokens_max: BASE + 3_000, keep: 1 }), [10, 1_012, 2_021, 3_030]);
    assert_eq!(prompts(Policy::ClearAt { tokens_max: BASE + 6_016, keep: 1 }), [10, 1_012, 3_014, 6_016]);
}

#[test]
fn offloading_when_first_seen_changes_nothing_that_was_sent() {
    let played = played("gpt-5", Policy::Offload { bytes_max: 6_000, preview_chars: 20 }, THREE_RESULTS);
    for two in played.sent.windows(2) {
        assert_eq!(two[1].read_tokens, two[0].prompt_tokens);
    }
    let small = played.sent[1].prompt_tokens;
    assert_eq!(small, BASE + 1_012, "1,000 times the word is under 6,000 bytes");
    assert!(played.sent[2].prompt_tokens < small + 200, "2,000 times the word is over it");
}

const NAMES: &str = "
    user look at src/first_one.rs
    call 1 a {}
    result 1 found near_name and far_name_9\\nthe line that is edited
    call 2 a {\"path\": \"src/first_one.rs\", \"name\": \"far_name_9\", \"new\": \"never_seen_before\"}
    result 2 nothing
    call 3 a {\"old_string\": \"the line that is edited\\nthis line was not there\", \"new_string\": \"x\"}
    result 3 nothing
    says done
";

#[test]
fn recall_is_of_what_had_occurred_before() {
    let whole = measures(Policy::AsItWas, NAMES);
    // The atoms are the path `src/first_one.rs`, the identifier in it, and `far_name_9`.
    assert_eq!((whole.atoms_needed, whole.atoms_seen), (3, 3));
    assert_eq!((whole.lines_needed, whole.lines_seen), (1, 1));
    assert_eq!((whole.fetches, whole.adjusted), (0, whole.billed));
    assert_eq!(whole.recall_percent(), Some(100.0));
}

#[test]
fn what_is_cleared_is_missed_and_fetched_again_each_time() {
    let none = measures(Policy::KeepLast { results: 0 }, NAMES);
    assert_eq!((none.atoms_needed, none.atoms_seen), (3, 2));
    assert_eq!((none.lines_needed, none.lines_seen), (1, 0));
    // The name is missing in the second request and the line in the third, both from the first result.
    assert_eq!(none.fetches, 2);
    let played = played("gpt-5", Policy::KeepLast { results: 0 }, NAMES);
    let result_tokens = infold_core::Counter::new(infold_core::Family::Gpt)
        .count("found near_name and far_name_9\nthe line that is edited");
    let sizes = played.sent[1].prompt_tokens + played.sent[2].prompt_tokens;
    let fetch = 0.1 * sizes as f64 + 2.0 * (300.0 + result_tokens as f64);
    assert!((none.adjusted - none.billed - fetch).abs() < 1e-6);
}

#[test]
fn far_is_before_the_last_ten_results() {
    let mut text = String::from("user go\ncall 0 a {}\nresult 0 some far_name_9\n");
    for at in 1..=10 {
        text += &format!("call {at} a {{}}\nresult {at} nothing\n");
    }
    text += "call 11 a {\"name\": \"far_name_9\"}\nresult 11 nothing\nsays done\n";
    let far_atoms = |results| {
        let it = measures(Policy::KeepLast { results }, &text);
        (it.far_atoms_seen, it.far_atoms_needed, it.atoms_needed)
    };
    assert_eq!(far_atoms(11), (1, 1, 1));
    assert_eq!(far_atoms(10), (0, 1, 1));
}

const SIGNED: &str = "
    user go
    thinks about it
    call 1 a {}
    result 1 the*100
    thinks again
    call 2 a {}
    result 2 the*100
    says one
    user go on
    says two
    summary the*10
    user go on
    thinks a third time
    says done
";

#[test]
fn reasoning_is_invalid_behind_a_change_until_the_client_compacts() {
    // The second request clears nothing. The third clears result 1, after which there is a signed thought.
    let invalid = |policy| measures(policy, SIGNED).invalid_reasoning_requests;
    assert_eq!(invalid(Policy::KeepLast { results: 1 }), 2);
    assert_eq!(invalid(Policy::AsItWas), 0);
    assert_eq!(invalid(Policy::Offload { bytes_max: 100, preview_chars: 10 }), 0);
    let unsigned = SIGNED.replace("thinks", "muses");
    assert_eq!(measures(Policy::KeepLast { results: 1 }, &unsigned).invalid_reasoning_requests, 0);
}

#[test]
fn a_compaction_leaves_the_base_and_the_summary() {
    let played = played("gpt-5", Policy::AsItWas, SIGNED);
    let last = played.sent.last().unwrap();
    assert_eq!((last.prompt_tokens, last.read_tokens), (BASE + 12, BASE));
}

#[test]
fn what_the_client_cleared_is_cleared_under_every_policy() {
    let text = THREE_RESULTS.replace("call 3", "cleared 1\ncall 3");
    for policy in Policy::USUAL {
        let played = played("gpt-5", policy, &text);
        assert!(played.sent[2].prompt_tokens <= BASE + 2_021, "{policy:?}");
    }
}

#[test]
fn requests_that_another_program_built_are_measured_alike() {
    use crate::{Judge, SentItem};
    let transcript = session("gpt-5", NAMES);
    let result = "found near_name and far_name_9\nthe line that is edited";
    let call = |arguments| SentItem::Call { tool: "a", arguments };
    let second = r#"{"path": "src/first_one.rs", "name": "far_name_9", "new": "never_seen_before"}"#;
    let third = r#"{"old_string": "the line that is edited\nthis line was not there", "new_string": "x"}"#;
    let items = [
        SentItem::Words("look at src/first_one.rs"),
        call("{}"),
        SentItem::Words(result),
        call(second),
        SentItem::Words("nothing"),
        call(third),
        SentItem::Words("nothing"),
    ];
    let play = |items: &[SentItem<'_>]| {
        let mut judge = Judge::new(&transcript);
        assert_eq!((judge.requests(), judge.base_tokens()), (4, BASE));
        [1, 3, 5, 7].into_iter().for_each(|end| judge.take(&items[..end]));
        judge.finish()
    };
    assert_eq!(play(&items), measures(Policy::AsItWas, NAMES));
    let mut without = items;
    without[2] = SentItem::Words(infold_core::transcript::CLEARED);
    let cleared = play(&without);
    assert_eq!((cleared.atoms_seen, cleared.lines_seen, cleared.fetches), (2, 0, 2));
}
