//! The rules of decisions, one case each.

use super::*;
use crate::{EndReason, Event, Status};

fn names(decision: &Decision) -> Vec<&'static str> {
    decision.events.iter().map(Event::name).collect()
}

fn ended(decision: &Decision) -> Vec<(BranchId, EndReason)> {
    let ends = decision.events.iter().filter_map(|event| match event {
        Event::BranchEnded { branch, reason, .. } => Some((branch.clone(), *reason)),
        _ => None,
    });
    ends.collect()
}

#[test]
fn a_new_session_starts_with_its_first_branch() {
    let mut world = World::new(limits());
    let decision = world.run(&open(1, None, None)).unwrap();
    assert_eq!(names(&decision), ["session.started", "branch.created", "branch.activated"]);
    let branch = world.session.active_branch().unwrap();
    assert_eq!((branch.depth, branch.budget_tokens, branch.status), (1, 8192, Status::Active));
    assert_eq!(branch.deadline_ms, world.now_ms + 300_000);
    assert_eq!(branch.used_tokens, world.count("look for it"));
}

#[test]
fn branches_nest_under_the_active_one_and_main_makes_siblings() {
    let mut world = World::new(limits());
    let first = world.open(1, None).unwrap();
    let nested = world.open(2, None).unwrap();
    let sibling = world.open(3, Some(Thread::Main)).unwrap();
    assert_eq!(world.session.branches[&nested].parent, Thread::Branch(first));
    assert_eq!(world.session.branches[&sibling].depth, 1);
}

#[test]
fn the_fourth_level_is_refused() {
    let mut world = World::new(limits());
    for number in 1..=3 {
        world.open(number, None).unwrap();
    }
    assert_eq!(world.open(4, None).unwrap_err(), Refusal::TooDeep { depth: 4, depth_max: 3 });
}

#[test]
fn the_eleventh_open_branch_of_a_session_is_refused() {
    let mut world = World::new(limits());
    for number in 1..=10 {
        world.open(number, Some(Thread::Main)).unwrap();
    }
    let refusal = world.open(11, Some(Thread::Main)).unwrap_err();
    assert_eq!(refusal, Refusal::TooManyInSession { open: 10, open_max: 10 });
    assert_eq!(refusal.http_status(), 429);
}

#[test]
fn openings_wait_until_a_minute_has_passed() {
    let world = World::new(limits());
    let Command::Open(mut wish) = open(1, None, None) else { unreachable!() };
    wish.rate_mark_ms = Some(world.now_ms - 59_000);
    let refusal = world.decide(&Command::Open(wish.clone())).unwrap_err();
    assert_eq!(refusal, Refusal::TooFast { per_minute_max: 5, retry_after_ms: 1000 });
    wish.rate_mark_ms = Some(world.now_ms - 60_000);
    assert!(world.decide(&Command::Open(wish)).is_ok());
}

#[test]
fn wishes_over_the_maximum_are_capped() {
    let mut world = World::new(limits());
    world.run(&open(1, None, Some(1_000_000))).unwrap();
    assert_eq!(world.session.branches[&id(1)].budget_tokens, 32_768);
}

#[test]
fn a_brief_that_fills_its_budget_is_refused() {
    let world = World::new(limits());
    let refusal = world.decide(&open(1, None, Some(3))).unwrap_err();
    assert_eq!(refusal, Refusal::BriefTooLarge { brief_tokens: 3, budget_tokens: 3 });
}

#[test]
fn the_parent_grows_by_exactly_the_returned_message() {
    let mut world = World::new(limits());
    world.run(&observe(None, 500)).unwrap();
    let branch = world.open(1, None).unwrap();
    world.run(&observe(None, 4000)).unwrap();
    let message = "it is in src/a.rs:40";
    world.run(&fold(None, message)).unwrap();

    let used = world.session.branches[&branch].used_tokens;
    assert_eq!(world.session.main_tokens, 500 + world.count(message));
    assert_eq!(world.session.total_tokens(), world.session.main_tokens);
    assert_eq!(world.session.folded_tokens, used);
    assert_eq!(world.session.returned_tokens, world.count(message));
    assert_eq!(world.session.active, Thread::Main);
}

#[test]
fn a_warning_is_given_once_at_eighty_percent() {
    let mut world = World::new(limits());
    world.run(&open(1, None, Some(1000))).unwrap();
    assert_eq!(names(&world.run(&observe(None, 790)).unwrap()), ["operation.completed"]);
    assert_eq!(names(&world.run(&observe(None, 10)).unwrap()), ["operation.completed", "budget.warning"]);
    assert_eq!(names(&world.run(&observe(None, 10)).unwrap()), ["operation.completed"]);
}

