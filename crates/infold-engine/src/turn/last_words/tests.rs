//! Which words are held until they are stored.

use super::*;

fn held(branch: &str, words: &str) -> UnstoredWords {
    UnstoredWords {
        owner: Owner::local(),
        session: SessionId::parse("s").unwrap(),
        branch: BranchId::from_stored(branch.to_owned()),
        words: words.to_owned(),
    }
}

fn words(said: &HeldWords) -> Vec<String> {
    let held = said.of(&Owner::local(), &SessionId::parse("s").unwrap());
    held.into_iter().map(|held| held.words).collect()
}

#[test]
fn of_each_branch_the_latest_words_are_held() {
    let mut said = HeldWords::default();
    for (branch, text) in [("br_1", "first"), ("br_2", "second"), ("br_1", "third")] {
        said.hold(held(branch, text));
    }
    assert_eq!(words(&said), ["second", "third"]);
    let other = said.of(&Owner::from_subject("mallory"), &SessionId::parse("s").unwrap());
    assert_eq!(other, []);
}

#[test]
fn what_was_said_while_others_were_stored_stays() {
    let mut said = HeldWords::default();
    said.hold(held("br_1", "first"));
    let storing = said.of(&Owner::local(), &SessionId::parse("s").unwrap());
    said.hold(held("br_1", "second"));
    said.let_go(&storing);
    assert_eq!(words(&said), ["second"]);
    said.let_go(&[held("br_1", "second")]);
    assert_eq!(words(&said), Vec::<String>::new());
}

#[test]
fn it_is_bounded_and_the_oldest_go_first() {
    let mut said = HeldWords::default();
    (0..HELD_MAX + 3).for_each(|number| said.hold(held(&format!("br_{number}"), &number.to_string())));
    assert_eq!((words(&said).len(), words(&said)[0].as_str()), (HELD_MAX, "3"));
}
