//! The second stage: what stays of results and parameters.

use super::*;
use crate::transcript::CLEARED;

fn after(items: Vec<Item>) -> Graduated {
    apply_graduated_truncation(group_messages(items))
}

/// Five short results in messages from `message` on, so that all results before them are in tier two.
fn newer(message: u64) -> Vec<Item> {
    (0..5).map(|at| result(message + at, &format!("n{at}"), "Read", "ok")).collect()
}

#[test]
fn a_terminal_keeps_both_ends_and_a_file_its_beginning() {
    let text = format!("{}{}", "h".repeat(3_000), "t".repeat(1_000));
    let items = [vec![result(0, "a", "Bash", &text), result(1, "b", "Read", &text)], newer(2)].concat();
    let graduated = after(items);
    let results = results(&graduated.messages);
    assert_eq!(results[0], format!("{}\n...[truncated 1000 chars]...\n{}", "h".repeat(2_400), "t".repeat(600)));
    assert_eq!(results[1], format!("{}\n...[truncated 1000 chars]...", "h".repeat(3_000)));
    assert_eq!((graduated.truncated_results, graduated.head_tail_applied), (2, 1));
}

#[test]
fn a_failure_keeps_its_end_whatever_the_tool() {
    let text = format!("{} error: {}", "h".repeat(3_000), "t".repeat(1_000));
    let graduated = after([vec![result(0, "a", "Read", &text)], newer(1)].concat());
    assert!(results(&graduated.messages)[0].ends_with(&"t".repeat(600)));
    assert_eq!(graduated.head_tail_applied, 1);
}

#[test]
fn cleared_results_pass_and_count() {
    let quoted = format!("{}{CLEARED}", "x".repeat(9_000));
    let mut cleared = result(1, "b", "Read", &"x".repeat(9_000));
    if let Kind::Result { held, .. } = &mut cleared.kind {
        *held = HeldContent::Cleared;
    }
    let graduated = after([vec![result(0, "a", "Read", &quoted), cleared], newer(2)].concat());
    assert_eq!(results(&graduated.messages)[..2], [quoted.as_str(), CLEARED]);
    assert_eq!((graduated.truncated_results, graduated.tier_distribution.tier2), (0, 2));
}

#[test]
fn a_call_has_the_tier_of_its_result_and_not_of_its_place() {
    let input = "i".repeat(600);
    let late = call(0, "late", "Task", &input);
    let early = call(1, "early", "Read", &input);
    let never = call(2, "never", "Read", &input);
    let items =
        [vec![late, early, never, result(3, "early", "Read", "")], newer(4), vec![result(9, "late", "Task", "")]];
    let graduated = after(items.concat());
    let kept: Vec<usize> = params(&graduated.messages).iter().map(|params| params.matches('i').count()).collect();
    assert_eq!(kept, [500, 200, 200]);
}

#[test]
fn text_between_the_calls_is_never_cut() {
    let long = "w".repeat(9_000);
    let items = [vec![user(0, &long), assistant(1, &long)], newer(2), newer(7), newer(12), newer(17)].concat();
    let graduated = after(items.clone());
    assert_eq!(graduated.messages[..2], group_messages(items)[..2]);
}

#[test]
fn no_results_at_all_are_no_trouble() {
    let graduated = after(vec![user(0, "hello")]);
    assert_eq!(graduated.tier_distribution, TierDistribution::default());
}
