//! Models' answers are counted in the thread that asked.

use super::*;
use crate::record::Usage;
use crate::{EndReason, Event};

fn meter(thread: Thread, output_tokens: u64) -> Command {
    let usage = Usage { fresh_tokens: 900, cache_read_tokens: 0, cache_write_tokens: 0, output_tokens };
    Command::Meter { thread, usage }
}

fn names(decision: &Decision) -> Vec<&'static str> {
    decision.events.iter().map(Event::name).collect()
}

#[test]
fn a_thread_grows_by_the_answer_and_not_by_the_prompt() {
    let mut world = World::new(limits());
    let decision = world.run(&meter(Thread::Main, 70)).unwrap();
    assert_eq!(names(&decision), ["session.started", "request.completed"]);
    assert_eq!(world.session.main_tokens, 70);

    let branch = world.open(1, None).unwrap();
    let brief_tokens = world.session.branches[&branch].used_tokens;
    world.run(&meter(Thread::Branch(branch.clone()), 30)).unwrap();
    assert_eq!(world.session.branches[&branch].used_tokens, brief_tokens + 30);
    assert_eq!(world.session.main_tokens, 70);
}

#[test]
fn a_branch_is_warned_at_four_fifths_and_folds_when_its_budget_is_used_up() {
    let mut world = World::new(limits());
    world.run(&open(1, None, Some(1_000))).unwrap();
    let thread = Thread::Branch(id(1));
    assert_eq!(names(&world.run(&meter(thread.clone(), 850)).unwrap()), ["request.completed", "budget.warning"]);
    let decision = world.run(&meter(thread.clone(), 300)).unwrap();
    assert_eq!(names(&decision), ["request.completed", "budget.exhausted", "branch.folded"]);
    assert_eq!(world.status(&id(1)), "timeout");
    assert_eq!(world.session.branches[&id(1)].end.as_ref().unwrap().reason, EndReason::BudgetExhausted);
    assert_eq!(world.session.active, Thread::Main);
}

#[test]
fn what_comes_after_the_end_is_not_counted() {
    let mut world = World::new(limits());
    let branch = world.open(1, None).unwrap();
    world.run(&fold(Some(&branch), "found")).unwrap();
    let before = world.session.clone();
    assert!(world.run(&meter(Thread::Branch(branch), 500)).unwrap().events.is_empty());
    assert_eq!(world.session, before);

    world.run(&Command::EndSession).unwrap();
    assert!(world.run(&meter(Thread::Main, 500)).unwrap().events.is_empty());
}

#[test]
fn answers_in_a_nested_branch_fold_it_and_leave_its_parent_at_work() {
    let mut world = World::new(limits());
    let outer = world.open(1, None).unwrap();
    world.run(&open(2, None, Some(200))).unwrap();
    world.run(&meter(Thread::Branch(id(2)), 400)).unwrap();
    assert_eq!((world.status(&outer), world.status(&id(2))), ("active", "timeout"));
    assert_eq!(world.session.active, Thread::Branch(outer));
}

#[test]
fn an_answer_that_is_too_long_leaves_a_branch_at_its_budget_and_says_by_how_much_it_was() {
    let mut world = World::new(limits());
    world.run(&open(1, None, Some(1_500))).unwrap();
    let brief_tokens = world.session.branches[&id(1)].used_tokens;
    world.run(&meter(Thread::Branch(id(1)), 1_509 - brief_tokens)).unwrap();
    let branch = &world.session.branches[&id(1)];
    assert_eq!((branch.used_tokens, branch.overrun_tokens), (1_500, 9));
    let result = branch.end.as_ref().unwrap().result.as_str();
    assert!(result.contains("Used 1500 of 1500 tokens in 0 calls; 9 more did not fit."), "{result}");
    assert_eq!(world.session.folded_tokens, 1_500);
}

#[test]
fn a_message_that_does_not_fit_its_parent_leaves_that_at_its_budget_and_a_rollback_takes_it_out_whole() {
    let mut world = World::new(limits());
    world.run(&open(1, None, Some(40))).unwrap();
    let brief_tokens = world.session.branches[&id(1)].used_tokens;
    world.run(&open(2, None, Some(1_000))).unwrap();
    world.run(&fold(Some(&id(2)), &"found something, ".repeat(40))).unwrap();
    let parent = &world.session.branches[&id(1)];
    assert_eq!((parent.used_tokens, parent.status.as_str()), (40, "timeout"));
    world.run(&Command::RollBack { to: id(2) }).unwrap();
    assert_eq!(world.session.branches[&id(1)].used_tokens, brief_tokens);
    assert_eq!((world.session.folded_tokens, world.session.returned_tokens), (0, 0));
}

#[test]
fn a_call_that_was_shown_is_counted_where_that_is_possible_and_never_refused() {
    let mut world = World::new(limits());
    world.run(&open(1, None, Some(1_000))).unwrap();
    let shown = |tokens: u64| {
        let Command::Observe { operation, .. } = observe(None, tokens) else { unreachable!() };
        Command::ObserveShown { thread: Thread::Branch(id(1)), operation }
    };
    assert_eq!(world.run(&shown(10)).unwrap().events.len(), 1);
    assert_eq!(names(&world.run(&shown(2_000)).unwrap()), ["budget.exhausted", "branch.folded"]);
    assert!(world.run(&shown(10)).unwrap().events.is_empty(), "the branch is over");
    world.run(&Command::EndSession).unwrap();
    assert!(world.run(&shown(10)).unwrap().events.is_empty());
}
