//! What must hold for every compaction, whatever the thread, the summariser and the bounds.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

/// A thread: words, turns of tools, calls without a result, results without a call. Sizes are free, but for words.
pub(super) fn threads() -> impl Strategy<Value = TestThread> {
    let step = (0_u8..10, 1_u64..2_000, "[a-zé \n]{0,40}");
    let steps = proptest::collection::vec(step, 0..40);
    (steps, proptest::collection::vec(0_usize..80, 0..4)).prop_map(|(steps, pinned)| {
        let mut thread = TestThread { pinned, ..TestThread::default() };
        for (at, (what, tokens, text)) in steps.into_iter().enumerate() {
            let call = |n: usize| Kind::Call {
                id: format!("{at}.{n}"),
                tool: "shell".to_owned(),
                input: serde_json::json!({"command": text}).to_string(),
            };
            let answer = |n: usize| result(&format!("{at}.{n}"), "shell", &text, CallOutcome::Unsaid);
            match what {
                0 | 1 => thread.put(Kind::User { text: format!("{at} {text}"), voice: Voice::Person }, tokens / 20),
                2 => thread.put(Kind::User { text, voice: Voice::Client }, tokens / 10),
                3 => thread.put(Kind::Assistant { text }, tokens / 4),
                4 => thread.put(Kind::Reasoning { text, sealed_bytes: 0 }, tokens / 4),
                5 | 6 => {
                    thread.put(call(0), tokens / 10);
                    thread.put(answer(0), tokens);
                }
                7 => {
                    thread.put(call(0), tokens / 10);
                    thread.put(call(1), tokens / 10);
                    thread.put(answer(1), tokens);
                    thread.put(Kind::User { text: format!("{at} {text}"), voice: Voice::Person }, tokens / 20);
                    thread.put(answer(0), tokens / 2);
                }
                8 => thread.put(call(0), tokens / 10),
                _ => thread.put(answer(0), tokens),
            }
        }
        thread
    })
}

/// Targets and bounds, small and large.
fn rules() -> impl Strategy<Value = CompactionRules> {
    (0_u64..8_000, 0_u64..100, 1_usize..6, 0_usize..6, 0_usize..3_000).prop_map(
        |(target_tokens, receipt_tokens, turns, results, words_chars_max)| CompactionRules {
            target_tokens,
            receipt_tokens,
            keep: KeepBounds {
                recent_turns_min: turns / 2,
                recent_turns_max: turns,
                recent_results_min: results / 2,
                recent_results_max: results,
                long_messages: 30,
            },
            summary: SummaryBounds { words_chars_max, ..RULES.summary },
        },
    )
}

fn said() -> impl Strategy<Value = Option<String>> {
    proptest::option::of("[a-z ]{0,400}")
}

fn words(said: &Option<String>) -> SummariserWords<'_> {
    said.as_deref().map_or(SummariserWords::Failed("no answer"), SummariserWords::Said)
}

fn kept(compaction: &Compaction) -> BTreeSet<usize> {
    let item = |piece: &ThreadPiece| match piece {
        ThreadPiece::Summary { .. } => None,
        ThreadPiece::Kept { item } | ThreadPiece::Reference { item, .. } => Some(*item),
    };
    compaction.thread.pieces.iter().filter_map(item).collect()
}

