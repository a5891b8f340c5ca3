//! Lines unlike the others: in a long output, those show where something happened.
//!
//! Lines are compared in several respects: by each of their first words, by their last word, and by the look of the
//! whole line. If nearly all lines are alike in one respect, those that are like no other are odd; and the fewer odd
//! ones there are, the more they say.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher, Hasher};

use super::kept_lines::{KeptLines, LINE_CHARS_MAX};
use super::marks::head;

/// Most characters that odd lines take.
const ODD_CHARS_MAX: usize = 600;
/// In a shorter text no form is usual, so no line is odd.
const ODD_LINES_MIN: usize = 30;
/// A form that this many lines share is usual.
const USUAL_LINES_MIN: usize = 5;
/// A respect counts only if at most one line in this many is not usual in it.
const UNUSUAL_SHARE: usize = 10;
/// If more lines than this are odd in one respect, none of them is.
const ODD_LINES_MAX: usize = 12;
/// How many words at the front of a line are compared.
const WORDS_MAX: usize = 8;
const WORD_CHARS_MAX: usize = 24;
/// The first words, the last word, and the look of the whole line.
const RESPECTS: usize = WORDS_MAX + 2;

/// Keeps the lines that are unlike the others, first those of the respect with the fewest.
pub(super) fn keep_odd(kept: &mut KeptLines<'_>) {
    let lines = kept.lines().len();
    if lines < ODD_LINES_MIN {
        return;
    }
    let forms: Vec<[u64; RESPECTS]> = (0..lines).map(|at| forms_of(kept.text(at))).collect();
    let mut found: Vec<Vec<usize>> = (0..RESPECTS).filter_map(|respect| odd_in(&forms, respect)).collect();
    found.sort_by_key(Vec::len);
    let mut share = kept.share(ODD_CHARS_MAX);
    for at in found.into_iter().flatten() {
        kept.take(&mut share, at..at + 1);
    }
}

/// The lines that are odd in one respect; `None` if there are none, or too many.
fn odd_in(forms: &[[u64; RESPECTS]], respect: usize) -> Option<Vec<usize>> {
    let mut counts: HashMap<u64, usize, BuildHasherDefault<DefaultHasher>> = HashMap::default();
    let of = |at: usize| forms[at][respect];
    (0..forms.len()).filter(|at| of(*at) != 0).for_each(|at| *counts.entry(of(at)).or_default() += 1);
    let all: usize = counts.values().sum();
    let unusual: usize = counts.values().filter(|lines| **lines < USUAL_LINES_MIN).sum();
    if all < ODD_LINES_MIN || unusual * UNUSUAL_SHARE > all {
        return None;
    }
    let odd: Vec<usize> = (0..forms.len()).filter(|at| counts.get(&of(*at)) == Some(&1)).collect();
    (1..=ODD_LINES_MAX).contains(&odd.len()).then_some(odd)
}

/// A hash of a line's form in each respect; zero where it has nothing to compare.
fn forms_of(line: &str) -> [u64; RESPECTS] {
    let line = head(line, LINE_CHARS_MAX);
    let mut forms = [0; RESPECTS];
    let mut last = 0;
    for (at, word) in line.split_whitespace().enumerate() {
        last = form_of(word);
        if at < WORDS_MAX {
            forms[at] = last;
        }
    }
    forms[WORDS_MAX] = last;
    forms[WORDS_MAX + 1] = look_of(line);
    forms
}

/// A hash of a word with each run of digits as one, so that words which differ by figures alone are alike.
fn form_of(word: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    let mut before = ' ';
    for c in word.chars().take(WORD_CHARS_MAX) {
        let c = if c.is_ascii_digit() { '0' } else { c };
        if c != '0' || before != '0' {
            hasher.write_u32(c as u32);
        }
        before = c;
    }
    hasher.finish() | 1
}

/// A hash of a line's look: where it has words and figures, and the signs between them.
pub(super) fn look_of(line: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    let mut before = '\0';
    for c in line.trim().chars() {
        let c = match c {
            c if c.is_alphanumeric() || c == '_' => 'a',
            c if c.is_whitespace() => ' ',
            c => c,
        };
        if c != before {
            hasher.write_u32(c as u32);
        }
        before = c;
    }
    if before == '\0' { 0 } else { hasher.finish() | 1 }
}
