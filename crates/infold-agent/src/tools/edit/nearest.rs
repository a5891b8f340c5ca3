//! Finds the lines of a file that are most like a text which is not in it.

use std::collections::HashSet;

/// Lines of the text that are compared.
const COMPARED_LINES_MAX: usize = 40;
/// Comparisons of two lines in one search. Above, only the text's first lines are compared.
const COMPARISONS_MAX: usize = 400_000;
/// How much of its lines a place must have in common with the text to be worth showing, in percent.
const LIKENESS_PERCENT_MIN: usize = 30;
/// The likeness of two lines that are the same.
const SAME: usize = 100;

/// The first and the last line, counted from 1, of the place that is most like a text; `None` if no place is.
pub(super) fn lines(text: &str, wanted: &str) -> Option<(usize, usize)> {
    let in_file: Vec<LineWords> = text.lines().map(LineWords::of).collect();
    let full: Vec<LineWords> = wanted.lines().map(LineWords::of).collect();
    let start = full.iter().position(|line| !line.words.is_empty())?;
    let compared_max = (COMPARISONS_MAX / in_file.len().max(1)).clamp(1, COMPARED_LINES_MAX);
    let wanted: Vec<&LineWords> = full[start..].iter().take(compared_max).collect();
    let likeness_at =
        |at: usize| -> usize { wanted.iter().zip(&in_file[at..]).map(|(one, other)| one.likeness(other)).sum() };
    // Of equal places the first one.
    let (at, likeness) = (0..in_file.len())
        .map(|at| (at, likeness_at(at)))
        .reduce(|best, next| if next.1 > best.1 { next } else { best })?;
    let enough = likeness * 100 >= wanted.len() * SAME * LIKENESS_PERCENT_MIN;
    enough.then(|| (at + 1, (at + full.len() - start).min(in_file.len())))
}

/// The words of a line.
struct LineWords<'a> {
    trimmed: &'a str,
    words: HashSet<&'a str>,
}

impl<'a> LineWords<'a> {
    fn of(line: &'a str) -> Self {
        let is_between = |c: char| !c.is_alphanumeric() && c != '_';
        Self { trimmed: line.trim(), words: line.split(is_between).filter(|word| !word.is_empty()).collect() }
    }

    /// How much two lines have in common, in percent: twice the shared words of all words.
    fn likeness(&self, other: &Self) -> usize {
        if self.trimmed == other.trimmed {
            return SAME;
        }
        let all = self.words.len() + other.words.len();
        let shared = self.words.intersection(&other.words).count();
        (2 * shared * SAME).checked_div(all).unwrap_or_default()
    }
}
