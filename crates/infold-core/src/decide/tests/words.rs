//! What agents say, and what their parents get of it when they are cut short.

use super::*;
use crate::{EndReason, Event};

fn note_words(branch: &BranchId, words: &str) -> Command {
    Command::NoteWords { branch: branch.clone(), words: scrubbed(words) }
}

fn interrupt(branch: &BranchId) -> Command {
    Command::CutShort { branch: branch.clone(), reason: EndReason::Interrupted }
}

fn result(world: &World, branch: &BranchId) -> String {
    world.session.branches[branch].end.as_ref().unwrap().result.as_str().to_owned()
}

/// The part of `words` that reaches the parent when the branch whose agent said them is cut short.
fn given(words: &str) -> String {
    let mut world = World::new(limits());
    let branch = world.open(1, None).unwrap();
    world.run(&note_words(&branch, words)).unwrap();
    world.run(&interrupt(&branch)).unwrap();
    let result = result(&world, &branch);
    result.split_once("Last words: ").map_or_else(String::new, |(_, words)| words.to_owned())
}

#[test]
fn a_branch_that_is_cut_short_gives_its_last_words() {
    let mut world = World::new(limits());
    let branch = world.open(1, None).unwrap();
    world.run(&note_words(&branch, "I shall look into the lexer.")).unwrap();
    world.run(&observe(None, 300)).unwrap();
    world.run(&note_words(&branch, "It is not the lexer.\nIt must be the parser.\n")).unwrap();
    world.run(&interrupt(&branch)).unwrap();
    insta::assert_snapshot!(result(&world, &branch), @r#"
    [Partial result: interrupted. The sub-task did not return by itself.]
    Sub-task: look for it
    Used 303 of 8192 tokens in 1 calls.
    Last words: It is not the lexer.
    It must be the parser.
    Tools called: read_file ×1
    Files touched: src/a.rs
    Last call: {"path":"src/a.rs"}
    Last result: fn main() {}
    "#);
    assert_eq!(world.session.main_tokens, world.count(&result(&world, &branch)));
}

#[test]
fn whoever_says_nothing_has_said_what_it_said_before() {
    let mut world = World::new(limits());
    let branch = world.open(1, None).unwrap();
    world.run(&note_words(&branch, "It must be the parser.")).unwrap();
    for nothing in ["", " \n", "It must be the parser. "] {
        assert!(world.run(&note_words(&branch, nothing)).unwrap().events.is_empty(), "{nothing:?} is no news");
    }
    world.run(&interrupt(&branch)).unwrap();
    assert!(result(&world, &branch).contains("It must be the parser."));
    assert!(world.run(&note_words(&branch, "too late")).unwrap().events.is_empty());
    assert!(world.run(&note_words(&id(9), "nobody")).unwrap().events.is_empty());
    assert_eq!(given(""), "", "and who has said nothing at all is not quoted");
}

#[test]
fn a_branch_that_is_opened_again_still_knows_them_and_one_above_does_not() {
    let mut world = World::new(limits());
    let (outer, inner) = (world.open(1, None).unwrap(), world.open(2, None).unwrap());
    world.run(&note_words(&inner, "Only the inner one knows.")).unwrap();
    world.run(&interrupt(&inner)).unwrap();
    world.run(&Command::Reopen { branch: inner.clone() }).unwrap();
    world.run(&interrupt(&outer)).unwrap();
    assert!(result(&world, &inner).contains("Last words: Only the inner one knows."));
    assert!(world.session.branches[&outer].findings.last_words.is_empty());
}

#[test]
fn of_many_words_the_last_are_given_from_a_sensible_place_on() {
    let sentence = "The harbour is quiet and nothing moves. ";
    let long = given(&format!("{}Done.", sentence.repeat(60)));
    assert!(long.chars().count() <= 1_002 && long.chars().count() > 900, "{} characters", long.chars().count());
    assert!(long.starts_with("… ") && long.ends_with("Done."), "{long}");
    assert!(sentence.split(' ').any(|word| long[4..].starts_with(&format!("{word} "))), "a whole word: {long}");

    let lines = given(&format!("{}{}", "a line that is whole\n".repeat(9), "Größe. ".repeat(130)));
    assert!(lines.starts_with("… a line that is whole\na line") && lines.ends_with("Größe."), "{lines}");

    let word = given(&"ö".repeat(3_000));
    assert_eq!(word.chars().count(), 1_002);
}

#[test]
fn a_placeholder_is_given_whole_or_not_at_all() {
    let secret = format!("{}{}", "ghp_", "16C7e42F292c6912E7710c838347Ae178B4a");
    for filler in 950..1_010 {
        let words = given(&format!("before {secret},{}", "x".repeat(filler)));
        assert!(words.matches("[SECRET:").count() == words.matches(']').count(), "{words}");
    }
}

#[test]
fn what_was_said_is_in_the_log() {
    let mut world = World::new(limits());
    let branch = world.open(1, None).unwrap();
    let decision = world.run(&note_words(&branch, "Found it.")).unwrap();
    let [event @ Event::Said { .. }] = &decision.events[..] else { panic!("{:?}", decision.events) };
    assert_eq!((event.name(), event.branch()), ("branch.said", Some(&branch)));
    let stored = serde_json::to_string(&world.session.branches[&branch]).unwrap();
    assert_eq!(serde_json::from_str::<crate::Branch>(&stored).unwrap(), world.session.branches[&branch]);
}
