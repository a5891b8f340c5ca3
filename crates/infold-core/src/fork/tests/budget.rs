//! The third stage: what goes when not everything fits.

use super::*;

/// User messages of the same length, each beginning with its number.
fn talk(count: u64, chars: usize) -> Vec<Item> {
    (0..count).map(|at| user(at, &format!("{at:<chars$}"))).collect()
}

fn outline(context: &str) -> String {
    let shorter = |line: &str| match line.chars().count() {
        0..=60 => line.trim_end().to_owned(),
        chars => format!("{}… ({chars} chars)", line.chars().take(20).collect::<String>().trim_end()),
    };
    context.lines().map(shorter).collect::<Vec<_>>().join("\n")
}

#[test]
fn under_120k_nothing_is_removed() {
    let forked = fork(talk(10, 11_000));
    assert!(forked.stats.total_chars < FORK_CHAR_NO_REMOVAL);
    assert_eq!((forked.stats.removed_messages, forked.stats.final_count), (0, 10));
}

#[test]
fn between_120k_and_200k_nothing_is_removed() {
    let forked = fork(talk(10, 19_000));
    assert!(forked.stats.total_chars > FORK_CHAR_NO_REMOVAL);
    assert_eq!((forked.stats.removed_messages, forked.stats.final_count), (0, 10));
}

#[test]
fn over_200k_the_oldest_go_until_the_rest_fits() {
    let forked = fork(talk(30, 19_000));
    assert_eq!((forked.stats.removed_messages, forked.stats.final_count), (20, 10));
    assert_eq!(forked.stats.total_chars, 10 * 19_009 - 2);
    assert!(forked.context.starts_with("[User]\n20 "));
}

#[test]
fn a_call_takes_its_result_along() {
    let long = "x".repeat(420);
    let items = vec![
        user(0, "start"),
        assistant(1, &long),
        call(1, "late", "Task", "{}"),
        call(2, "quick", "Read", "{}"),
        result(3, "quick", "Read", "quick result"),
        result(3, "late", "Task", "late result"),
        user(4, &format!("{:<100}", "only the late call is gone")),
    ];
    let forked = fork_within(600, items.clone());
    insta::assert_snapshot!(outline(&forked.context), @"
    [Tool call]
    Read({})

    [Tool result: Read]
    quick result

    [User]
    only the late call i… (100 chars)
    ");
    assert_eq!((forked.stats.removed_messages, forked.stats.final_count), (2, 3));

    let mut apart = items;
    apart[5].message = 4;
    apart[6].message = 5;
    let forked = fork_within(600, apart);
    assert!(!forked.context.contains("late result"));
    assert_eq!((forked.stats.removed_messages, forked.stats.final_count), (3, 3));
}

#[test]
fn a_call_and_its_result_in_one_message_go_with_it() {
    let step = |at: u64| {
        let id = format!("c{at}");
        vec![assistant(at, "step"), call(at, &id, "read", "{}"), result(at, &id, "read", &"x".repeat(300))]
    };
    let forked = fork_within(1_000, (0..5).flat_map(step).collect());
    assert_eq!((forked.stats.removed_messages, forked.stats.final_count), (3, 2));
    assert_eq!(forked.context.matches("[Tool call]").count(), forked.context.matches("[Tool result").count());
}

#[test]
fn the_summary_stays_when_all_around_it_goes() {
    let items = [vec![compaction(0, Some("what happened"))], talk(30, 19_000)].concat();
    let forked = fork(items);
    assert!(forked.context.starts_with("[Summary of the conversation before]\nwhat happened\n\n[User]\n20 "));
    assert_eq!((forked.stats.removed_messages, forked.stats.final_count), (20, 11));
    assert!(forked.stats.total_chars <= FORK_CHAR_BUDGET);
}

#[test]
fn a_summary_takes_up_half_of_the_budget_at_most() {
    let items = [vec![compaction(0, Some(&"漢".repeat(190_000)))], talk(30, 19_000)].concat();
    let forked = fork(items);
    assert_eq!(forked.context.matches('漢').count(), 100_000);
    assert!(forked.context.contains("\n...[truncated 90000 chars]...\n"));
    assert_eq!(forked.stats.final_count, 1 + 5);
}

#[test]
fn a_message_that_is_too_long_by_itself_is_shortened() {
    let pasted = format!("{}{}", "a".repeat(500_000), "z".repeat(500_000));
    let forked = fork(vec![user(0, "before"), user(1, &pasted), assistant(2, "after")]);
    insta::assert_snapshot!(outline(&forked.context), @"
    [User]
    before

    [User]
    aaaaaaaaaaaaaaaaaaaa… (80000 chars)
    ...[truncated 900000 chars]...
    zzzzzzzzzzzzzzzzzzzz… (20000 chars)

    [Assistant]
    after
    ");
    assert_eq!(forked.stats.removed_messages, 0);
}

#[test]
fn the_newest_result_is_shortened_and_not_lost() {
    let items = [talk(3, 100), vec![call(5, "c", "Read", "{}"), result(6, "c", "Read", &"x".repeat(199_990))]].concat();
    let forked = fork(items);
    insta::assert_snapshot!(outline(&forked.context), @"
    [User]
    0… (100 chars)

    [User]
    1… (100 chars)

    [User]
    2… (100 chars)

    [Tool call]
    Read({})

    [Tool result: Read]
    xxxxxxxxxxxxxxxxxxxx… (80000 chars)
    ...[truncated 99990 chars]...
    xxxxxxxxxxxxxxxxxxxx… (20000 chars)
    ");
    assert!(forked.stats.total_chars <= FORK_CHAR_BUDGET);
}

#[test]
fn a_message_of_many_long_results_loses_the_oldest_of_them() {
    let mut items: Vec<Item> = (0..5).map(|at| call(0, &format!("c{at}"), "Read", &format!("{at}"))).collect();
    items.extend((0..5).map(|at| result(1, &format!("c{at}"), "Read", &"x".repeat(60_000))));
    let forked = fork(items);
    insta::assert_snapshot!(outline(&forked.context), @"
    [Tool call]
    Read(2)

    [Tool call]
    Read(3)

    [Tool call]
    Read(4)

    [Tool result: Read]
    xxxxxxxxxxxxxxxxxxxx… (60000 chars)

    [Tool result: Read]
    xxxxxxxxxxxxxxxxxxxx… (60000 chars)

    [Tool result: Read]
    xxxxxxxxxxxxxxxxxxxx… (60000 chars)
    ");
    assert_eq!((forked.stats.removed_messages, forked.stats.final_count), (0, 2));
}

#[test]
fn messages_with_nothing_to_show_go_with_what_follows_them() {
    let mut items = talk(6, 300);
    items.iter_mut().for_each(|item| item.message *= 2);
    let thoughts = (0..6).map(|at| reasoning(at * 2 + 1, "hm"));
    items.extend(thoughts);
    items.sort_by_key(|item| item.message);
    let forked = fork_within(1_000, items);
    // Three spoken messages fit; the thought right before the first of them stays with it.
    assert_eq!((forked.stats.removed_messages, forked.stats.final_count), (5, 7));
}
