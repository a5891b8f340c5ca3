//! Retired words are found in comments, names and documents, and nowhere else.

use super::{SourceFile, glossary_problems, problems};

fn check(path: &str, text: &str) -> Vec<String> {
    problems(&SourceFile::new(path.to_owned(), text.to_owned()))
}

#[test]
fn retired_words_are_found_in_comments_and_names() {
    let source = "//! It stands here.\nfn first_sight() { let x = \"it stands\"; }\n// A stand-in is fine, and so is hindsight.\nstruct UntoldWords;\n";

    let found: Vec<String> = check("a.rs", source)
        .into_iter()
        .map(|line| line.split(" was").next().unwrap_or_default().to_owned())
        .collect();

    assert_eq!(found, ["a.rs:1: \"stands\"", "a.rs:2: \"sight\"", "a.rs:4: \"untold\""]);
}

#[test]
fn documents_are_read_whole_and_other_files_are_not() {
    assert_eq!(check("README.md", "A result kept elsewhere.").len(), 1);
    assert!(check("fixtures/a.jsonl", "A result kept elsewhere.").is_empty());
}

#[test]
fn a_word_is_explained_once() {
    let map = "## Words\n| word | means |\n|---|---|\n| fold | the end |\n| plan, fold | what to do |\n\n## Next\n| x | y |\n";
    let files = [SourceFile::new("ARCHITECTURE.md".to_owned(), map.to_owned())];

    assert_eq!(glossary_problems(&files), ["ARCHITECTURE.md: the glossary has \"fold\" twice"]);
}
