//! Whatever the transcript: item by item and all at once give the same context and statistics.

use proptest::prelude::*;

use super::stages::{Link, Links};
use super::*;
use crate::fork::format::item_chars;
use crate::transcript::CLEARED;

/// Texts of all lengths that make a difference, some of them with characters of several bytes.
fn text() -> BoxedStrategy<String> {
    let chars = prop_oneof![
        4 => 0..40usize,
        3 => 40..700usize,
        2 => 480..520usize,
        1 => 2_900..3_300usize,
        1 => 3_300..9_000usize,
    ];
    let words = prop_oneof![Just("plain words "), Just("漢字🦀é "), Just("an error came up "), Just("x")];
    let text = (chars, words, any::<u32>()).prop_map(|(chars, words, salt)| {
        format!("{salt} ").chars().chain(words.chars().cycle()).take(chars).collect::<String>()
    });
    let text = text.boxed();
    prop_oneof![12 => text.clone(), 1 => text.prop_map(|text| format!("{text}{CLEARED}{text}"))].boxed()
}

fn tool() -> BoxedStrategy<String> {
    prop_oneof![Just("Read".to_owned()), Just("Bash".to_owned()), Just(String::new()), Just("t".repeat(200))].boxed()
}

fn id() -> BoxedStrategy<String> {
    prop_oneof![9 => (0..12u8).prop_map(|id| format!("c{id}")), 1 => Just(String::new())].boxed()
}

fn kind() -> BoxedStrategy<Kind> {
    prop_oneof![
        3 => (text(), any::<bool>()).prop_map(|(text, client)| {
            Kind::User { text, voice: if client { Voice::Client } else { Voice::Person } }
        }),
        3 => text().prop_map(|text| Kind::Assistant { text }),
        2 => text().prop_map(|text| Kind::Reasoning { text, sealed_bytes: 0 }),
        8 => (id(), tool(), text()).prop_map(|(id, tool, input)| Kind::Call { id, tool, input }),
        10 => (id(), tool(), text(), any::<bool>(), 0..10u8).prop_map(|(id, tool, text, failed, held)| Kind::Result {
            id,
            tool,
            text,
            outcome: if failed { CallOutcome::Failed } else { CallOutcome::Unsaid },
            held: if held == 0 { HeldContent::Cleared } else { HeldContent::Whole },
        }),
        1 => text().prop_map(|text| Kind::System { text }),
        1 => text().prop_map(|json| Kind::Other { name: "image".to_owned(), json }),
        1 => Just(Kind::Clearing { calls: vec!["c1".to_owned()] }),
    ]
    .boxed()
}

fn compaction_kind() -> BoxedStrategy<Kind> {
    (prop::option::of(text()), any::<bool>())
        .prop_map(|(summary, kept)| {
            let kept = if kept { vec![user(0, "kept")] } else { Vec::new() };
            Kind::Compaction { summary, kept }
        })
        .boxed()
}

/// Items, each in the message of the one before it or in a later one.
fn items() -> BoxedStrategy<Vec<Item>> {
    let kind = prop_oneof![60 => kind(), 1 => compaction_kind()];
    (1..4u64, prop::collection::vec((kind, 0..4u64), 0..90))
        .prop_map(|(often, kinds)| {
            let mut message = 0;
            let number = |(kind, step)| {
                message += u64::from(step >= often);
                item(message, kind)
            };
            kinds.into_iter().map(number).collect()
        })
        .boxed()
}

fn limits() -> BoxedStrategy<ForkLimits> {
    prop_oneof![
        (0..60_000usize).prop_map(ForkLimits::with_char_budget),
        (0..3_000usize).prop_map(ForkLimits::with_char_budget),
        (0..20_000usize, 0..20_000usize)
            .prop_map(|(char_budget, char_no_removal)| ForkLimits { char_budget, char_no_removal }),
    ]
    .boxed()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn item_by_item_gives_what_the_three_stages_give(items in items(), limits in limits()) {
        let whole = process_messages_for_fork(group_messages(items.clone()), &limits);
        let streamed = streamed(limits, items);
        prop_assert_eq!(streamed.stats, whole.stats);
        prop_assert_eq!(streamed.context, whole.context);
        prop_assert_eq!(streamed.preamble, whole.preamble);
    }

    #[test]
    fn the_context_fits_and_parts_no_call_from_its_result(items in items(), char_budget in 2_000..60_000usize) {
        let whole = fork_within(char_budget, items.clone());
        prop_assert!(whole.stats.total_chars <= char_budget);
        prop_assert_eq!(whole.context.chars().count(), whole.stats.total_chars);

        let sliced = slice_from_compaction_boundary(group_messages(items));
        let graduated = apply_graduated_truncation(sliced.messages).messages;
        let budgeted = enforce_character_budget(graduated.clone(), &ForkLimits::with_char_budget(char_budget));
        let shown = graduated.iter().flat_map(|message| &message.items).any(|item| item_chars(item) > 0);
        prop_assert_eq!(!budgeted.context.is_empty(), shown, "something is always left");
        prop_assert_eq!(unanswered(&budgeted.messages, &graduated), 0);
        prop_assert_eq!(graduated.len() - budgeted.messages.len(), budgeted.removed_messages);
    }
}

/// How many calls are left without the result that they had.
fn unanswered(left: &[Message], before: &[Message]) -> usize {
    let answered = |messages: &[Message]| {
        let links = Links::of(messages);
        let mut answered = 0;
        let mut calls = 0;
        for (at, message) in messages.iter().enumerate() {
            for item in 0..message.items.len() {
                if let Link::Call { answer, .. } = links.at(at, item) {
                    calls += 1;
                    answered += usize::from(answer.is_some());
                }
            }
        }
        (calls, answered, links.results)
    };
    let (calls, answers, results) = answered(left);
    let (calls_before, answers_before, results_before) = answered(before);
    // Each answered call that is gone took its result along, and no result is gone without its call,
    // unless it had none.
    let gone_answered = answers_before - answers;
    let gone_unanswered = (calls_before - calls) - gone_answered;
    let gone_orphans = (results_before - results) - gone_answered;
    usize::from(gone_unanswered > calls_before - answers_before)
        + usize::from(gone_orphans > results_before - answers_before)
}