fn summary(compaction: &Compaction) -> &str {
    match compaction.thread.pieces.first() {
        Some(ThreadPiece::Summary { text }) => text,
        _ => "",
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_compaction_shrinks_and_fits_or_says_why_not(thread in threads(), rules in rules(), said in said()) {
        let before: u64 = thread.item_tokens.iter().sum();
        match thread.compact(&rules, words(&said)) {
            Ok(compaction) => {
                let sizes = compaction.thread.pieces.iter().map(|piece| match piece {
                    ThreadPiece::Summary { text } | ThreadPiece::Reference { text, .. } => counter().count(text),
                    ThreadPiece::Kept { item } => thread.item_tokens[*item],
                });
                let after: u64 = sizes.sum();
                prop_assert_eq!(after, compaction.result.after_tokens);
                prop_assert!(after + rules.receipt_tokens < before);
                match compaction.verdict {
                    TargetVerdict::Reached => prop_assert!(after + rules.receipt_tokens <= rules.target_tokens),
                    TargetVerdict::Missed(left) => {
                        prop_assert!(after + rules.receipt_tokens > rules.target_tokens);
                        let named = left.last_turn_tokens + left.pinned_tokens + left.summary_tokens + left.older_tokens;
                        prop_assert_eq!(named, after);
                    }
                }
            }
            Err(refused) => prop_assert!(refused.after_tokens + rules.receipt_tokens >= before),
        }
    }

    #[test]
    fn calls_and_results_stay_or_go_together(thread in threads(), rules in rules(), said in said()) {
        let Ok(compaction) = thread.compact(&rules, words(&said)) else { return Ok(()) };
        let kept = kept(&compaction);
        let last_model = thread.items.iter().rposition(|item| {
            matches!(item.kind, Kind::Assistant { .. } | Kind::Reasoning { .. } | Kind::Call { .. })
        });
        let (mut calls, mut results) = (BTreeMap::new(), BTreeMap::new());
        for (at, item) in thread.items.iter().enumerate() {
            match &item.kind {
                Kind::Call { id, .. } => { calls.insert(id, at); }
                Kind::Result { id, .. } => { results.insert(id, at); }
                _ => {}
            }
        }
        for (id, call) in &calls {
            match results.get(id) {
                Some(result) => prop_assert_eq!(kept.contains(call), kept.contains(result)),
                None if kept.contains(call) => {
                    let between = &thread.items[*call..=last_model.unwrap()];
                    prop_assert!(!between.iter().any(|item| matches!(item.kind, Kind::User { .. })), "it was given up");
                }
                None => {}
            }
        }
        prop_assert!(results.iter().all(|(id, at)| calls.contains_key(id) || !kept.contains(at)));
    }

    #[test]
    fn every_word_of_the_user_is_in_the_thread_or_stored(thread in threads(), rules in rules(), said in said()) {
        let Ok(compaction) = thread.compact(&rules, words(&said)) else { return Ok(()) };
        let (kept, summary) = (kept(&compaction), summary(&compaction));
        let gone: Vec<&str> = thread.items.iter().enumerate()
            .filter(|(at, item)| matches!(item.kind, Kind::User { voice: Voice::Person, .. }) && !kept.contains(at))
            .map(|(_, item)| item.text())
            .collect();
        let chars: usize = gone.iter().map(|text| text.chars().count() + 60).sum();
        let is_truncated = compaction.result.strategies_run.iter().any(|name| name == "truncate");
        let is_shortened = is_truncated && compaction.verdict == TargetVerdict::Reached;
        for text in &gone {
            let is_stored = compaction.to_store.iter().any(|stored| {
                stored.text.contains(text) && summary.contains(&stored.placeholder)
            });
            prop_assert!(is_stored);
            prop_assert!(summary.contains(text) || chars > rules.summary.words_chars_max || is_shortened);
        }
    }

    #[test]
    fn the_last_turn_and_pinned_items_stay_and_reasoning_goes(thread in threads(), rules in rules(), said in said()) {
        let Ok(compaction) = thread.compact(&rules, words(&said)) else { return Ok(()) };
        let kept = kept(&compaction);
        for (at, item) in thread.items.iter().enumerate() {
            match item.kind {
                Kind::Reasoning { .. } => prop_assert!(!kept.contains(&at)),
                Kind::User { .. } | Kind::Assistant { .. } if thread.pinned.contains(&at) => {
                    let piece = ThreadPiece::Kept { item: at };
                    prop_assert!(compaction.thread.pieces.contains(&piece));
                }
                _ => {}
            }
        }
        if let Some(at) = thread.items.len().checked_sub(1) {
            let is_lost = matches!(&thread.items[at].kind, Kind::Result { id, .. }
                if !thread.items.iter().any(|item| matches!(&item.kind, Kind::Call { id: call, .. } if call == id)));
            let is_bare = matches!(thread.items[at].kind, Kind::Reasoning { .. });
            prop_assert!(kept.contains(&at) || is_lost || is_bare);
        }
    }

    #[test]
    fn pieces_are_in_order_and_every_placeholder_is_filled(thread in threads(), rules in rules(), said in said()) {
        let Ok(mut compaction) = thread.compact(&rules, words(&said)) else { return Ok(()) };
        let again = thread.compact(&rules, words(&said)).unwrap();
        prop_assert_eq!(&compaction, &again);
        let order: Vec<usize> = compaction.thread.pieces.iter().filter_map(|piece| match piece {
            ThreadPiece::Summary { .. } => None,
            ThreadPiece::Kept { item } | ThreadPiece::Reference { item, .. } => Some(*item),
        }).collect();
        prop_assert!(order.is_sorted_by(|a, b| a < b));
        let handles: Vec<String> = (0..compaction.to_store.len()).map(|number| format!("res_{number}")).collect();
        compaction.fill_handles(&handles);
        let left = format!("{:?} {:?}", compaction.thread, compaction.receipt);
        for (stored, handle) in compaction.to_store.iter().zip(&handles) {
            prop_assert!(!left.contains(&stored.placeholder));
            prop_assert!(left.contains(handle.as_str()));
        }
    }

    #[test]
    fn a_mechanical_summary_is_bounded(thread in threads(), rules in rules(), notes in "[a-z]{0,900}") {
        let mut facts = SummaryFacts::default();
        facts.add(&thread.items, &BTreeSet::new());
        let frame = SummaryFrame { handle: "res_1", items: 3, pinned: 0, branches: &[], notes: &notes };
        let bounds = SummaryBounds { files_max: 0, commands_max: 3, ..rules.summary };
        let chars = mechanical_summary(&facts, &frame, &bounds).chars().count();
        prop_assert!(chars <= bounds.words_chars_max + bounds.notes_chars_max + 3 * 400 + 600, "{chars}");
    }

    #[test]
    fn compacting_again_and_again_is_stopped_and_loses_no_word(
        thread in threads(),
        rules in rules(),
        said in said(),
    ) {
        let limits = BreakerLimits { compactions_max: 3, turns_between_min: 2 };
        let rules = CompactionRules {
            summary: SummaryBounds { words_chars_max: 100_000, ..rules.summary },
            keep: KeepBounds { recent_turns_min: 1, recent_turns_max: 1, ..rules.keep },
            target_tokens: 1_000_000,
            ..rules
        };
        let (mut breaker, mut made, mut now) = (CompactionBreaker::default(), 0, thread.clone());
        for turn in 0..211 {
            if breaker.check(&limits).is_err() {
                break;
            }
            made += 1;
            match now.compact(&rules, words(&said)) {
                Ok(compaction) => {
                    breaker.note(turn, CompactionEnd::Reached, &limits);
                    now = now.after(&compaction);
                }
                Err(refused) => breaker.note(turn, CompactionEnd::InVain(&refused.to_string()), &limits),
            }
        }
        prop_assert!(made <= 4);
        let all: String = now.items.iter().map(|item| item.text()).collect::<Vec<_>>().join("\n");
        for item in &thread.items {
            if matches!(item.kind, Kind::User { voice: Voice::Person, .. }) {
                prop_assert!(all.contains(item.text()));
            }
        }
    }
}
