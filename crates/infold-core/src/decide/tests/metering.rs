//! What models answer, counted in the thread that they answered in.

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
