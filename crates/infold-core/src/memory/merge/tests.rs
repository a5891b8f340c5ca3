//! What becomes of lessons beside what is kept.

use proptest::prelude::*;

use super::*;
use crate::Scrubbed;
use crate::memory::FileUse;

const TITLE: &str = "Rebuild the fixtures before the snapshot tests";
const LESSON: &str = "Snapshots read fixtures made by `just fixtures`; old fixtures break them on port 8080.";

fn lesson(text: &str, kind: MemoryKind) -> ComparedLesson {
    compared(TITLE, text, kind, &["tests/fixtures.rs"])
}

fn compared(title: &str, lesson: &str, kind: MemoryKind, files: &[&str]) -> ComparedLesson {
    ComparedLesson::new(ComparedTexts { title, lesson, kind, trust: Trust::Own, files, commands: &[] })
}

fn near(lesson: ComparedLesson) -> NearMemory {
    NearMemory { lesson, meaning: None }
}

/// What becomes of a lesson beside one neighbour.
fn beside(new: &ComparedLesson, old: NearMemory) -> Placing {
    place(new, &[old], &Shingles::default())
}

#[test]
fn lessons_in_nearly_the_same_words_are_the_same() {
    let old = near(lesson(LESSON, MemoryKind::Works));
    let again = lesson(&format!("{LESSON} Really."), MemoryKind::Works);
    assert_eq!(beside(&again, old.clone()), Placing::Same(0));
    let other = compared("Deploys need two keys", "One is in the vault.", MemoryKind::Fact, &[]);
    assert_eq!(beside(&other, old.clone()), Placing::New);
    assert_eq!(beside(&other, NearMemory { meaning: Some(0.95), ..old }), Placing::New, "nothing in common");
}

#[test]
fn a_paraphrase_about_the_same_file_is_the_same_by_its_meaning() {
    let (title, lesson) = ("Golden files go stale", "Generate them anew first.");
    let paraphrase = compared(title, lesson, MemoryKind::Works, &["x/tests/fixtures.rs"]);
    let old = compared(TITLE, LESSON, MemoryKind::Works, &["x/tests/fixtures.rs"]);
    assert_eq!(beside(&paraphrase, NearMemory { lesson: old.clone(), meaning: Some(0.95) }), Placing::Same(0));
    assert_eq!(beside(&paraphrase, NearMemory { lesson: old, meaning: Some(0.7) }), Placing::New);
}

#[test]
fn what_says_otherwise_takes_the_place_of_the_older_unless_it_is_trusted_less() {
    let old = lesson(LESSON, MemoryKind::Works);
    let other_port = lesson(&LESSON.replace("8080", "9090"), MemoryKind::Works);
    let negated = lesson(&LESSON.replace("break", "do not break"), MemoryKind::Works);
    let fails = lesson(LESSON, MemoryKind::Fails);
    for new in [other_port, negated, fails] {
        assert_eq!(beside(&new, near(old.clone())), Placing::Replaces(0), "{}", new.text);
        let outside = ComparedLesson { trust: Trust::Outside, ..new };
        assert_eq!(beside(&outside, near(old.clone())), Placing::Waits(0));
    }
    let about_other = compared("Sign the build", "It fails on macs.", MemoryKind::Fails, &["tests/fixtures.rs"]);
    assert_eq!(beside(&about_other, near(old)), Placing::New, "a file in common is not enough");
}

#[test]
fn what_the_agent_was_shown_is_not_learnt() {
    let mut shown = Shingles::default();
    shown.add(&format!("{TITLE}\n{LESSON}"));
    assert_eq!(place(&lesson(LESSON, MemoryKind::Works), &[], &shown), Placing::AlreadyKnown);
    let other = compared("Deploys need two keys", "One is in the vault, the other with Anna.", MemoryKind::Fact, &[]);
    assert_eq!(place(&other, &[], &shown), Placing::New);
}

#[test]
fn two_that_are_the_same_become_one_with_the_files_of_both() {
    let scrubbed = |text: &str| Scrubbed::composed(text.to_owned());
    let one = |text: &str, path: &str| Lesson {
        title: scrubbed(TITLE),
        lesson: scrubbed(text),
        kind: MemoryKind::Works,
        files: vec![LessonFile { path: scrubbed(path), used: FileUse::Read }],
        commands: vec![scrubbed("just fixtures")],
    };
    let (short, long) = (one("short", "a.rs"), one("a longer text", "b.rs"));
    let both = united((&short, Trust::Own), (&long, Trust::Own));
    assert_eq!((both.lesson.as_str(), both.files.len(), both.commands.len()), ("a longer text", 2, 1));
    assert_eq!(united((&short, Trust::Person), (&long, Trust::Own)).lesson.as_str(), "short");
    assert_eq!(united((&short, Trust::Outside), (&long, Trust::Own)).lesson.as_str(), "a longer text");
}

proptest! {
    #[test]
    fn a_lesson_beside_itself_is_the_same(title in "[a-z]{3,8}( [a-z0-9]{1,8}){0,8}", text in "\\PC{0,200}") {
        let new = compared(&title, &text, MemoryKind::Fact, &[]);
        prop_assume!(!new.words.all.is_empty());
        prop_assert_eq!(beside(&new, near(new.clone())), Placing::Same(0));
    }
}
