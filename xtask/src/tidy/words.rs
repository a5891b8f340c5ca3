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
const DOCUMENTS: [&str; 3] = [".md", "default.toml", "recipes/"];

/// Retired words in one file: in the comments and names of code, in all of a document.
pub fn problems(file: &SourceFile) -> Vec<String> {
    let is_code = file.path.ends_with(".rs");
    let is_document = DOCUMENTS.iter().any(|part| file.path.contains(part));
    if file.path.starts_with(OWN_FILES) || !(is_code || is_document) {
        return Vec::new();
    }
    let is_text = |line: &str| is_document || line.trim_start().starts_with("//");
    let lines = file.text.lines().enumerate().filter(|(_, line)| is_text(line));
    let in_lines = lines.flat_map(|(index, line)| in_text(line).map(move |word| (index + 1, word)));
    let words = if is_code { file.words() } else { &[] };
    let in_names = words.iter().flat_map(|word| in_text(&words_of(&word.text)).map(|found| (word.line, found)));
    in_lines.chain(in_names).map(|found| problem(&file.path, found)).collect()
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
fn in_text(line: &str) -> impl Iterator<Item = Retired> {
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
