//! How much memory a fork holds while items stream through it.

use super::*;

const BUDGET: usize = 20_000;

/// The most bytes that a fork held while these items went through.
fn most_held(items: impl Iterator<Item = Item>) -> (usize, Forked) {
    let mut fork = Fork::new(Profile::Seed, ForkLimits::with_char_budget(BUDGET));
    let mut most = 0;
    for (at, item) in items.enumerate() {
        fork.push(item);
        if at % 101 == 0 {
            most = most.max(fork.held_bytes());
        }
    }
    (most.max(fork.held_bytes()), fork.finish())
}

#[test]
fn a_long_session_is_held_in_a_few_budgets() {
    let text = "line of output\n".repeat(3_000);
    let (most, forked) = most_held((0..2_000).flat_map(|at| {
        let id = format!("c{at}");
        [call(at * 2, &id, "Bash", "{\"command\":\"make\"}"), result(at * 2 + 1, &id, "Bash", &text)]
    }));
    assert!(most < 8 * BUDGET, "{most}");
    assert_eq!(forked.stats.original_count, 4_000);
    assert_eq!(forked.stats.tier_distribution, TierDistribution { tier1: 5, tier2: 10, tier3: 1_985 });
}

#[test]
fn one_endless_message_is_held_in_a_few_budgets() {
    let (most, forked) = most_held((0..20_000).map(|_| assistant(0, &"word ".repeat(20))));
    assert!(most < 8 * BUDGET, "{most}");
    assert_eq!((forked.stats.removed_messages, forked.stats.final_count), (0, 1));
    assert!(forked.stats.total_chars <= BUDGET);
}

#[test]
fn calls_that_nobody_answers_are_held_in_a_few_budgets() {
    let (most, _) = most_held((0..50_000).map(|at| call(at, &format!("c{at}"), "Task", &"i".repeat(800))));
    assert!(most < 8 * BUDGET, "{most}");
}

#[test]
fn one_endless_text_is_held_by_its_ends() {
    let (most, forked) = most_held([user(0, &"漢".repeat(3_000_000)), assistant(1, "what?")].into_iter());
    assert!(most < 4 * BUDGET, "{most}");
    assert!(
        forked.context.contains("...[truncated 2990000 chars]..."),
        "{}",
        &forked.context[forked.context.len() - 9_000..]
    );
}

#[test]
fn thoughts_are_not_held() {
    let (most, forked) = most_held((0..50_000).map(|at| reasoning(at, "hm, let me think about that")));
    assert_eq!((most, forked.stats.final_count), (0, 50_000));
}
