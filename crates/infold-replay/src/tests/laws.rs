//! Laws that must hold for every session and policy.

use infold_core::transcript::Transcript;
use proptest::prelude::*;

use super::script::session;
use crate::play::{PlayedThread, play};
use crate::thread::Thread;
use crate::{Compactions, Measures, Policy};

/// A word, which may be an atom or not.
fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        (0..30_u8).prop_map(|n| format!("name_{n}_x")),
        (0..10_u8).prop_map(|n| format!("src/file_{n}.rs")),
        (1..400_u16).prop_map(|n| format!("the*{n}")),
        Just("a line of some length\\nand another line behind it\\n".to_owned()),
    ]
}

fn words() -> impl Strategy<Value = String> {
    prop::collection::vec(word(), 1..6).prop_map(|words| words.join(" "))
}

/// One step of a session, as lines in which `#` becomes the number of the step.
fn step() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => words().prop_map(|words| format!("user {words}\n")),
        1 => words().prop_map(|words| format!("says {words}\n")),
        6 => (words(), words(), any::<bool>()).prop_map(|(input, result, thinks)| {
            let thought = if thinks { "thinks so\n" } else { "" };
            format!("{thought}call # a {{\"text\": \"{input}\", \"old_string\": \"{input}\"}}\nresult # {result}\n")
        }),
        1 => words().prop_map(|words| format!("summary {words}\nuser {words}\n")),
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(step(), 1..60).prop_map(|steps| {
        let numbered = steps.into_iter().enumerate().map(|(at, step)| step.replace('#', &at.to_string()));
        format!("user go\n{}says done\n", numbered.collect::<String>())
    })
}

fn policies() -> Vec<Policy> {
    let mut policies = Policy::USUAL.to_vec();
    policies.extend([
        Policy::KeepLast { results: 0 },
        Policy::ClearInBatches { results_max: 5, keep: 2 },
        Policy::ClearAt { tokens_max: 8_000, keep: 1 },
        Policy::Offload { bytes_max: 200, preview_chars: 50 },
    ]);
    policies
}

fn played(transcript: &Transcript, policy: Policy) -> PlayedThread {
    let (thread, mut texts) = Thread::main(transcript, Compactions::AsRecorded);
    play(&thread, &mut texts, policy)
}

fn never_changes_what_was_sent(policy: Policy) -> bool {
    matches!(policy, Policy::AsItWas | Policy::Offload { .. } | Policy::Shaped { .. })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn sums_are_sums(text in text()) {
        let transcript = session("claude-opus-4-5", &text);
        for policy in policies() {
            let played = played(&transcript, policy);
            let it = &played.measures;
            prop_assert_eq!(it.cache_read_tokens + it.cache_write_tokens, it.prompt_tokens);
            prop_assert_eq!(it.prompt_tokens, played.sent.iter().map(|sent| sent.prompt_tokens).sum::<u64>());
            prop_assert_eq!(Some(it.peak_tokens), played.sent.iter().map(|sent| sent.prompt_tokens).max());
            for two in played.sent.windows(2) {
                prop_assert!(two[1].read_tokens <= two[0].prompt_tokens);
                prop_assert!(two[1].read_tokens <= two[1].prompt_tokens);
            }
            prop_assert!(it.atoms_seen <= it.atoms_needed && it.lines_seen <= it.lines_needed);
            prop_assert!(it.far_atoms_needed <= it.atoms_needed && it.far_atoms_seen <= it.atoms_seen);
            prop_assert!(it.adjusted >= it.billed && ((it.adjusted > it.billed) == (it.fetches > 0)));
        }
    }

    #[test]
    fn as_it_was_nothing_is_missed(text in text()) {
        let it = played(&session("gpt-5", &text), Policy::AsItWas).measures;
        prop_assert_eq!((it.atoms_seen, it.lines_seen), (it.atoms_needed, it.lines_needed));
        prop_assert_eq!(it.fetches, 0);
    }

    #[test]
    fn what_is_decided_when_first_seen_keeps_prefix_and_reasoning(text in text()) {
        let text = text.replace("summary", "says");
        let transcript = session("claude-opus-5", &text);
        for policy in policies().into_iter().filter(|policy| never_changes_what_was_sent(*policy)) {
            let played = played(&transcript, policy);
            prop_assert_eq!(played.measures.invalid_reasoning_requests, 0);
            for two in played.sent.windows(2) {
                prop_assert_eq!(two[1].read_tokens, two[0].prompt_tokens);
            }
        }
    }

    #[test]
    fn without_cache_breaking_as_it_was_is_the_largest(text in text()) {
        // Every form of a long result is shorter than the whole; a short result may grow by a placeholder.
        let transcript = session("gpt-5", &text);
        let whole = played(&transcript, Policy::AsItWas).measures;
        for results in [0, 1, 5] {
            let it = played(&transcript, Policy::KeepLast { results }).measures;
            let placeholders = 6 * transcript.items.len() as u64;
            prop_assert!(it.peak_tokens <= whole.peak_tokens + placeholders);
        }
    }

    #[test]
    fn the_same_session_gives_the_same_figures_in_any_order_of_policies(text in text()) {
        let transcript = session("gpt-5", &text);
        let alone: Vec<PlayedThread> = policies().into_iter().map(|policy| played(&transcript, policy)).collect();
        let (thread, mut texts) = Thread::main(&transcript, Compactions::AsRecorded);
        let together: Vec<PlayedThread> = policies().into_iter().rev().map(|policy| play(&thread, &mut texts, policy)).collect();
        prop_assert_eq!(alone, together.into_iter().rev().collect::<Vec<_>>());
    }

    #[test]
    fn keeping_more_results_never_shows_less(text in text()) {
        let transcript = session("gpt-5", &text);
        let seen: Vec<Measures> =
            [0, 3, 10, 1_000].map(|results| played(&transcript, Policy::KeepLast { results }).measures).to_vec();
        for two in seen.windows(2) {
            prop_assert!(two[0].atoms_seen <= two[1].atoms_seen && two[0].lines_seen <= two[1].lines_seen);
        }
        prop_assert_eq!(seen[3].atoms_seen, seen[3].atoms_needed);
    }
}
