//! The laws of belief.

use proptest::prelude::*;

use super::{Belief, BeliefMove};
use crate::Status;
use crate::memory::{LessonSource, Trust};

const YEAR_DAYS: u64 = 365;
const DAY_MS: u64 = 86_400_000;

fn any_belief() -> impl Strategy<Value = Belief> {
    (0.1..20.0_f64, 0.1..20.0_f64).prop_map(|(for_it, against)| Belief { for_it, against })
}

fn any_trust() -> impl Strategy<Value = Trust> {
    prop_oneof![Just(Trust::Person), Just(Trust::Own), Just(Trust::Outside)]
}

proptest! {
    #[test]
    fn what_speaks_for_a_memory_never_lowers_it(belief in any_belief(), trust in any_trust(), age_ms in 0..u64::MAX / 2) {
        use BeliefMove::{Accepted, Helpful, HelpedBranch, LearntAgain};
        for by in [LearntAgain, HelpedBranch, Helpful, Accepted] {
            let before = belief.confidence(Trust::Person, 0, YEAR_DAYS);
            let after = belief.moved(by).confidence(Trust::Person, 0, YEAR_DAYS);
            prop_assert!(after >= before - 1e-12, "{by:?}: {before} → {after}");
        }
        let confidence = belief.confidence(trust, age_ms, YEAR_DAYS);
        prop_assert!((0.0..=1.0).contains(&confidence));
    }

    #[test]
    fn what_speaks_against_a_memory_never_raises_it(belief in any_belief()) {
        for by in [BeliefMove::FailedBranch, BeliefMove::Unhelpful] {
            let before = belief.confidence(Trust::Own, 0, YEAR_DAYS);
            prop_assert!(belief.moved(by).confidence(Trust::Own, 0, YEAR_DAYS) <= before + 1e-12);
        }
    }

    #[test]
    fn a_belief_can_always_turn(belief in any_belief()) {
        let turned = (0..20).fold(belief, |belief, _| belief.moved(BeliefMove::Unhelpful));
        prop_assert!(turned.confidence(Trust::Own, 0, YEAR_DAYS) < 0.5);
    }
}

#[test]
fn a_lesson_of_a_branch_that_ended_is_shown_at_once_and_one_from_outside_waits_or_is_shown_late() {
    let at_once = |source, trust, end| Belief::prior(source, trust, end).confidence(trust, 0, YEAR_DAYS);
    let completed = Some(Status::Completed);
    let failed = Some(Status::Failed);
    let priors = [
        at_once(LessonSource::Hand, Trust::Person, None),
        at_once(LessonSource::Model, Trust::Own, completed),
        at_once(LessonSource::Model, Trust::Own, failed),
        at_once(LessonSource::Mechanical, Trust::Own, completed),
        at_once(LessonSource::Mechanical, Trust::Own, failed),
        at_once(LessonSource::Model, Trust::Outside, completed),
        at_once(LessonSource::Mechanical, Trust::Outside, completed),
        at_once(LessonSource::Imported, Trust::Outside, None),
    ];
    let shown: Vec<String> = priors.iter().map(|prior| format!("{prior:.3}")).collect();
    insta::assert_snapshot!(shown.join(" "), @"0.900 0.800 0.750 0.750 0.732 0.755 0.698 0.606");
}

#[test]
fn without_evidence_confidence_goes_back_to_one_half_unless_a_person_vouches() {
    let belief = Belief::prior(LessonSource::Model, Trust::Own, None);
    let after_a_year = belief.confidence(Trust::Own, YEAR_DAYS * DAY_MS, YEAR_DAYS);
    assert!((after_a_year - 0.65).abs() < 1e-9, "{after_a_year}");
    assert!((belief.confidence(Trust::Person, YEAR_DAYS * DAY_MS, YEAR_DAYS) - 0.8).abs() < 1e-9);
}
