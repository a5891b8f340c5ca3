//! Picks the sentences of a report that somebody else could use.
//!
//! A report says what was done and what is so. What is of use later names files, or says why, must, instead, only;
//! what begins with "let me" or "now I" tells a story. Code, rules and empty lines are left out.

use super::files::{has_ending, last_parts, paths_in};

/// Shorter sentences say too little, longer ones are lists or output.
const SENTENCE_CHARS: std::ops::RangeInclusive<usize> = 30..=320;
/// What is read of a report.
const REPORT_BYTES_MAX: usize = 32_768;
/// The first sentences are more likely to be the answer.
const FIRST: usize = 6;
/// What a sentence needs at least.
const WORTH_MIN: f64 = 0.6;

/// Words that tell what is so and why, in order.
const TELLING: [&str; 37] = [
    "always",
    "because",
    "broken",
    "calls",
    "cause",
    "caused",
    "causes",
    "default",
    "defined",
    "error",
    "fail",
    "failed",
    "fails",
    "fix",
    "fixed",
    "handles",
    "important",
    "instead",
    "lives",
    "located",
    "must",
    "need",
    "needed",
    "needs",
    "never",
    "note",
    "only",
    "require",
    "required",
    "requires",
    "returns",
    "so",
    "unless",
    "use",
    "used",
    "uses",
    "without",
];
/// How sentences begin that tell a story.
const STORY: [&str; 14] = [
    "all ", "done", "great", "here are", "here is", "here's", "i have", "i will", "i'll", "i've", "let me", "let's",
    "now ", "perfect",
];

/// The sentences that are worth most, in the order of the text, with at most so many characters in all. Empty if none is
/// worth anything.
pub(super) fn choose(report: &str, chars_max: usize) -> String {
    let report = &report[..report.floor_char_boundary(REPORT_BYTES_MAX)];
    let sentences = sentences(report);
    let mut by_worth: Vec<(f64, usize)> =
        sentences.iter().enumerate().map(|(at, sentence)| (worth(sentence, at), at)).collect();
    by_worth.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));

    let (mut chosen, mut chars) = (Vec::new(), 0);
    for (worth, at) in by_worth {
        let more = sentences[at].chars().count() + usize::from(chars > 0);
        if worth >= WORTH_MIN && chars + more <= chars_max {
            chars += more;
            chosen.push(at);
        }
    }
    chosen.sort_unstable();
    chosen.into_iter().map(|at| sentences[at].as_str()).collect::<Vec<_>>().join(" ")
}

fn worth(sentence: &str, place: usize) -> f64 {
    let lower = sentence.to_lowercase();
    let paths = paths_in(sentence).filter(|path| has_ending(last_parts(path, 1))).count().min(2);
    let mut telling: Vec<&str> = lower.split(|c: char| !c.is_alphanumeric()).collect();
    telling.sort_unstable();
    telling.dedup();
    let telling = telling.into_iter().filter(|word| TELLING.binary_search(word).is_ok()).count();
    let story = if STORY.iter().any(|begin| lower.starts_with(begin)) { 2.0 } else { 0.0 };
    let first = if place < FIRST { 1.0 } else { 0.0 };
    1.2 * paths as f64 + 0.8 * telling as f64 + first - story
}

/// The sentences of a report, without marks of lists and headings, each once; none of what is inside a block of code.
fn sentences(report: &str) -> Vec<String> {
    let (mut sentences, mut in_code) = (Vec::<String>::new(), false);
    for line in report.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
            continue;
        }
        if in_code {
            continue;
        }
        for sentence in split(&plain(line)) {
            let is_new = !sentences.iter().any(|known| known == sentence);
            if SENTENCE_CHARS.contains(&sentence.chars().count()) && is_new {
                sentences.push(sentence.to_owned());
            }
        }
    }
    sentences
}

/// A line without the marks of Markdown, with single blanks.
fn plain(line: &str) -> String {
    let line = line.trim().trim_start_matches(['#', '>', '-', '*', '+', '•', ' ']);
    let unmarked = line.replace("**", "").replace("__", "").replace('|', " ");
    unmarked.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The sentences of a line: each ends with a mark that a blank follows.
fn split(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.match_indices(' ').find(|(at, _)| rest[..*at].ends_with(['.', '!', '?', ':', '。']));
        let (sentence, behind) = end.map_or((rest, ""), |(at, _)| (&rest[..at], &rest[at + 1..]));
        rest = behind;
        Some(sentence.trim())
    })
}

#[cfg(test)]
mod tests;
