//! One word, one meaning: the glossary is short, and words that were retired because they said everything and nothing do
//! not come back, in comments, names or documents. What is inside quotes in the code is left alone: it may be stored,
//! sent or someone else's.

use super::documents::MAP;
use super::source_file::SourceFile;

#[cfg(test)]
mod tests;

/// The part of the map that is the glossary.
const GLOSSARY: &str = "## Words";

/// Words in the glossary, at most.
const WORDS_MAX: usize = 40;

/// Retired words, and what to write. Where a form is not in the list, it is an everyday word.
const RETIRED: [(&[&str], &str); 8] = [
    (&["stands", "stood", "standing"], "say what it does: is, comes after, replaces, applies"),
    (&["told", "untold"], "say what happens: is shown, gets, learns, is reported"),
    (&["sight"], "\"first seen\", \"visible\""),
    (&["heard", "unheard", "hears"], "say who has received which words"),
    (&["makeup"], "breakdown"),
    (&["settle", "settles", "settled"], "say what happens: fold, activate, wait for, decide"),
    (&["astray"], "wrong base URL"),
    (&["kept elsewhere", "moved out"], "offloaded"),
];

/// This file and its tests have to name the words.
const OWN_FILES: &str = "xtask/src/tidy/words";

/// Documents that people read.
const DOCUMENTS: [&str; 4] = [".md", "default.toml", "recipes/", "tests-clients/"];

/// Retired words in one file: in the comments and names of code, in all of a document.
pub fn problems(file: &SourceFile) -> Vec<String> {
    let is_code = file.path.ends_with(".rs");
    let is_document = DOCUMENTS.iter().any(|part| file.path.contains(part));
    if file.path.starts_with(OWN_FILES) || !(is_code || is_document) {
        return Vec::new();
    }
    let text_of = |line| if is_document { line } else { comment_in(line) };
    let lines = file.text.lines().enumerate();
    let in_lines = lines.flat_map(|(index, line)| in_text(text_of(line)).map(move |word| (index + 1, word)));
    let words = if is_code { file.words() } else { &[] };
    let in_names = words.iter().flat_map(|word| in_text(&words_of(&word.text)).map(|found| (word.line, found)));
    in_lines.chain(in_names).map(|found| problem(&file.path, found)).collect()
}

/// The comment of a line of code; empty if there is none. Behind an open quotation mark nothing is a comment.
fn comment_in(line: &str) -> &str {
    let begins = |at: &usize| line[..*at].matches('"').count().is_multiple_of(2);
    line.match_indices("//").map(|(at, _)| at).find(begins).map_or("", |at| &line[at..])
}

/// What is wrong with the glossary: too many words, or one that is there twice.
pub fn glossary_problems(files: &[SourceFile]) -> Vec<String> {
    let map = files.iter().find(|file| file.path == MAP).map_or("", |file| &file.text);
    let section = map.split(GLOSSARY).nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap_or_default();
    let rows = section.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| word "));
    let words: Vec<&str> = rows.filter_map(|row| row.split('|').nth(1)).map(str::trim).collect();
    let mut problems = Vec::new();
    if words.is_empty() || words.len() > WORDS_MAX {
        problems.push(format!("{MAP}: the glossary has {} words; 1 to {WORDS_MAX} are wanted", words.len()));
    }
    let single: Vec<&str> = words.iter().flat_map(|row| row.split(", ")).collect();
    let twice = single.iter().enumerate().filter(|(at, word)| single[..*at].contains(word));
    problems.extend(twice.map(|(_, word)| format!("{MAP}: the glossary has {word:?} twice")));
    problems
}

type Retired = (&'static str, &'static str);

fn problem(path: &str, (line, (word, instead)): (usize, Retired)) -> String {
    format!("{path}:{line}: \"{word}\" was retired; {instead}")
}

/// Retired words in a line of text.
fn in_text(line: &str) -> impl Iterator<Item = Retired> + use<> {
    let line = line.to_lowercase();
    let all = RETIRED.iter().flat_map(|(words, instead)| words.iter().map(move |word| (*word, *instead)));
    all.filter(move |(word, _)| {
        line.match_indices(word).any(|(at, _)| {
            let before = line[..at].chars().next_back();
            let after = line[at + word.len()..].chars().next();
            !before.is_some_and(is_of_word) && !after.is_some_and(is_of_word)
        })
    })
}

fn is_of_word(character: char) -> bool {
    character.is_alphanumeric() || character == '-'
}

/// `ScrubbedSight` and `scrubbed_sight` as words with spaces between them.
fn words_of(name: &str) -> String {
    let mut words = String::new();
    for character in name.chars() {
        if character.is_uppercase() || character == '_' {
            words.push(' ');
        }
        if character != '_' {
            words.push(character);
        }
    }
    words
}
