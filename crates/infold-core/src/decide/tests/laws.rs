//! Random commands: after each of them every law holds, and a small model that knows nothing of the
//! machine agrees about who is open.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::{Event, Status};

#[derive(Debug, Clone)]
enum Step {
    Open { parent: usize, budget: u64 },
    OpenActive { budget: u64 },
    Observe { thread: usize, tokens: u64 },
    NoteWords { branch: usize, number: u64 },
    Fold { branch: usize },
    FoldActive,
    Wait { ms: u64 },
    RollBack { to: usize },
    MarkReported,
    End,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..12usize, 20..3000u64).prop_map(|(parent, budget)| Step::Open { parent, budget }),
        4 => (20..3000u64).prop_map(|budget| Step::OpenActive { budget }),
        6 => (0..12usize, 0..900u64).prop_map(|(thread, tokens)| Step::Observe { thread, tokens }),
        2 => (0..12usize, 0..3u64).prop_map(|(branch, number)| Step::NoteWords { branch, number }),
        3 => (0..12usize).prop_map(|branch| Step::Fold { branch }),
        4 => Just(Step::FoldActive),
        2 => (0..200_000u64).prop_map(|ms| Step::Wait { ms }),
        2 => (0..12usize).prop_map(|to| Step::RollBack { to }),
        1 => Just(Step::MarkReported),
        1 => Just(Step::End),
    ]
}

/// Which branches are open, by the plainest rules: ending a branch ends all below it.
#[derive(Default)]
struct Model {
    parent: BTreeMap<BranchId, Thread>,
    open: BTreeSet<BranchId>,
    ends: BTreeMap<(BranchId, u32), u32>,
}

impl Model {
    fn note(&mut self, event: &Event) {
        match event {
            Event::BranchOpened(opening) => {
                let parent_is_open = opening.parent.branch().is_none_or(|parent| self.open.contains(parent));
                assert!(parent_is_open, "opened under a branch that has ended");
                self.parent.insert(opening.branch.clone(), opening.parent.clone());
                self.open.insert(opening.branch.clone());
            }
            Event::BranchEnded { branch, generation, .. } => {
                assert!(self.open.remove(branch), "ended twice");
                let below = self.open.iter().any(|id| self.parent[id].branch() == Some(branch));
                assert!(!below, "ended before a branch below it");
                *self.ends.entry((branch.clone(), *generation)).or_default() += 1;
            }
            Event::RolledBack { reopened, .. } => {
                for branch in reopened {
                    assert!(self.open.insert(branch.clone()), "reopened while open");
                }
            }
            _ => {}
        }
    }
}

fn command(world: &World, step: &Step, number: u64) -> Option<Command> {
    let nth = |at: usize| -> Option<BranchId> {
        let ids: Vec<&BranchId> = world.session.branches.keys().collect();
        (!ids.is_empty()).then(|| ids[at % ids.len()].clone())
    };
    let thread = |at: usize| nth(at).filter(|_| !at.is_multiple_of(4)).map_or(Thread::Main, Thread::Branch);
    Some(match step {
        Step::Open { parent, budget } => open(number, Some(thread(*parent)), Some(*budget)),
        Step::OpenActive { budget } => open(number, None, Some(*budget)),
        Step::Observe { thread: at, tokens } => observe((!at.is_multiple_of(3)).then(|| thread(*at)), *tokens),
        Step::NoteWords { branch, number } => {
            Command::NoteWords { branch: nth(*branch)?, words: Scrubbed::composed(format!("looked at: {number}")) }
        }
        Step::Fold { branch } => fold(Some(&nth(*branch)?), "what was found"),
        Step::FoldActive => fold(None, "what was found, in a few more words than before"),
        Step::Wait { .. } => Command::FoldOverdue,
        Step::RollBack { to } => Command::RollBack { to: nth(*to)? },
        Step::MarkReported => Command::MarkReported { to: world.session.active.clone() },
        Step::End => Command::EndSession,
    })
}

fn check_laws(world: &World, model: &Model) {
    let session = &world.session;
    let open: BTreeSet<BranchId> = session.open().map(|branch| branch.id.clone()).collect();
    assert_eq!(open, model.open, "the model and the machine disagree about who is open");
    assert!(model.ends.values().all(|ends| *ends == 1), "a generation ended more than once");
    assert!(open.len() as u64 <= world.limits.open_per_session_max);
    if let Some(active) = session.active.branch() {
        assert!(open.contains(active), "the active thread is not open");
    }
    for branch in session.branches.values() {
        assert!(branch.depth >= 1 && branch.depth <= world.limits.depth_max);
        assert_eq!(branch.end.is_some(), !branch.is_open());
        assert!(branch.budget_used_tokens() <= branch.budget_tokens);
        if branch.is_open() {
            assert_eq!(branch.status, Status::Active);
            assert!(branch.used_tokens < branch.budget_tokens, "an open branch has nothing left");
            assert!(!branch.discarded);
        }
    }
    let open_tokens: u64 = session.open().map(|branch| branch.used_tokens).sum();
    assert_eq!(session.total_tokens(), session.main_tokens + open_tokens);
    let counted = session.branches.values().filter(|branch| !branch.is_open() && !branch.discarded);
    assert_eq!(session.folded_tokens, counted.map(|branch| branch.used_tokens).sum::<u64>());
}

fn check_the_log_is_the_truth(world: &World) {
    let mut replayed = Session::new(Owner::local(), world.session.id.clone(), 0);
    for (at_ms, event) in &world.log {
        replayed.apply(event, *at_ms);
        let json = serde_json::to_string(event).unwrap();
        assert_eq!(serde_json::from_str::<Event>(&json).unwrap(), *event, "an event does not read back");
    }
    assert_eq!(replayed, world.session, "replaying the log gives another session");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_law_holds_after_every_command(
        steps in proptest::collection::vec(step(), 1..40),
        pooled in any::<bool>(),
    ) {
        let allocation = if pooled { Allocation::Pool } else { Allocation::Independent };
        let mut world = World::new(Limits { allocation, ..limits() });
        let mut model = Model::default();
        for (number, step) in (1..).zip(&steps) {
            if let Step::Wait { ms } = step {
                world.now_ms += ms;
            }
            let Some(command) = command(&world, step, number) else { continue };
            if let Ok(decision) = world.run(&command) {
                decision.events.iter().for_each(|event| model.note(event));
            }
            check_laws(&world, &model);
        }
        check_the_log_is_the_truth(&world);
    }
}
