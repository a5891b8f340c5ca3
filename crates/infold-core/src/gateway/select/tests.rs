//! Deferral: what fits is listed, and own tools always are.

use proptest::prelude::*;

use super::*;

fn tool(group: ToolGroup, tokens: u64, last_used: Option<u64>) -> Deferrable {
    Deferrable { group, tokens, last_used }
}

#[test]
fn the_room_is_a_share_of_the_effective_window_and_bounded() {
    let rules = DeferralRules { mode: DeferralMode::Call, percent: 10, tokens_max: 5_000 };
    assert_eq!(rules.room_tokens(40_000, 8_000), 3_200);
    assert_eq!(rules.room_tokens(1_000_000, 32_000), 5_000);
    assert_eq!(rules.room_tokens(1_000, 32_000), 0);
    assert_eq!(rules.room_tokens(u64::MAX, 0), 5_000);
}

#[test]
fn below_the_threshold_everything_is_listed() {
    let tools =
        [tool(ToolGroup::Own, 9_000, None), tool(ToolGroup::Server, 60, None), tool(ToolGroup::Skill, 40, None)];
    for mode in [DeferralMode::Call, DeferralMode::Promote] {
        let selection = select_listed(&tools, 100, mode);
        assert_eq!((selection.listed.as_slice(), selection.note()), ([0, 1, 2].as_slice(), None));
    }
}

#[test]
fn above_it_the_mode_call_keeps_only_own_tools() {
    let tools = [tool(ToolGroup::Server, 60, Some(1)), tool(ToolGroup::Own, 5, None), tool(ToolGroup::Skill, 41, None)];
    let selection = select_listed(&tools, 100, DeferralMode::Call);
    assert_eq!((selection.listed.as_slice(), selection.deferred.as_slice()), ([1].as_slice(), [0, 2].as_slice()));
    assert_eq!(selection.note().unwrap(), "[2 tools deferred to save context. Use tool_search to find them.]");
}

#[test]
fn the_mode_promote_defers_servers_first_and_the_least_recently_used_first() {
    let tools = [
        tool(ToolGroup::Server, 40, Some(1)),
        tool(ToolGroup::Server, 40, Some(9)),
        tool(ToolGroup::Skill, 40, None),
        tool(ToolGroup::Server, 40, None),
        tool(ToolGroup::Server, 500, Some(10)),
    ];
    assert_eq!(select_listed(&tools, 100, DeferralMode::Promote).listed, [1, 2]);
    assert_eq!(select_listed(&tools, 130, DeferralMode::Promote).listed, [0, 1, 2]);
}

fn tools() -> impl Strategy<Value = Vec<Deferrable>> {
    let group = prop::sample::select(vec![ToolGroup::Own, ToolGroup::Skill, ToolGroup::Server]);
    let tokens = prop_oneof![9 => 0..400_u64, 1 => Just(u64::MAX)];
    let tool = (group, tokens, prop::option::of(0..9_u64)).prop_map(|(group, tokens, last_used)| Deferrable {
        group,
        tokens,
        last_used,
    });
    prop::collection::vec(tool, 0..30)
}

proptest! {
    #[test]
    fn the_room_is_never_exceeded_and_own_tools_always_stay(
        tools in tools(), room in 0..3_000_u64, promote in any::<bool>(),
    ) {
        let mode = if promote { DeferralMode::Promote } else { DeferralMode::Call };
        let selection = select_listed(&tools, room, mode);
        let is_own = |at: &usize| tools[*at].group == ToolGroup::Own;
        prop_assert!(!selection.deferred.iter().any(is_own));
        let listed: u128 =
            selection.listed.iter().filter(|at| !is_own(at)).map(|at| u128::from(tools[*at].tokens)).sum();
        prop_assert!(listed <= u128::from(room));
        let mut all: Vec<usize> = selection.listed.iter().chain(&selection.deferred).copied().collect();
        all.sort_unstable();
        prop_assert_eq!(all, (0..tools.len()).collect::<Vec<_>>());
        // Nothing is held back where all of it would fit.
        let total: u128 = tools.iter().filter(|tool| tool.group != ToolGroup::Own).map(|tool| u128::from(tool.tokens)).sum();
        prop_assert!(total > u128::from(room) || selection.deferred.is_empty());
    }

    #[test]
    fn a_tool_that_is_kept_was_used_no_earlier_than_one_of_its_kind_that_fits_and_is_not(
        tools in tools(), room in 0..3_000_u64,
    ) {
        let selection = select_listed(&tools, room, DeferralMode::Promote);
        for kept in &selection.listed {
            for deferred in selection.deferred.iter().filter(|at| tools[**at].tokens <= room) {
                if tools[*kept].group == tools[*deferred].group {
                    prop_assert!(tools[*kept].last_used >= tools[*deferred].last_used);
                }
            }
        }
    }
}
