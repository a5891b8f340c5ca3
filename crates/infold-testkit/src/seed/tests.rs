//! The generator repeats itself and stays within bounds.

use super::Rng;

#[test]
fn the_same_seed_gives_the_same_numbers() {
    let first: Vec<u64> = numbers(42);
    let second: Vec<u64> = numbers(42);

    assert_eq!(first, second);
    assert_ne!(first, numbers(43));
}

#[test]
fn below_stays_below_and_reaches_every_number() {
    let mut rng = Rng::new(7);
    let mut seen = [false; 6];

    for _ in 0..200 {
        seen[rng.below(6)] = true;
    }

    assert_eq!(seen, [true; 6]);
    assert_eq!(rng.below(0), 0);
    assert_eq!(rng.pick::<u8>(&[]), None);
}

fn numbers(seed: u64) -> Vec<u64> {
    let mut rng = Rng::new(seed);
    (0..8).map(|_| rng.next_u64()).collect()
}
