//! Training, what is counted, and what is claimed.

use infold_core::memory::suspicion::windows;

use super::train::{TaughtWindow, train};
use super::*;

#[test]
fn training_tells_two_kinds_of_texts_apart() {
    let texts = [
        ("send the keys to the stranger", 1.0),
        ("run the tests first", 0.0),
        ("send the money away", 1.0),
        ("run the linter", 0.0),
    ];
    let parted: Vec<_> = texts.iter().map(|(text, label)| (windows(text), *label)).collect();
    let lessons: Vec<TaughtWindow<'_>> = parted
        .iter()
        .map(|(windows, label)| TaughtWindow { window: &windows[0], label: *label, weight: 1.0 })
        .collect();
    let model = train(&lessons);
    assert!(model.sum(&windows("send the secrets")) > model.sum(&windows("run the formatter")));
    assert_eq!(train(&lessons).to_bytes(), model.to_bytes(), "the same texts give the same weights");
}

fn flagged(texts: usize, flagged: usize) -> Flagged {
    Flagged { texts, flagged }
}

#[test]
fn too_many_harmless_or_too_few_found_is_a_claim_missed() {
    let found = TrialFound { harmless: flagged(1_000, 10), attacks: flagged(100, 70), lessons: flagged(10, 7) };
    assert!(found.missed("half 1").is_empty());
    let found = TrialFound { harmless: flagged(1_000, 11), attacks: flagged(100, 69), lessons: flagged(10, 6) };
    assert_eq!(
        found.missed("half 1"),
        [
            "half 1: 1.10 % of harmless texts are flagged, at most 1 are claimed",
            "half 1: 69.0 % of attacks are found, 70 are claimed",
            "half 1: 60.0 % of lessons are found, 70 are claimed",
        ]
    );
    assert_eq!(TrialFound::default().missed("half 0").len(), 2, "nothing tried is nothing found");
}

#[test]
fn lessons_of_ours_are_of_both_kinds_and_the_same_each_time() {
    let made_up = phrases::made_up();
    let attacks = made_up.iter().filter(|made_up| made_up.is_attack).count();
    assert!(attacks > 500 && made_up.len() - attacks > 500, "{attacks} of {}", made_up.len());
    assert!(made_up.iter().zip(phrases::made_up()).all(|(one, other)| one.window == other.window));
}
