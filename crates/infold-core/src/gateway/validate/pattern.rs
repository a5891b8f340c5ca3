//! Patterns of schemas. They are written for JavaScript, so only those are tried that mean the same here; the others,
//! and those that are too long, restrain nothing.

use std::collections::HashMap;

use regex::{Regex, RegexBuilder};

/// Characters of a pattern.
const PATTERN_BYTES_MAX: usize = 1_000;

/// Bytes that a compiled pattern may take, which bounds the time that compiling takes.
const COMPILED_BYTES_MAX: usize = 256 * 1024;

/// Bytes of a text that is searched.
const TEXT_BYTES_MAX: usize = 64 * 1024;

/// Patterns that are compiled for one check.
const PATTERNS_MAX: usize = 32;

/// What a search costs at least, in steps of work.
const STEPS_MIN: usize = 50;

/// Bytes of a pattern, times those of a text, that count as one step.
const STEP_BYTES: usize = 10_000;

/// Patterns that were compiled, each once; `None` for what cannot be read.
#[derive(Default)]
pub struct Patterns {
    compiled: HashMap<String, Option<Regex>>,
}

impl Patterns {
    /// What it costs to hold a pattern against a text.
    pub fn cost(pattern: &str, text: &str) -> usize {
        if pattern.len() > PATTERN_BYTES_MAX || text.len() > TEXT_BYTES_MAX {
            return 1;
        }
        STEPS_MIN + pattern.len() * text.len() / STEP_BYTES
    }

    /// Whether the pattern is found in the text; `None` if nobody can say.
    pub fn fits(&mut self, pattern: &str, text: &str) -> Option<bool> {
        if pattern.len() > PATTERN_BYTES_MAX || text.len() > TEXT_BYTES_MAX {
            return None;
        }
        if self.compiled.len() >= PATTERNS_MAX && !self.compiled.contains_key(pattern) {
            return None;
        }
        let compiled = self.compiled.entry(pattern.to_owned()).or_insert_with(|| compile(pattern));
        compiled.as_ref().map(|regex| regex.is_match(text))
    }
}

fn compile(pattern: &str) -> Option<Regex> {
    if !means_the_same(pattern) {
        return None;
    }
    RegexBuilder::new(pattern)
        .size_limit(COMPILED_BYTES_MAX)
        .dfa_size_limit(COMPILED_BYTES_MAX)
        .nest_limit(50)
        .build()
        .ok()
}

/// Whether a pattern has nothing that both languages read and read differently: classes inside of classes and operations
/// on them, flags in the middle, negated shorthands (which know only ASCII there), and ends of texts.
fn means_the_same(pattern: &str) -> bool {
    let mut in_class = false;
    let mut before = ' ';
    let mut characters = pattern.chars();
    while let Some(c) = characters.next() {
        match c {
            '\\' => {
                let escaped = characters.next();
                if matches!(escaped, Some('D' | 'W' | 'b' | 'B' | 'A' | 'z' | 'a' | '<' | '>' | 'Z')) {
                    return false;
                }
            }
            '[' if in_class => return false,
            '[' => in_class = true,
            ']' => in_class = false,
            '&' | '-' | '~' if in_class && before == c => return false,
            '?' if before == '(' => {
                let rest = characters.as_str();
                let is_group = rest.starts_with(':') || rest.starts_with('<');
                if !is_group {
                    return false;
                }
            }
            _ => {}
        }
        before = c;
    }
    true
}
