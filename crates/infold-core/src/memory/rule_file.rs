//! Rule files: what a client gives its model to read in every session, such as `CLAUDE.md`. A lesson that says nothing but
//! what such a file says is known already.
//!
//! A lesson is compared with one passage at a time: a paragraph, an entry of a list, or a sentence of either, each under
//! its heading. What must hold: a lesson that names a file, a command or a number that the passage does not name is not
//! in it, nor is one that says the opposite.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use super::merge::negations_in;
use super::{Lesson, MemoryKind};
use crate::words::words;

/// The share of a lesson's words that the passage has.
const WORDS_SHARE: f64 = 0.9;
/// The share of its pairs of neighbouring words that the passage has: `a before b` is not `b before a`.
const PAIRS_SHARE: f64 = 0.5;
/// A lesson of fewer words could be in any passage.
const WORDS_MIN: usize = 3;
/// Passages that are kept of one file.
const PASSAGES_MAX: usize = 2_000;
/// Words that add nothing to a rule.
const FILLERS: &str = "always ensure make sure remember note project repository repo codebase rule first";

static FILLER_STEMS: LazyLock<BTreeSet<String>> = LazyLock::new(|| stems(FILLERS).into_iter().collect());

/// What a rule file says.
#[derive(Debug, Clone)]
pub struct RuleFile {
    /// What people call it, such as `CLAUDE.md`.
    pub name: String,
    passages: Vec<Passage>,
}

#[derive(Debug, Clone)]
struct Passage {
    words: BTreeSet<String>,
    pairs: BTreeSet<(String, String)>,
    /// All that is between spaces, in order, as it is compared.
    tokens: Vec<String>,
    is_negated: bool,
}

/// A lesson as it is looked for in passages.
struct SoughtLesson {
    words: BTreeSet<String>,
    pairs: BTreeSet<(String, String)>,
    /// Files, flags, numbers and identifiers.
    names: BTreeSet<String>,
    /// Commands and other code, each as its tokens.
    code: Vec<Vec<String>>,
    negations: Vec<String>,
    is_negated: bool,
}

impl RuleFile {
    /// What a text of this name says.
    pub fn new(name: String, text: &str) -> Self {
        let mut passages = Vec::new();
        for (heading, body) in blocks(text) {
            let sentences = sentences(&body);
            if sentences.len() > 1 {
                passages.extend(sentences.iter().map(|sentence| Passage::of(&heading, sentence)));
            }
            passages.push(Passage::of(&heading, &body));
        }
        passages.truncate(PASSAGES_MAX);
        Self { name, passages }
    }
}

/// The first of these files that says all that a lesson says.
pub fn rule_file_saying<'a>(lesson: &Lesson, files: impl IntoIterator<Item = &'a RuleFile>) -> Option<&'a RuleFile> {
    let sought = SoughtLesson::of(lesson);
    files.into_iter().find(|file| file.passages.iter().any(|passage| passage.says(&sought)))
}

impl Passage {
    fn of(heading: &str, body: &str) -> Self {
        let text = format!("{heading}\n{body}");
        Self {
            words: stems(&text).into_iter().collect(),
            pairs: text.lines().flat_map(pairs).collect(),
            tokens: tokens(&text).map(|token| token.to_lowercase()).collect(),
            is_negated: is_negated(&negations_in(body)),
        }
    }

    fn says(&self, lesson: &SoughtLesson) -> bool {
        let has_words = lesson.words.len() >= WORDS_MIN && share(&lesson.words, &self.words) >= WORDS_SHARE;
        let has_code = |code: &Vec<String>| self.tokens.windows(code.len()).any(|row| row == code.as_slice());
        has_words
            && lesson.is_negated == self.is_negated
            && lesson.negations.iter().all(|word| self.words.contains(word))
            && share(&lesson.pairs, &self.pairs) >= PAIRS_SHARE
            && lesson.names.iter().all(|name| self.names(name))
            && lesson.code.iter().all(has_code)
    }

    /// Whether the passage has a name, or the path of a file that ends with it.
    fn names(&self, name: &str) -> bool {
        self.tokens
            .iter()
            .any(|token| token.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('/')))
    }
}