#[test]
fn the_item_that_fills_the_budget_is_let_in_and_folds_the_branch() {
    let mut world = World::new(limits());
    let branch = world.run(&open(1, None, Some(1000))).map(|_| id(1)).unwrap();
    let left = world.session.branches[&branch].budget_left_tokens();
    let decision = world.run(&observe(None, left)).unwrap();
    assert!(decision.item_was_let_in());
    assert_eq!(ended(&decision), [(branch.clone(), EndReason::BudgetExhausted)]);
    assert_eq!((world.status(&branch), world.session.branches[&branch].budget_used_tokens()), ("timeout", 1000));
}

#[test]
fn the_item_that_does_not_fit_is_kept_out_and_the_parent_gets_a_partial_result() {
    let mut world = World::new(limits());
    let branch = world.run(&open(1, None, Some(1000))).map(|_| id(1)).unwrap();
    world.run(&observe(None, 300)).unwrap();
    let decision = world.run(&observe(None, 5000)).unwrap();

    assert!(!decision.item_was_let_in());
    let branch = &world.session.branches[&branch];
    assert!(branch.used_tokens <= branch.budget_tokens);
    assert_eq!(branch.budget_used_tokens(), 1000);
    let result = branch.end.as_ref().unwrap().result.as_str();
    insta::assert_snapshot!(result, @r#"
    [Partial result: budget exhausted. The sub-task did not return by itself.]
    Sub-task: look for it
    Used 303 of 1000 tokens in 1 calls; the next item, of 5000 tokens, did not fit.
    Tools called: read_file ×1
    Files touched: src/a.rs
    Last call: {"path":"src/a.rs"}
    Last result: fn main() {}
    "#);
    assert_eq!(world.session.main_tokens, world.count(result));
    assert_eq!(world.session.unreported, [id(1)]);
}

#[test]
fn children_are_folded_deepest_first_before_their_parent() {
    let mut world = World::new(limits());
    let top = world.open(1, None).unwrap();
    let middle = world.open(2, None).unwrap();
    let leaf = world.open(3, None).unwrap();
    let decision = world.run(&fold(Some(&top), "done")).unwrap();
    assert_eq!(
        ended(&decision),
        [(leaf, EndReason::ParentReturning), (middle, EndReason::ParentReturning), (top, EndReason::Returned),]
    );
}

#[test]
fn when_a_branch_folds_its_latest_open_sibling_goes_on_and_then_the_parent() {
    let mut world = World::new(limits());
    let first = world.open(1, Some(Thread::Main)).unwrap();
    let second = world.open(2, Some(Thread::Main)).unwrap();
    world.run(&fold(Some(&second), "done")).unwrap();
    assert_eq!(world.session.active, Thread::Branch(first));
    world.run(&fold(None, "done")).unwrap();
    assert_eq!(world.session.active, Thread::Main);
}

#[test]
fn a_branch_ends_when_its_time_is_over_and_once_its_parent_knows_a_return_is_refused_with_its_result() {
    let mut world = World::new(limits());
    let branch = world.open(1, None).unwrap();
    world.now_ms += 299_999;
    assert!(world.decide(&Command::FoldOverdue).unwrap().events.is_empty());
    world.now_ms += 1;
    world.run(&Command::FoldOverdue).unwrap();
    assert_eq!(world.status(&branch), "timeout");
    world.run(&Command::MarkEndReported { branch: branch.clone() }).unwrap();
    let refusal = world.run(&fold(Some(&branch), "late")).unwrap_err();
    assert!(matches!(refusal, Refusal::NotActive { result: Some(result), .. } if result.contains("timed out")));
}

#[test]
fn a_late_return_is_what_the_parent_gets_if_it_does_not_know_of_the_end_yet() {
    let mut world = World::new(limits());
    let parent = world.open(1, None).unwrap();
    let before = world.session.branches[&parent].used_tokens;
    let branch = world.run(&open(2, None, Some(1_000))).map(|_| id(2)).unwrap();
    world.run(&observe(None, 5_000)).unwrap();
    assert_eq!(world.status(&branch), "timeout");

    let message = "It was in the parser all along.";
    let late = world.run(&fold(Some(&branch), message)).unwrap();
    assert!(matches!(late.events[..], [Event::ResultAmended { generation: 1, .. }]), "{:?}", late.events);
    let end = world.session.branches[&branch].end.clone().unwrap();
    assert_eq!((end.reason, end.result.as_str()), (EndReason::BudgetExhausted, message));
    let grown = world.session.branches[&parent].used_tokens - before;
    assert_eq!((grown, world.session.returned_tokens), (world.count(message), world.count(message)));
    assert!(world.session.unreported.is_empty());
    assert!(matches!(world.run(&fold(Some(&branch), "again")), Err(Refusal::NotActive { .. })));
}

#[test]
fn an_interrupted_branch_gives_what_it_has_and_one_whose_opening_is_lost_gives_nothing() {
    let mut world = World::new(limits());
    let (first, below) = (world.open(1, None).unwrap(), world.open(2, None).unwrap());
    world.run(&Command::CutShort { branch: first.clone(), reason: EndReason::Interrupted }).unwrap();
    assert_eq!((world.status(&first), world.status(&below)), ("failed", "completed"));
    assert_eq!(world.session.unreported, std::slice::from_ref(&first), "a notice for its parent is due");
    let end = world.session.branches[&first].end.clone().unwrap();
    assert!(end.result.as_str().starts_with("[Partial result: interrupted."));
    assert_eq!(world.session.main_tokens, world.count(end.result.as_str()));
    // What has ended stays as it is.
    let again = world.run(&Command::CutShort { branch: first, reason: EndReason::OpeningLost }).unwrap();
    assert!(again.events.is_empty());

    let lost = world.open(3, None).unwrap();
    let before = world.session.main_tokens;
    world.run(&Command::CutShort { branch: lost.clone(), reason: EndReason::OpeningLost }).unwrap();
    assert_eq!((world.status(&lost), world.session.main_tokens), ("failed", before));
}

#[test]
fn a_branch_is_adopted_whatever_limits_say_and_only_once() {
    let mut world = World::new(Limits { open_per_session_max: 0, depth_max: 0, ..limits() });
    let Command::Open(opening) = open(1, Some(Thread::Branch(id(9))), Some(100_000)) else { unreachable!() };
    world.run(&Command::Adopt(opening.clone())).unwrap();
    let branch = &world.session.branches[&id(1)];
    // Nothing is known of its parent, so it goes under the main thread.
    assert_eq!((branch.budget_tokens, &branch.parent, branch.depth), (100_000, &Thread::Main, 1));
    assert!(world.run(&Command::Adopt(opening)).unwrap().events.is_empty());
}

#[test]
fn a_failed_branch_gives_its_reason_to_the_parent() {
    let mut world = World::new(limits());
    let branch = world.open(1, None).unwrap();
    let command = Command::Fold { branch: None, message: scrubbed("no such function"), outcome: ReturnOutcome::Failed };
    world.run(&command).unwrap();
    assert_eq!(world.status(&branch), "failed");
    assert_eq!(world.session.main_tokens, world.count("no such function"));
}

#[test]
fn ending_a_session_fails_its_stragglers_and_refuses_everything_after() {
    let mut world = World::new(limits());
    let branch = world.open(1, None).unwrap();
    world.run(&Command::EndSession).unwrap();
    assert_eq!(world.status(&branch), "failed");
    assert!(matches!(world.open(2, None), Err(Refusal::SessionOver { .. })));
    assert!(matches!(world.run(&Command::EndSession), Err(Refusal::SessionOver { .. })));
}

#[test]
fn rollback_opens_a_new_generation_and_discards_what_came_later() {
    let mut world = World::new(limits());
    let first = world.open(1, None).unwrap();
    world.run(&observe(None, 100)).unwrap();
    let before = world.session.branches[&first].clone();
    world.run(&fold(None, "first done")).unwrap();
    let second = world.open(2, None).unwrap();
    let decision = world.run(&Command::RollBack { to: first.clone() }).unwrap();

    assert_eq!(ended(&decision), [(second.clone(), EndReason::RolledBack)]);
    let again = &world.session.branches[&first];
    assert_eq!((again.generation, again.status, again.used_tokens), (2, Status::Active, before.used_tokens));
    assert!(world.session.branches[&second].discarded);
    assert_eq!((world.session.main_tokens, world.session.folded_tokens), (0, 0));
    assert_eq!(world.session.active, Thread::Branch(first));
}

#[test]
fn rollback_to_a_nested_branch_opens_those_above_it_too() {
    let mut world = World::new(limits());
    let top = world.open(1, None).unwrap();
    let nested = world.open(2, None).unwrap();
    world.run(&fold(Some(&top), "all done")).unwrap();
    world.run(&Command::RollBack { to: nested.clone() }).unwrap();
    assert_eq!((world.status(&top), world.status(&nested)), ("active", "active"));
}

#[test]
fn a_pooled_budget_is_lent_and_what_is_unused_goes_back() {
    let mut world = World::new(Limits { allocation: Allocation::Pool, ..limits() });
    let top = world.run(&open(1, None, Some(1000))).map(|_| id(1)).unwrap();
    let brief = world.session.branches[&top].used_tokens;
    world.run(&open(2, None, Some(5000))).unwrap();
    assert_eq!(world.session.branches[&id(2)].budget_tokens, 1000 - brief);
    assert_eq!(world.session.branches[&top].budget_left_tokens(), 0);
    world.run(&observe(None, 100)).unwrap();
    world.run(&fold(None, "ok")).unwrap();
    let left = world.session.branches[&top].budget_left_tokens();
    assert_eq!(left, 1000 - brief - (brief + 100) - world.count("ok"));
}

#[test]
fn a_session_budget_caps_branches_and_then_refuses_them() {
    let mut world = World::new(Limits { session_budget_tokens: Some(1000), ..limits() });
    world.run(&observe(None, 600)).unwrap();
    world.run(&open(1, None, None)).unwrap();
    assert_eq!(world.session.branches[&id(1)].budget_tokens, 400);
    world.run(&fold(None, "ok")).unwrap();
    world.run(&observe(None, 400)).unwrap();
    assert_eq!(world.open(2, None).unwrap_err(), Refusal::BudgetGone);
}

#[test]
fn a_hard_context_limit_refuses_new_branches() {
    let mut world = World::new(Limits { context_bound: ContextBound::Hard, ..limits() });
    world.run(&observe(None, 35_000)).unwrap();
    let refusal = world.open(1, None).unwrap_err();
    assert_eq!(refusal.to_string(), "Context limit exceeded: 35000/32768 tokens");
}

#[test]
fn rollback_to_a_branch_that_has_nothing_left_is_refused() {
    let mut world = World::new(limits());
    let branch = world.run(&open(1, None, Some(1000))).map(|_| id(1)).unwrap();
    let left = world.session.branches[&branch].budget_left_tokens();
    world.run(&observe(None, left)).unwrap();
    assert_eq!(world.run(&Command::RollBack { to: branch }).unwrap_err(), Refusal::BudgetGone);
}

#[test]
fn a_message_that_is_too_much_for_its_parent_is_in_the_parents_partial_result() {
    let mut world = World::new(limits());
    let parent = world.run(&open(1, None, Some(60))).map(|_| id(1)).unwrap();
    world.open(2, None).unwrap();
    world.run(&fold(None, &format!("the key is in vault.rs {}", "word ".repeat(100)))).unwrap();
    assert_eq!(world.status(&parent), "timeout");
    let result = world.session.branches[&parent].end.as_ref().unwrap().result.as_str();
    assert!(result.contains("the key is in vault.rs"), "{result}");
}

#[test]
fn a_session_that_is_over_records_no_reports() {
    let mut world = World::new(limits());
    let branch = world.open(1, None).unwrap();
    world.run(&Command::CutShort { branch: branch.clone(), reason: EndReason::TimedOut }).unwrap();
    world.run(&Command::EndSession).unwrap();
    for command in [Command::MarkReported { to: Thread::Main }, Command::MarkEndReported { branch }] {
        assert_eq!(world.run(&command).unwrap().events, []);
    }
}

#[test]
fn an_opening_in_the_future_does_not_count_as_too_soon() {
    let world = World::new(limits());
    let late = |mark_ms: u64| match open(1, None, None) {
        Command::Open(open) => Command::Open(Box::new(Open { rate_mark_ms: Some(mark_ms), ..*open })),
        other => other,
    };
    let waits_ms = |world: &World, mark_ms: u64| match world.decide(&late(mark_ms)) {
        Err(Refusal::TooFast { retry_after_ms, .. }) => Some(retry_after_ms),
        _ => None,
    };
    assert_eq!(waits_ms(&world, 1_000_000), Some(60_000));
    assert_eq!(waits_ms(&world, 940_000), None);
    assert_eq!(waits_ms(&world, 1_000_001), None, "the clock was set back since");
}
