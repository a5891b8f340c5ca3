//! What is left of the instructions if they cannot be put together.

use super::built;
use crate::instructions::{Instructions, Skill};

#[test]
fn enh_8_instructions_that_cannot_be_built_from_sections_have_the_same_words_in_one_text() {
    let skill =
        |name: &str| Skill { name: name.to_owned(), description: "d".to_owned(), text: format!("how to {name}") };
    let instructions = Instructions {
        surroundings: "You work in a folder.".to_owned(),
        rules: vec![("AGENTS.md".to_owned(), "Be brief.".to_owned())],
        memories: "It was green once.".to_owned(),
        skills: vec![skill("juggle"), skill("knit")],
        output_schema: None,
    };
    let active = ["knit".to_owned()];
    let from_sections = built(|| instructions.build(&active)).map(|(prompt, _)| prompt);
    assert_eq!(from_sections, Some(instructions.plain(&active)));
    let broken: Option<String> = built(|| panic!("a section is broken"));
    assert_eq!(broken, None);
    assert!(
        instructions.plain(&active).contains("how to knit") && !instructions.plain(&active).contains("how to juggle")
    );
}
