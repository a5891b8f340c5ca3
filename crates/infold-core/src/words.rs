//! Takes texts apart into the words by which tools and memories are found.
//!
//! `getHTTPUser_v2` has the words `get`, `http`, `user`, `v` and `2`, each without its ending. Where letters of several
//! kinds are written as one (`GitHub`, `s3`), the whole is a word too: people write it in one way or the other. Scripts
//! without spaces give pairs of neighbouring characters. What says nothing about a subject (`the`, `please`) is left out.

use crate::stem::stem;

/// Longer words are left out: they are data, not language.
const WORD_BYTES_MAX: usize = 64;

/// What says nothing about a subject, in order.
const LEFT_OUT: [&str; 87] = [
    "a", "also", "am", "an", "and", "are", "as", "at", "be", "been", "being", "but", "by", "can", "could", "did", "do",
    "does", "each", "for", "from", "had", "has", "have", "he", "her", "here", "him", "his", "how", "i", "if", "in",
    "into", "is", "it", "its", "let", "may", "me", "might", "must", "my", "need", "of", "on", "or", "other", "our",
    "please", "s", "shall", "she", "should", "so", "such", "t", "than", "that", "the", "their", "them", "then",
    "there", "these", "they", "this", "those", "to", "use", "used", "using", "want", "was", "we", "were", "what",
    "when", "where", "which", "while", "who", "will", "with", "would", "you", "your",
];

/// A word of a text, in lower case and without its ending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SearchWord {
    /// The word.
    pub text: String,
    /// Whether it is one word, or several that were written as one.
    pub extent: WordExtent,
}

/// How much of what is written in one a word is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WordExtent {
    /// All that there is, or one of its parts.
    Part,
    /// Parts that are words too.
    Whole,
}

/// The words of a text, in order, as often as they occur.
pub(crate) fn words(text: &str) -> Vec<SearchWord> {
    let mut words = Vec::new();
    for run in text.split(|c: char| !c.is_alphanumeric()).filter(|run| !run.is_empty()) {
        add_run(run, &mut words);
    }
    words
}

/// Adds the words of a run of letters and digits.
fn add_run(run: &str, words: &mut Vec<SearchWord>) {
    let (mut rest, mut parts, mut has_pairs) = (run, 0, false);
    while !rest.is_empty() {
        let (part, kind) = first_part(rest);
        rest = &rest[part.len()..];
        parts += 1;
        if kind == Letter::Unspaced {
            has_pairs = true;
            add_pairs(part, words);
        } else {
            add(part, WordExtent::Part, words);
        }
    }
    if parts > 1 && !has_pairs {
        add(run, WordExtent::Whole, words);
    }
}

fn add(written: &str, extent: WordExtent, words: &mut Vec<SearchWord>) {
    if written.len() > WORD_BYTES_MAX {
        return;
    }
    let mut text = written.to_lowercase();
    if LEFT_OUT.binary_search(&text.as_str()).is_err() {
        stem(&mut text);
        words.push(SearchWord { text, extent });
    }
}

/// Adds each character with the next one; one that is alone by itself.
fn add_pairs(part: &str, words: &mut Vec<SearchWord>) {
    let starts: Vec<usize> = part.char_indices().map(|(at, _)| at).chain([part.len()]).collect();
    let pairs: Vec<&[usize]> = if starts.len() > 2 { starts.windows(3).collect() } else { vec![&starts] };
    words.extend(pairs.iter().filter_map(|pair| {
        let text = part[*pair.first()?..*pair.last()?].to_owned();
        Some(SearchWord { text, extent: WordExtent::Part })
    }));
}

/// What a character is to the parts of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Letter {
    Upper,
    Lower,
    Digit,
    /// Of a script that is written without spaces between words.
    Unspaced,
}

impl Letter {
    fn of(c: char) -> Self {
        match c {
            _ if c.is_numeric() => Self::Digit,
            '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' => Self::Unspaced,
            '\u{20000}'..='\u{3ffff}' => Self::Unspaced,
            _ if c.is_uppercase() => Self::Upper,
            _ => Self::Lower,
        }
    }
}

/// The first part of a run that is not empty, and what it begins with.
fn first_part(run: &str) -> (&str, Letter) {
    let mut letters = run.char_indices().map(|(at, c)| (at, Letter::of(c)));
    let first = letters.next().map_or(Letter::Lower, |(_, letter)| letter);
    let end_of = |wanted: Letter, from: usize| {
        let behind = run[from..].char_indices().find(|(_, c)| Letter::of(*c) != wanted);
        behind.map_or(run.len(), |(at, _)| from + at)
    };
    let end = end_of(first, 0);
    if first != Letter::Upper {
        return (&run[..end], first);
    }
    let lower_end = end_of(Letter::Lower, end);
    let capitals = run[..end].char_indices();
    let end = match capitals.last() {
        _ if lower_end == end => end,
        // `URLs`: several of what the capitals say.
        _ if &run[end..lower_end] == "s" => lower_end,
        // `HTTPUser`: the last capital begins the next part.
        Some((last, _)) if last > 0 => last,
        _ => lower_end,
    };
    (&run[..end], first)
}

#[cfg(test)]
mod tests;
