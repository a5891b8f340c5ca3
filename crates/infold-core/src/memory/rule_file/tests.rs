//! Which lessons a rule file says already.

use proptest::prelude::*;

use super::*;
use crate::Scrubbed;

const RULES: &str = "\
# Working here

This is a parser for harbour logs.

## Tests
- Run `just fixtures` before the snapshot tests of the parser, or they fail with stale rows.
- Never commit to main. Use pnpm 9, not npm.
- The server listens on port 8080; see `src/server/listen.rs`.

To release:

```sh
cargo xtask release --sign
```
@docs/more.md
";

fn lesson(title: &str, text: &str, kind: MemoryKind) -> Lesson {
    let scrubbed = |text: &str| Scrubbed::composed(text.to_owned());
    Lesson { title: scrubbed(title), lesson: scrubbed(text), kind, files: Vec::new(), commands: Vec::new() }
}

fn is_said(title: &str, text: &str) -> bool {
    is_said_of_kind(title, text, MemoryKind::Works)
}

fn is_said_of_kind(title: &str, text: &str, kind: MemoryKind) -> bool {
    let file = RuleFile::new("CLAUDE.md".to_owned(), RULES);
    rule_file_saying(&lesson(title, text, kind), [&file]).is_some_and(|file| file.name == "CLAUDE.md")
}

#[test]
fn a_lesson_in_the_words_of_a_rule_is_said_already() {
    for (title, text) in [
        ("Fixtures before the snapshot tests", "Always run `just fixtures` before the parser's snapshot tests."),
        ("Snapshot tests of the parser", "Before the snapshot tests, run just fixtures: they fail with stale rows."),
        ("Use pnpm", "Use pnpm 9, not npm."),
        ("Port of the server", "The server listens on port 8080."),
        ("Listening", "The server listens on port 8080, see listen.rs."),
        ("Release", "To release: `cargo xtask release --sign`"),
    ] {
        assert!(is_said(title, text), "{title}: {text}");
    }
}

#[test]
fn a_lesson_that_names_something_else_or_says_more_is_new() {
    for (title, text) in [
        ("Fixtures before the snapshot tests", "Run `just snapshots` before the snapshot tests of the parser."),
        ("Port of the server", "The server listens on port 9090."),
        ("Use pnpm", "Use pnpm 10, not npm."),
        ("Listening", "The server listens on port 8080, see connect.rs."),
        ("Release", "To release: `cargo xtask release --draft`"),
        ("Release", "To release: `cargo xtask release`, then push the tag by hand, because CI has no key."),
        ("Fixtures", "The snapshot tests of the parser run before the fixtures are made by just."),
        ("Parser", "The parser keeps rows of logs that have no harbour."),
        ("Tests", "Tests."),
    ] {
        assert!(!is_said(title, text), "{title}: {text}");
    }
}

#[test]
fn a_lesson_that_says_the_opposite_of_a_rule_is_new() {
    assert!(is_said("Commits", "Never commit to main."));
    assert!(!is_said("Commits", "Commit to main."));
    assert!(!is_said("Port", "The server never listens on port 8080."));
    assert!(!is_said_of_kind("Port", "The server listens on port 8080.", MemoryKind::Fails), "it is a warning");
    assert!(is_said_of_kind("Commits", "Never commit to main.", MemoryKind::Fails));
}

#[test]
fn passages_are_paragraphs_and_entries_with_their_code_under_their_heading() {
    let blocks: Vec<String> =
        blocks(RULES).into_iter().map(|(heading, body)| format!("{heading}: {}", body.trim())).collect();
    assert_eq!(
        blocks,
        [
            "Working here: This is a parser for harbour logs.",
            "Tests: - Run `just fixtures` before the snapshot tests of the parser, or they fail with stale rows.",
            "Tests: - Never commit to main. Use pnpm 9, not npm.",
            "Tests: - The server listens on port 8080; see `src/server/listen.rs`.",
            "Tests: To release:\ncargo xtask release --sign",
            "Tests: @docs/more.md",
        ]
    );
}

proptest! {
    #[test]
    fn a_sentence_is_in_the_file_that_it_is_taken_from(
        before in "[a-z ]{0,40}", rule in "[a-z]{4,9}( [a-z]{4,9}){4,12}", after in "[a-z ]{0,40}",
    ) {
        let file = RuleFile::new("AGENTS.md".to_owned(), &format!("{before}\n\n- {rule}\n\n{after}"));
        let sought = SoughtLesson::of(&lesson("", &rule, MemoryKind::Works));
        prop_assume!(sought.words.len() >= WORDS_MIN);
        let found = rule_file_saying(&lesson("", &rule, MemoryKind::Works), [&file]);
        prop_assert!(found.is_some());
    }

    #[test]
    fn whatever_it_says_a_lesson_with_a_name_that_the_file_lacks_is_new(
        rules in "(([a-z]{1,9}|`[a-z ]{1,9}`|[0-9]{1,4}|#|-|\\n)[ \\n]){0,60}", name in "[a-z]{3,8}(_[a-z]{2,5}|[.][a-z]{2}|[0-9]{5})",
        place in 0_usize..20,
    ) {
        let file = RuleFile::new("AGENTS.md".to_owned(), &rules);
        let mut said: Vec<&str> = rules.split_whitespace().collect();
        said.insert(place.min(said.len()), &name);
        prop_assert!(rule_file_saying(&lesson("", &said.join(" "), MemoryKind::Works), [&file]).is_none());
    }

    #[test]
    fn any_text_can_be_read(text in "\\PC{0,300}", more in "(\\PC|[\\n#`*.-]){0,300}") {
        let file = RuleFile::new("AGENTS.md".to_owned(), &format!("{text}{more}"));
        let _ = rule_file_saying(&lesson(&text, &more, MemoryKind::Fact), [&file]);
    }
}
