//! Lines unlike the others: in a long output, those are where something happened.
//!
//! Lines are compared word by word: by each of the first few, by the last one, and by what they look like as a
//! whole. Where nearly all lines are like many others in that respect, those that are like none are odd; and the
//! fewer odd ones there are, the more they tell.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher, Hasher};

use super::kept::{KeptLines, LINE_CHARS_MAX};
use super::marks::head;

/// Odd lines take at most so many characters.
const ODD_CHARS_MAX: usize = 600;
/// Fewer lines have no usual form that a line could be unlike.
const ODD_LINES_MIN: usize = 30;
/// What so many lines have in common is usual.
const USUAL_LINES_MIN: usize = 5;
/// Words are compared in this respect if at most one line in so many is not usual.
const UNUSUAL_SHARE: usize = 10;
/// More lines than this are not odd together.
const ODD_LINES_MAX: usize = 12;
/// So many words at the front of a line are looked at.
const WORDS_MAX: usize = 8;
const WORD_CHARS_MAX: usize = 24;
/// The last word, and the look of the whole line, are looked at after these.
const RESPECTS: usize = WORDS_MAX + 2;

/// Keeps the lines that are unlike the others, those of the most telling respect first.
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

/// The lines that are odd in one respect, if that respect tells anything.
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

/// What a line is like in each respect; zero where it has nothing to compare.
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

/// A word with each run of digits as one, so that words which differ by figures alone are alike.
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

/// What a line looks like: words, figures and what stands between them.
fn look_of(line: &str) -> u64 {
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
