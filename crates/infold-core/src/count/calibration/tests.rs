//! What is learnt from prompts, and the bounds of it.

use proptest::prelude::*;

use super::*;

fn new() -> SessionCalibration {
    SessionCalibration::starting_at(Family::Claude, 1_000)
}

#[test]
fn what_every_prompt_has_unseen_is_not_taken_for_a_ratio() {
    let mut learnt = new();
    for prompt in 1..40 {
        // The provider adds 3,000 tokens that nobody sees, and otherwise counts a fifth more.
        learnt.learn(prompt * 1_000, prompt * 1_200 + 3_000);
    }
    assert!((1_195..=1_200).contains(&learnt.per_mille()), "{}", learnt.per_mille());
    let foretold = learnt.prompt_tokens(45_000);
    assert!(foretold.abs_diff(57_000) < 40, "{foretold}");
    let cut_back = learnt.prompt_tokens(5_000);
    assert!(cut_back.abs_diff(9_000) < 200, "{cut_back}");
}

#[test]
fn a_fold_teaches_as_much_as_work_does() {
    let mut learnt = new();
    learnt.learn(100_000, 130_000);
    learnt.learn(20_000, 26_000);
    assert!((1_290..=1_300).contains(&learnt.per_mille()), "{}", learnt.per_mille());
}

#[test]
fn counts_that_go_apart_teach_nothing_but_where_to_go_on_from() {
    let mut learnt = new();
    learnt.learn(10_000, 10_000);
    learnt.learn(11_000, 9_000);
    assert_eq!(learnt.per_mille(), 1_000);
    learnt.go_on_from(12_000, 17_000);
    assert_eq!(learnt.per_mille(), 1_000);
    assert_eq!(learnt.prompt_tokens(12_500), 17_500);
}

#[test]
fn before_anything_is_learnt_the_familys_ratio_holds() {
    let learnt = SessionCalibration::starting_at(Family::ClaudeNew, 1_100);
    assert_eq!((learnt.per_mille(), learnt.prompt_tokens(10_000)), (1_100, 11_000));
    assert_eq!(learnt.counter(), Counter::calibrated(Family::ClaudeNew, 1_100));
}

proptest! {
    #[test]
    fn nothing_leaves_its_bounds_whatever_is_reported(
        prompts in prop::collection::vec((any::<u64>(), any::<u64>()), 0..20),
        ours_tokens in 0_u64..10_000_000,
    ) {
        let mut learnt = new();
        for (ours, theirs) in prompts {
            learnt.learn(ours, theirs);
        }
        prop_assert!((PER_MILLE_MIN..=PER_MILLE_MAX).contains(&learnt.per_mille()));
        let foretold = learnt.prompt_tokens(ours_tokens);
        prop_assert!(foretold >= ours_tokens / 2 && foretold <= ours_tokens * 2);
    }
}
