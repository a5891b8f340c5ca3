//! What must hold for every transcript and every budget.

use proptest::prelude::*;

use super::*;

/// Texts of many lengths and of few different lines, so that lines meet again.
fn text() -> BoxedStrategy<String> {
    let line = prop_oneof![
        4 => (0..40u8).prop_map(|at| format!("    12→let some_name_{at} = value_{at};")),
        2 => (0..9u8).prop_map(|at| format!("漢字🦀 é {at}")),
        1 => Just(String::new()),
        1 => (0..600usize).prop_map(|chars| "ü".repeat(chars)),
        1 => any::<u16>().prop_map(|at| format!("see src/file_{at}.rs:{at}")),
    ];
    prop::collection::vec(line, 0..30).prop_map(|lines| lines.join("\n")).boxed()
}

fn input() -> BoxedStrategy<String> {
    prop_oneof![
        Just(r#"{"command":"cat a.rs"}"#.to_owned()),
        text(),
        text().prop_map(|text| serde_json::json!({"path": "/src/a.rs", "text": text, "list": [1, null]}).to_string()),
    ]
    .boxed()
}

fn any_item() -> BoxedStrategy<Item> {
    let id = || (0..30u8).prop_map(|id| if id == 0 { String::new() } else { format!("c{id}") });
    let tool = || prop_oneof![Just("Read"), Just("Bash"), Just("Edit"), Just("")].prop_map(str::to_owned);
    prop_oneof![
        2 => text().prop_map(|text| person(&text)),
        2 => text().prop_map(|text| model(&text)),
        1 => text().prop_map(|text| item(Kind::User { text, voice: Voice::Client })),
        1 => text().prop_map(|text| summary(&text)),
        6 => (id(), tool(), input()).prop_map(|(id, tool, input)| call(&id, &tool, &input)),
        6 => (id(), tool(), text()).prop_map(|(id, tool, text)| result(&id, &tool, &text)),
        1 => text().prop_map(|text| item(Kind::Reasoning { text, sealed_bytes: 0 })),
        1 => text().prop_map(|json| item(Kind::Other { name: "image".to_owned(), json })),
    ]
    .boxed()
}

fn transcript() -> BoxedStrategy<Vec<Item>> {
    prop::collection::vec(any_item(), 0..40).boxed()
}

fn budget() -> BoxedStrategy<usize> {
    prop_oneof![0..400usize, 1_900..2_100usize, 400..30_000usize, Just(1_000_000), Just(usize::MAX)].boxed()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_context_is_never_longer_than_the_budget(items in transcript(), budget_chars in budget()) {
        let forked = fork(budget_chars, items);
        prop_assert!(count(&forked.context) <= budget_chars, "{} > {budget_chars}", count(&forked.context));
        prop_assert_eq!(forked.stats.total_chars, count(&forked.context));
        prop_assert!(forked.stats.messages_shown <= forked.stats.messages);
        prop_assert!(forked.stats.results_whole + forked.stats.results_in_part <= forked.stats.results);
    }

    #[test]
    fn the_same_transcript_gives_the_same_context(items in transcript(), budget_chars in budget()) {
        prop_assert_eq!(fork(budget_chars, items.clone()), fork(budget_chars, items));
    }

    #[test]
    fn every_call_that_is_shown_has_its_result_or_a_note(items in transcript(), budget_chars in budget()) {
        let numbered = items.into_iter().enumerate().map(|(at, item)| match item.kind {
            Kind::Call { id, input, .. } => call(&id, &format!("call#{at}#"), &input),
            _ => item,
        });
        let context = fork(budget_chars, numbered).context;
        let blocks = context.split("call#").skip(1);
        prop_assert!(blocks.clone().all(|block| block.contains("\n→")), "{context}");
    }

    #[test]
    fn the_newest_words_of_the_person_are_whole_if_they_fit_their_quarter(items in transcript(), words in text()) {
        let budget_chars = 4 * (count(&words) + 12);
        let context = fork(budget_chars, items.into_iter().chain([person(&words)])).context;
        let room = budget_chars >= LEGEND_BUDGET_CHARS_MIN || count(&words) > 0;
        prop_assert!(!room || context.contains(&format!("[User]\n{words}")) || words.is_empty(), "{context}");
    }

    #[test]
    fn with_room_for_all_of_it_every_line_is_shown(items in transcript()) {
        let context = fork(1_000_000, items.clone()).context;
        let lines: std::collections::HashSet<&str> = context.lines().filter_map(crate::atoms::edit_line).collect();
        for item in &items {
            let Kind::Result { text, .. } = &item.kind else { continue };
            for line in text.lines().filter_map(crate::atoms::edit_line) {
                prop_assert!(lines.contains(line), "{line} is not in {context}");
            }
        }
    }

    #[test]
    fn what_is_held_depends_on_the_budget(items in transcript(), budget_chars in 0..3_000usize) {
        let mut recall = Recall::new(budget_chars);
        for round in 0..6u64 {
            items.iter().cloned().for_each(|item| recall.push(Item { message: round, ..item }));
            let held: usize = in_order(&recall.window).iter().map(|piece| count(&piece.text)).sum();
            prop_assert!(held <= 8 * budget_chars + 400, "{held} of {budget_chars}");
        }
    }
}
