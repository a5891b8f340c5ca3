//! What vectors say about texts.

use proptest::prelude::*;

use super::*;

fn nearness(one: &str, other: &str) -> f64 {
    TextVector::built_in(one).unwrap().cosine(&TextVector::built_in(other).unwrap()).unwrap()
}

#[test]
fn texts_that_mean_the_same_are_nearer_than_others() {
    let same = nearness("the car is too quick", "this automobile is very fast");
    let other = nearness("the car is too quick", "a database stores tables of customers");
    assert!(same > other + 0.2, "{same} {other}");
    assert!(nearness("parseHeader", "parseHeader") > 0.999);
}

#[test]
fn the_table_is_whole_and_a_broken_one_is_not_read() {
    assert!(MODEL.tokens.len() > 20_000 && MODEL.dimensions == 64);
    assert!(TABLE.len() <= 2_100_000);
    assert!(TokenVectors::read(&TABLE[..TABLE.len() - 1]).is_none());
    assert!(TokenVectors::read(&TABLE[..3]).is_none() && TokenVectors::read(b"").is_none());
}

#[test]
fn vectors_of_different_models_are_not_compared() {
    let built_in = TextVector::built_in("a text").unwrap();
    let other = TextVector::of_numbers("other", &[1.0; 64]).unwrap();
    assert_eq!(built_in.cosine(&other), None);
    assert_eq!(other.cosine(&TextVector::of_numbers("other", &[1.0; 8]).unwrap()), None);
    let stored = TextVector::from_stored(built_in.model().to_owned(), &built_in.bytes());
    assert_eq!(stored, built_in);
}

#[test]
fn a_text_without_tokens_and_numbers_without_direction_have_no_vector() {
    assert_eq!(TextVector::built_in("…, — 。"), None);
    for numbers in [vec![], vec![0.0; 4], vec![f32::NAN, 1.0], vec![f32::INFINITY, 1.0]] {
        assert!(
            TextVector::of_numbers("m", &numbers).is_none_or(|vector| vector.cosine(&vector).is_some()),
            "{numbers:?}"
        );
    }
}

proptest! {
    #[test]
    fn nearness_is_symmetric_and_bounded(one in "\\PC{0,80}", other in "[a-z ]{1,80}") {
        if let (Some(one), Some(other)) = (TextVector::built_in(&one), TextVector::built_in(&other)) {
            let cosine = one.cosine(&other).unwrap();
            prop_assert!((-1.0..=1.0).contains(&cosine));
            prop_assert_eq!(Some(cosine), other.cosine(&one));
        }
    }
}
