//! Budgets in figures: what is used, what is left, and where the thresholds are.

use proptest::prelude::*;

use super::*;

const THRESHOLDS: CompactionThresholds =
    CompactionThresholds { compact_trigger: 0.95, hard_block: 0.98, summary_reserve_tokens: 1_000 };

fn measured(item_tokens: &[u64]) -> ContextBudget {
    let mut budget = ContextBudget::new(104_096, 4_096);
    budget.measure_usage(&CountedParts {
        system_prompt_tokens: 2_000,
        skill_prompts_tokens: &[300, 200],
        tool_descriptions_tokens: &[4_000, 500],
        item_tokens,
    });
    budget
}

fn with_conversation(conversation_tokens: u64) -> ContextBudget {
    ContextBudget { conversation_tokens, ..ContextBudget::new(104_096, 4_096) }
}

#[test]
fn usage_is_the_sum_of_its_components() {
    let budget = measured(&[40_000, 3_000]);
    assert_eq!(budget.effective_window(), 100_000);
    assert_eq!(budget.used_tokens(), 50_000);
    assert_eq!(budget.remaining_tokens(), 50_000);
    assert_eq!(budget.used_percentage(), 0.5);
    assert_eq!((budget.skill_prompts_tokens, budget.tool_descriptions_tokens), (500, 4_500));
    assert!(!budget.exceeds_budget());
}

#[test]
fn a_second_measurement_replaces_the_first() {
    let mut budget = measured(&[40_000]);
    budget.measure_usage(&CountedParts { item_tokens: &[7], ..CountedParts::default() });
    assert_eq!(budget.used_tokens(), 7);
}

#[test]
fn a_full_window_is_not_over_and_one_token_more_is() {
    assert!(!with_conversation(100_000).exceeds_budget());
    assert_eq!(with_conversation(100_000).remaining_tokens(), 0);
    assert!(with_conversation(100_001).exceeds_budget());
    assert_eq!(with_conversation(100_001).remaining_tokens(), 0);
}

#[test]
fn a_thread_is_compacted_at_95_percent_and_blocked_at_98() {
    let states = [94_999, 95_000, 97_999, 98_000].map(|tokens| {
        let budget = with_conversation(tokens);
        (THRESHOLDS.should_compact(&budget), THRESHOLDS.is_blocked(&budget))
    });
    assert_eq!(states, [(false, false), (true, false), (true, false), (true, true)]);
}

#[test]
fn a_small_window_is_compacted_earlier_so_that_a_summary_fits() {
    let thresholds = CompactionThresholds { summary_reserve_tokens: 20_000, ..THRESHOLDS };
    let budget = ContextBudget::new(104_096, 4_096);
    assert_eq!(thresholds.compact_at_tokens(&budget), 80_000);
    assert_eq!(thresholds.block_at_tokens(&budget), 90_000);
}

#[test]
fn a_floor_above_the_window_is_refused_with_what_cannot_shrink() {
    let mut budget = ContextBudget::new(12_000, 2_000);
    budget.measure_usage(&CountedParts {
        system_prompt_tokens: 1_500,
        skill_prompts_tokens: &[500],
        tool_descriptions_tokens: &[6_000],
        item_tokens: &[30_000],
    });
    assert_eq!(THRESHOLDS.floor_tokens(&budget, 2_500), 10_500);
    let refused = THRESHOLDS.check_floor(&budget, 2_500).unwrap_err();
    insta::assert_snapshot!(refused, @"compacting cannot help: it would have to get below 9,000 tokens, and what cannot shrink takes 10,500: the system prompt 1,500, skills 500, tool descriptions 6,000, the last turn 2,500. The largest is tool descriptions: make it smaller, or take a model with a larger window");
    assert_eq!(THRESHOLDS.check_floor(&budget, 999), Ok(()));
    assert!(THRESHOLDS.check_floor(&budget, 1_000).is_err(), "the next compaction would start at once");
}

#[test]
fn a_window_without_any_room_is_refused_and_divides_by_nothing() {
    let budget = ContextBudget { conversation_tokens: 10, ..ContextBudget::new(1_000, 4_096) };
    assert_eq!(budget.effective_window(), 0);
    assert!(budget.used_percentage().is_finite());
    assert!(THRESHOLDS.is_blocked(&budget));
    assert!(THRESHOLDS.check_floor(&budget, 0).is_err());
}

#[test]
fn the_note_comes_above_its_bound_and_is_the_documented_text() {
    assert_eq!(usage_note(0.8, 0.8), None);
    assert_eq!(
        usage_note(0.834, 0.8).unwrap(),
        "[Context: 83% used. You can call compact_context to free space before continuing with large operations.]"
    );
    assert!(usage_note(1.2, 0.8).unwrap().starts_with("[Context: 120% used."));
    assert!(usage_note(0.29, 0.2).unwrap().starts_with("[Context: 29% used."));
}

#[test]
fn the_target_of_a_thread_is_what_the_fixed_parts_leave() {
    assert_eq!(measured(&[]).conversation_target_tokens(0.5), 43_000);
    assert_eq!(measured(&[]).conversation_target_tokens(0.05), 0);
}

proptest! {
    #[test]
    fn thresholds_are_in_order_and_a_summary_fits_behind_them(
        total in 0_u64..2_000_000,
        output in 0_u64..200_000,
        reserve in 0_u64..100_000,
    ) {
        let budget = ContextBudget::new(total, output);
        let thresholds = CompactionThresholds { summary_reserve_tokens: reserve, ..THRESHOLDS };
        let (compact_at, block_at) = (thresholds.compact_at_tokens(&budget), thresholds.block_at_tokens(&budget));
        prop_assert!(compact_at <= block_at && block_at <= budget.effective_window());
        prop_assert!(compact_at + reserve <= budget.effective_window() || compact_at == 0);
        prop_assert!(block_at + reserve / 2 <= budget.effective_window() || block_at == 0);
    }

    #[test]
    fn a_floor_that_is_let_through_is_below_the_threshold(
        system in 0_u64..60_000,
        tools in 0_u64..60_000,
        last_turn in 0_u64..60_000,
    ) {
        let mut budget = ContextBudget::new(104_096, 4_096);
        let parts = CountedParts { system_prompt_tokens: system, tool_descriptions_tokens: &[tools], ..CountedParts::default() };
        budget.measure_usage(&parts);
        let floor = THRESHOLDS.floor_tokens(&budget, last_turn);
        match THRESHOLDS.check_floor(&budget, last_turn) {
            Ok(()) => prop_assert!(floor < THRESHOLDS.compact_at_tokens(&budget)),
            Err(refused) => prop_assert_eq!(refused.floor_tokens(), floor),
        }
    }
}
