//! The law, over generated conversations: a made-up client, model and engine send one request after another, and each
//! request is checked.

mod checks;
mod engine;
mod trouble;
mod world;

use std::hash::{BuildHasher, RandomState};

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use crate::transcript::Voice;
use world::{Answer, Behind, Beside, Call, Step, World};

fn call() -> impl Strategy<Value = Call> {
    prop_oneof![
        6 => Just(Call::Read),
        1 => Just(Call::Load),
        4 => any::<bool>().prop_map(|inherits| Call::Open { inherits }),
        4 => (0..4usize).prop_map(|up| Call::Return { up }),
        1 => Just(Call::RefusedReturn),
        1 => (0..6usize).prop_map(|which| Call::RollBack { which }),
    ]
}

/// Calls, some of them from scripts.
fn any_call() -> impl Strategy<Value = Call> {
    prop_oneof![5 => call(), 1 => prop::collection::vec(call(), 1..3).prop_map(Call::Script)]
}

fn answer() -> impl Strategy<Value = Answer> {
    let beside = prop_oneof![
        6 => Just(Beside::Nothing),
        2 => Just(Beside::Client),
        1 => Just(Beside::Person),
        1 => Just(Beside::File),
        1 => Just(Beside::Inside(Voice::Client)),
        1 => Just(Beside::Inside(Voice::Person)),
    ];
    let behind = prop_oneof![
        8 => Just(Behind::Nothing),
        1 => Just(Behind::Client),
        1 => Just(Behind::System),
        1 => (0..3usize).prop_map(Behind::Person),
    ];
    let calls = prop_oneof![4 => prop::collection::vec(any_call(), 1), 2 => prop::collection::vec(any_call(), 2..4)];
    (any::<bool>(), any::<bool>(), calls, beside, behind).prop_map(|(thinks, speaks, calls, beside, behind)| Answer {
        thinks,
        speaks,
        calls,
        beside,
        behind,
    })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        14 => answer().prop_map(Step::Answer),
        1 => (0..3usize).prop_map(|words| Step::TurnEnds { words }),
        1 => (0..3usize).prop_map(|words| Step::BreaksOff { words }),
        1 => Just(Step::Aside),
        1 => (0..8usize).prop_map(|back| Step::Rewind { back }),
        1 => (0..3usize).prop_map(|which| Step::Force { which }),
        1 => any::<bool>().prop_map(|works| Step::Compact { works }),
        1 => Just(Step::Rescue),
        1 => Just(Step::LoseStore),
        1 => (0..8usize).prop_map(|which| Step::Clear { which }),
    ]
}

/// The suite runs the same sessions every time. `PROPTEST_CASES` asks for that many others, `SEED` says which.
fn config() -> ProptestConfig {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let others = number("PROPTEST_CASES").and_then(|cases| u32::try_from(cases).ok());
    let by_default = if others.is_some() { RandomState::new().hash_one("sessions") } else { 1 };
    let seed = number("SEED").unwrap_or(by_default);
    let cases = others.unwrap_or(2_000);
    eprintln!("SEED={seed} PROPTEST_CASES={cases} cargo test -p infold-core view::tests::laws");
    ProptestConfig { cases, failure_persistence: None, rng_seed: RngSeed::Fixed(seed), ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_request_obeys_the_law(steps in prop::collection::vec(step(), 1..24), flat in any::<bool>(), shapes in 0..4u64) {
        let mut world = World::new(flat, shapes);
        for step in &steps {
            world.step(step);
        }
        world.request();
    }
}
