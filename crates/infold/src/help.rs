//! The text below the options in `--help`: paragraphs, and examples with what each is for.
//!
//! Both fit the terminal that they are read on. Paragraphs are one line each, which clap breaks. Examples are laid out
//! here, because commands that are broken like prose would run into one another.

use std::fmt::Write as _;

use crate::draw::{columns, wrapped};

/// Most columns of a help text, and its columns where there is no terminal.
pub const COLUMNS_MAX: usize = 100;
/// Columns between a command and what it is for.
const GAP: usize = 2;
const INDENT: &str = "  ";
/// The indent of a line that belongs to the command above it.
const BELOW: &str = "      ";

/// Joins paragraphs and examples. An example is a command and what it is for, which may be empty if that is plain.
pub fn text(paragraphs: &[&str], examples: &[(&str, &str)]) -> String {
    let mut parts: Vec<String> = paragraphs.iter().map(|paragraph| (*paragraph).to_owned()).collect();
    if !examples.is_empty() {
        let heading = if examples.len() == 1 { "Example:" } else { "Examples:" };
        parts.push(format!("{heading}\n{}", laid_out(examples, columns_here())));
    }
    parts.join("\n\n")
}

/// A heading, and below it commands or other terms with what they mean.
pub fn list(heading: &str, terms: &[(&str, &str)]) -> String {
    format!("{heading}\n{}", laid_out(terms, columns_here()))
}

/// The columns at which clap breaks its own text. Examples are broken at the same ones, so that the parts fit together.
fn columns_here() -> usize {
    let of_terminal = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    let of_variable = || std::env::var("COLUMNS").ok()?.parse().ok();
    of_terminal.or_else(of_variable).unwrap_or(COLUMNS_MAX).min(COLUMNS_MAX)
}

/// Lays terms out in two columns if these fit; otherwise, a meaning is on a line below its term.
fn laid_out(terms: &[(&str, &str)], columns_max: usize) -> String {
    let explained = terms.iter().filter(|(_, meaning)| !meaning.is_empty());
    let term_columns = explained.clone().map(|(term, _)| columns(term)).max().unwrap_or(0);
    let meaning_columns = explained.map(|(_, meaning)| columns(meaning)).max().unwrap_or(0);
    let fits = INDENT.len() + term_columns + GAP + meaning_columns <= columns_max;

    let mut text = String::new();
    for (term, meaning) in terms {
        if fits && !meaning.is_empty() {
            let gap = " ".repeat(term_columns - columns(term) + GAP);
            let _ = writeln!(text, "{INDENT}{term}{gap}{meaning}");
            continue;
        }
        if columns(term) <= columns_max.saturating_sub(INDENT.len()) {
            let _ = writeln!(text, "{INDENT}{term}");
        } else {
            broken(&mut text, term, columns_max);
        }
        for line in wrapped(meaning, columns_max.saturating_sub(BELOW.len())) {
            let _ = writeln!(text, "{BELOW}{line}");
        }
    }
    text.truncate(text.trim_end().len());
    text
}

/// Appends a term that is longer than a line, broken between its words.
fn broken(text: &mut String, term: &str, columns_max: usize) {
    let leads = std::iter::once(INDENT).chain(std::iter::repeat(BELOW));
    for (lead, line) in leads.zip(wrapped(term, columns_max.saturating_sub(BELOW.len()))) {
        let _ = writeln!(text, "{lead}{line}");
    }
}

#[cfg(test)]
mod tests;
