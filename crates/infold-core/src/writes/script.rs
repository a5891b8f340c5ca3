//! Scripts that call tools, as in Codex's code mode: the commands and patches are string literals in the script.

use super::{PATCH, added, shell};

/// What a script would write. If one of its literals is a command that can write, all of them may be part of it.
pub(super) fn written(script: &str) -> Vec<String> {
    let texts = texts(script);
    let (patches, others): (Vec<String>, Vec<String>) = texts.into_iter().partition(|text| text.contains(PATCH));
    let can_write = others.iter().any(|text| !shell::written(text).is_empty() && is_command(text));
    let mut written: Vec<String> = patches.iter().map(|patch| added(patch)).collect();
    if can_write || script.contains("apply_patch") {
        written.extend(others);
    }
    written
}

/// Whether a literal may be a command: it has more than one word, unlike names of tools and files.
fn is_command(text: &str) -> bool {
    text.trim().contains(char::is_whitespace)
}

/// The string literals in a script, without their quotes.
fn texts(script: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut chars = script.chars();
    while let Some(opening) = chars.next() {
        if !matches!(opening, '"' | '\'' | '`') {
            continue;
        }
        let mut text = String::new();
        while let Some(c) = chars.next() {
            match c {
                '\\' => text.extend(chars.next().map(unescaped)),
                c if c == opening => break,
                c => text.push(c),
            }
        }
        found.push(text);
    }
    found
}

fn unescaped(c: char) -> char {
    match c {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        other => other,
    }
}
