//! What stands below the options in `--help`: paragraphs, and examples with what each is for.
//!
//! Both are made for the terminal that they are read on. Paragraphs are one line each, which clap breaks; examples
//! are laid out here, because a command that is broken like prose cannot be told from the next.

use std::fmt::Write as _;

use crate::draw::{columns, wrapped};

/// Columns that help has at most, and where there is no terminal.
pub const COLUMNS_MAX: usize = 100;
/// What stands between a command and what it is for.
const GAP: usize = 2;
const INDENT: &str = "  ";
/// In front of what belongs to the command above.
const BELOW: &str = "      ";

/// Paragraphs, and examples: a command, and what it is for unless that is plain.
pub fn text(paragraphs: &[&str], examples: &[(&str, &str)]) -> String {
    let mut parts: Vec<String> = paragraphs.iter().map(|paragraph| (*paragraph).to_owned()).collect();
    if !examples.is_empty() {
        let heading = if examples.len() == 1 { "Example:" } else { "Examples:" };
        parts.push(format!("{heading}\n{}", laid_out(examples, columns_here())));
    }
    parts.join("\n\n")
}

/// Commands, or other terms, with what they are for.
pub fn list(heading: &str, terms: &[(&str, &str)]) -> String {
    format!("{heading}\n{}", laid_out(terms, columns_here()))
}

/// Columns that clap breaks its own text at: the same, or the parts would not fit together.
fn columns_here() -> usize {
    let seen = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    let told = || std::env::var("COLUMNS").ok()?.parse().ok();
    seen.or_else(told).unwrap_or(COLUMNS_MAX).min(COLUMNS_MAX)
}

/// In two columns if they fit, else with what a command is for on a line of its own.
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

/// A command that is longer than a line.
fn broken(text: &mut String, term: &str, columns_max: usize) {
    let leads = std::iter::once(INDENT).chain(std::iter::repeat(BELOW));
    for (lead, line) in leads.zip(wrapped(term, columns_max.saturating_sub(BELOW.len()))) {
        let _ = writeln!(text, "{lead}{line}");
    }
}

#[cfg(test)]
mod tests;
