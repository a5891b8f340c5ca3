//! The examples of the paper, step by step, and what holds for any word.

use proptest::prelude::*;

use super::*;

fn stemmed(word: &str) -> String {
    let mut word = word.to_owned();
    stem(&mut word);
    word
}

/// Pairs of a word and its stem.
fn check(pairs: &str) {
    for pair in pairs.split_whitespace() {
        let (word, expected) = pair.split_once("->").unwrap();
        assert_eq!(stemmed(word), expected, "{word}");
    }
}

#[test]
fn plurals_lose_their_ending() {
    check("caresses->caress ponies->poni ties->ti caress->caress cats->cat urls->url");
}

#[test]
fn past_and_ing_go_where_a_vowel_is_left() {
    check("feed->feed agreed->agre plastered->plaster bled->bled motoring->motor sing->sing");
    check("conflated->conflat troubled->troubl sized->size hopping->hop tanned->tan falling->fall");
    check("hissing->hiss fizzed->fizz failing->fail filing->file");
}

#[test]
fn a_y_behind_a_vowel_becomes_an_i() {
    check("happy->happi sky->sky query->queri queries->queri");
}

#[test]
fn long_endings_go_one_after_the_other() {
    check("relational->relat conditional->condit rational->ration digitizer->digit operator->oper");
    check("vietnamization->vietnam predication->predic feudalism->feudal decisiveness->decis hopefulness->hope");
    check("triplicate->triplic formative->form formalize->formal electrical->electr goodness->good");
    check("sensibiliti->sensibl sensitiviti->sensit radicalli->radic conformabli->conform");
}

#[test]
fn a_last_ending_goes_only_from_a_long_word() {
    check("revival->reviv allowance->allow airliner->airlin adjustable->adjust replacement->replac adjustment->adjust");
    check("adoption->adopt communism->commun activate->activ effective->effect bowdlerize->bowdler");
    check("champion->champion cement->cement station->station");
}

#[test]
fn an_e_and_a_double_l_go_at_the_end() {
    check("probate->probat rate->rate cease->ceas controll->control roll->roll");
}

#[test]
fn forms_of_one_word_meet() {
    for words in ["connect connected connecting connection connections", "delete deletes deleting deleted deletion"] {
        let stems: Vec<String> = words.split(' ').map(stemmed).collect();
        assert!(stems.iter().all(|stem| *stem == stems[0]), "{stems:?}");
    }
}

#[test]
fn what_is_no_english_word_stays() {
    check("is->is 2024->2024 größen->größen 検索->検索 Cats->Cats");
}

proptest! {
    #[test]
    fn a_stem_is_never_empty_nor_longer_than_its_word(word in "[a-z]{1,40}") {
        let stem = stemmed(&word);
        prop_assert!(!stem.is_empty());
        prop_assert!(stem.len() <= word.len());
        prop_assert_eq!(&stem[..1], &word[..1]);
    }
}
