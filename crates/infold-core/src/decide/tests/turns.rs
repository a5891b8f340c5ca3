//! Branches that run one after another: the clock of one that waits does not run.

use super::{World, fold, id, limits, open};
use crate::{Command, Start, Status, Thread};

fn in_turn(number: u64, timeout_s: u64) -> Command {
    match open(number, Some(Thread::Main), None) {
        Command::Open(mut open) => {
            (open.start, open.timeout_s) = (Start::InTurn, Some(timeout_s));
            Command::Open(open)
        }
        other => other,
    }
}

fn deadlines_s(world: &World) -> Vec<u64> {
    (1..=3).map(|number| world.session.branches[&id(number)].deadline_ms / 1000).collect()
}

fn three() -> World {
    let mut world = World::new(limits());
    for (number, timeout_s) in [(1, 10), (2, 20), (3, 30)] {
        world.run(&in_turn(number, timeout_s)).unwrap();
    }
    world
}

#[test]
fn each_has_its_whole_time_from_when_its_turn_comes() {
    let mut world = three();
    assert_eq!(deadlines_s(&world), [1010, 1030, 1060]);
    world.now_ms = 1_004_000;
    world.run(&fold(Some(&id(1)), "done")).unwrap();
    assert_eq!(deadlines_s(&world), [1010, 1024, 1054]);

    // The second works and the third waits: that the third ends changes nothing for the second.
    world.now_ms = 1_009_000;
    world.run(&fold(Some(&id(3)), "given up")).unwrap();
    assert_eq!(deadlines_s(&world)[1], 1024);
}

#[test]
fn one_that_waits_is_not_out_of_time_however_late_anybody_looks() {
    let mut world = three();
    world.now_ms = 2_000_000;
    world.run(&Command::FoldOverdue).unwrap();
    let status: Vec<Status> = (1..=3).map(|number| world.session.branches[&id(number)].status).collect();
    assert_eq!(status, [Status::Timeout, Status::Active, Status::Active]);
    assert_eq!(deadlines_s(&world)[1..], [2020, 2050]);
}

#[test]
fn one_that_is_opened_again_makes_those_behind_it_wait() {
    let mut world = three();
    world.run(&fold(Some(&id(1)), "done")).unwrap();
    world.now_ms = 1_005_000;
    world.run(&Command::Reopen { branch: id(1) }).unwrap();
    assert_eq!(deadlines_s(&world), [1015, 1035, 1065]);
    world.now_ms = 1_036_000;
    world.run(&Command::FoldOverdue).unwrap();
    assert_eq!(world.status(&id(2)), "active");
}