impl SoughtLesson {
    fn of(lesson: &Lesson) -> Self {
        let text = lesson.text();
        let text = text.as_str();
        let mut words: BTreeSet<String> = stems(text).into_iter().collect();
        words.retain(|word| !FILLER_STEMS.contains(word));
        // A title often says in other words what the lesson says: only the lesson tells whether it is negated.
        let negations = negations_in(lesson.lesson.as_str());
        let is_warning = lesson.kind == MemoryKind::Fails && negations.is_empty();
        Self {
            words,
            pairs: text.lines().flat_map(pairs).collect(),
            names: tokens(text).filter(|token| is_name(token)).map(str::to_lowercase).collect(),
            code: code_in(text),
            is_negated: is_warning || is_negated(&negations),
            negations,
        }
    }
}

/// Whether these words turn what is said into its opposite. Rules say what fails otherwise, which does not.
fn is_negated(negations: &[String]) -> bool {
    negations.iter().filter(|word| *word != "fail").count() % 2 == 1
}

fn share<T: Ord>(wanted: &BTreeSet<T>, there: &BTreeSet<T>) -> f64 {
    if wanted.is_empty() { 1.0 } else { wanted.intersection(there).count() as f64 / wanted.len() as f64 }
}

fn stems(text: &str) -> Vec<String> {
    words(text).into_iter().map(|word| word.text).collect()
}

/// Neighbouring words, without those that add nothing.
fn pairs(line: &str) -> Vec<(String, String)> {
    let mut stems = stems(line);
    stems.retain(|word| !FILLER_STEMS.contains(word));
    stems.windows(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect()
}

/// What is between spaces, without marks around it.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let marks = |c: char| {
        matches!(c, '.' | ',' | ';' | ':' | '!' | '?' | '(' | ')' | '[' | ']' | '{' | '}')
            || matches!(c, '"' | '\'' | '`' | '*' | '<' | '>' | '’' | '“' | '”')
    };
    text.split_whitespace()
        .map(move |token| token.trim_end_matches(marks).trim_start_matches(marks))
        .filter(|token| !token.is_empty())
}

/// Whether a token is more than a plain word: it has a digit, an inner capital, or a sign that words do not have.
fn is_name(token: &str) -> bool {
    let is_of_word = |c: char| c.is_alphabetic() || matches!(c, '-' | '\'' | '’');
    let has_inner_capital = token.chars().skip(1).any(char::is_uppercase) && token.chars().any(char::is_lowercase);
    token.starts_with('-') || has_inner_capital || !token.chars().all(is_of_word)
}

/// The code in a text: what is between backticks, as tokens.
fn code_in(text: &str) -> Vec<Vec<String>> {
    let inside = text.split('`').skip(1).step_by(2);
    let code = inside.map(|code| tokens(code).map(str::to_lowercase).collect::<Vec<_>>());
    code.filter(|code| !code.is_empty()).collect()
}

/// The paragraphs and entries of lists of a text, each with the heading that it is under. Code between fences belongs to
/// what is before it.
fn blocks(text: &str) -> Vec<(String, String)> {
    let (mut blocks, mut heading, mut body, mut is_fenced) = (Vec::new(), String::new(), String::new(), false);
    let mut end = |heading: &str, body: &mut String| {
        if !body.trim().is_empty() {
            blocks.push((heading.to_owned(), std::mem::take(body)));
        }
        body.clear();
    };
    let mut is_over = false;
    for line in text.lines() {
        let bare = line.trim();
        if bare.starts_with("```") || bare.starts_with("~~~") {
            is_fenced = !is_fenced;
            is_over = !is_fenced;
            continue;
        }
        if !is_fenced {
            if bare.is_empty() {
                is_over = true;
                continue;
            }
            if is_over || bare.starts_with('#') || is_entry(bare) {
                end(&heading, &mut body);
                is_over = false;
            }
            if bare.starts_with('#') {
                heading = bare.trim_start_matches('#').trim().to_owned();
                continue;
            }
        }
        body.push_str(bare);
        body.push('\n');
    }
    end(&heading, &mut body);
    blocks
}

/// Whether a line begins an entry of a list.
fn is_entry(line: &str) -> bool {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered = rest.len() < line.len() && (rest.starts_with(". ") || rest.starts_with(") "));
    is_numbered || ["- ", "* ", "+ ", "• "].iter().any(|mark| line.starts_with(mark))
}

fn sentences(body: &str) -> Vec<&str> {
    let (mut found, mut start) = (Vec::new(), 0);
    for (at, _) in body.match_indices(['.', '!', '?']) {
        if body[at + 1..].starts_with(char::is_whitespace) {
            found.push(&body[start..=at]);
            start = at + 1;
        }
    }
    found.push(&body[start..]);
    found.retain(|sentence| !sentence.trim().is_empty());
    found
}
