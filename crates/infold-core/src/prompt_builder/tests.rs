//! Prompts as text: sections go in, the prompt with a mark at each breakpoint comes out.

use proptest::prelude::*;

use super::*;

fn section(content: &str, cacheable: bool) -> PromptSection {
    PromptSection { name: "section".to_owned(), content: content.to_owned(), cacheable }
}

fn marked(breakpoints_max: usize, sections: &[(SectionKind, PromptSection)]) -> String {
    let mut builder = PromptBuilder::new(breakpoints_max);
    for (kind, section) in sections {
        builder.add(*kind, section.clone());
    }
    let (mut prompt, breakpoints) = builder.build();
    for at in breakpoints.into_iter().rev() {
        prompt.insert(at, '|');
    }
    prompt
}

#[test]
fn sections_come_in_their_order_whatever_order_they_are_added_in() {
    let sections = [
        (SectionKind::Skills, section("skill one", true)),
        (SectionKind::Memories, section("memories", true)),
        (SectionKind::Base, section("base", true)),
        (SectionKind::Skills, section("skill two", false)),
        (SectionKind::ProjectRules, section("rules", true)),
    ];
    assert_eq!(marked(4, &sections), "base|\n\nrules|\n\nmemories|\n\nskill one\n\nskill two");
}

#[test]
fn an_empty_section_leaves_no_breakpoint() {
    let sections = [
        (SectionKind::Base, section("base", true)),
        (SectionKind::ProjectRules, section(" \n", true)),
        (SectionKind::Memories, section("memories", true)),
    ];
    assert_eq!(marked(4, &sections), "base|\n\nmemories|");
    assert_eq!(marked(4, &[]), "");
}

#[test]
fn no_more_breakpoints_than_the_provider_takes_and_the_last_ones_stay() {
    let sections = [
        (SectionKind::Base, section("base", true)),
        (SectionKind::ProjectRules, section("rules", true)),
        (SectionKind::Memories, section("memories", true)),
    ];
    assert_eq!(marked(2, &sections), "base\n\nrules|\n\nmemories|");
    assert_eq!(marked(0, &sections), "base\n\nrules\n\nmemories");
}

#[test]
fn nothing_behind_a_section_that_changes_is_cached() {
    let sections = [
        (SectionKind::Base, section("base", true)),
        (SectionKind::ProjectRules, section("today", false)),
        (SectionKind::Memories, section("memories", true)),
    ];
    assert_eq!(marked(4, &sections), "base|\n\ntoday\n\nmemories");
}

#[test]
fn a_kind_with_several_sections_has_one_breakpoint() {
    let sections = [
        (SectionKind::ProjectRules, section("rules", true)),
        (SectionKind::ProjectRules, section("règles", true)),
        (SectionKind::Base, section("base", true)),
    ];
    assert_eq!(marked(4, &sections), "base|\n\nrules\n\nrègles|");
}

proptest! {
    #[test]
    fn a_change_of_skills_moves_nothing_in_front_of_a_breakpoint(
        contents in proptest::collection::vec("[a-zé ]{0,12}", 3),
        skills in proptest::collection::vec("[a-z]{0,8}", 0..3),
        breakpoints_max in 0_usize..5,
    ) {
        let build = |skills: &[String]| {
            let mut builder = PromptBuilder::new(breakpoints_max);
            for skill in skills {
                builder.add(SectionKind::Skills, section(skill, true));
            }
            let kinds = [SectionKind::Base, SectionKind::ProjectRules, SectionKind::Memories];
            for (kind, content) in kinds.into_iter().zip(&contents) {
                builder.add(kind, section(content, true));
            }
            builder.build()
        };
        let ((bare, breakpoints), (full, same)) = (build(&[]), build(&skills));
        prop_assert_eq!(&breakpoints, &same);
        prop_assert!(breakpoints.len() <= breakpoints_max.min(3));
        for at in breakpoints {
            prop_assert_eq!(bare.get(..at).unwrap(), full.get(..at).unwrap());
        }
    }
}
