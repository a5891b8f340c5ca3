//! Return, timeout, budget and session end race for one branch. Each racer loads, decides and
//! appends in its own time; an append decided on an older version is refused, and its racer begins
//! again. Whatever the order, the branch ends exactly once.

use proptest::prelude::*;

use super::*;
use crate::{EndReason, Event};

struct Racer {
    command: Command,
    loaded: Option<Session>,
    decided: Option<Result<Decision, Refusal>>,
    outcome: Option<Result<(), Refusal>>,
}

impl Racer {
    fn new(command: Command) -> Self {
        Self { command, loaded: None, decided: None, outcome: None }
    }

    /// Does the racer's next step: loads, decides, or appends.
    fn step(&mut self, world: &mut World) {
        if self.outcome.is_some() {
            return;
        }
        let Some(loaded) = self.loaded.take() else {
            self.loaded = Some(world.session.clone());
            return;
        };
        match self.decided.take() {
            None => {
                let rules = Rules { limits: &world.limits, counter: &world.counter };
                self.decided = Some(decide(&loaded, std::slice::from_ref(&self.command), rules, world.now_ms));
                self.loaded = Some(loaded);
            }
            Some(Err(refusal)) => self.outcome = Some(Err(refusal)),
            Some(Ok(decision)) if loaded.version == world.session.version => {
                world.log.extend(decision.events.into_iter().map(|event| (world.now_ms, event)));
                world.session = decision.after;
                self.outcome = Some(Ok(()));
            }
            Some(Ok(_)) => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn exactly_one_racer_ends_the_branch(
        schedule in proptest::collection::vec(0..5usize, 0..60),
        late in any::<bool>(),
    ) {
        let mut world = World::new(limits());
        let branch = world.run(&open(1, None, Some(1000))).map(|_| id(1)).unwrap();
        if late {
            world.now_ms += 300_000;
        }
        let mut racers = [
            Racer::new(fold(Some(&branch), "found it")),
            Racer::new(fold(None, "found it again")),
            Racer::new(Command::FoldOverdue),
            Racer::new(observe(Some(Thread::Branch(branch.clone())), 5_000)),
            Racer::new(Command::EndSession),
        ];
        for racer in schedule {
            racers[racer].step(&mut world);
        }
        // Whoever is not done yet finishes alone: every racer ends.
        for racer in &mut racers {
            (0..100).for_each(|_| racer.step(&mut world));
            prop_assert!(racer.outcome.is_some(), "a racer never came to an end");
        }

        let ends: Vec<EndReason> = world.log.iter().filter_map(|(_, event)| match event {
            Event::BranchEnded { reason, .. } => Some(*reason),
            _ => None,
        }).collect();
        prop_assert_eq!(ends.len(), 1, "ended by {:?}", ends);
        let amended = world.log.iter().filter(|(_, event)| matches!(event, Event::ResultAmended { .. })).count();
        let returns = racers[..2].iter().filter(|racer| matches!(racer.outcome, Some(Ok(())))).count();
        prop_assert_eq!(returns, usize::from(ends[0] == EndReason::Returned) + amended);
        prop_assert!(returns <= 1, "two returns were taken for what its parent gets");
    }
}
