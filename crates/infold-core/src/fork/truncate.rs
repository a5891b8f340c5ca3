//! Cutting one text: which part stays, and how the cut is marked.
//!
//! What stays of the text has exactly as many characters as the limit allows; the marker comes on
//! top. Nothing is cut inside a character.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::constants::{FORK_ERROR_PATTERNS, FORK_HEAD_RATIO, FORK_HEAD_TAIL_KEYWORDS, FORK_TAIL_RATIO};

/// Which part of a text stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// The beginning takes the whole limit.
    HeadOnly,
    /// Beginning and end share the limit ([`super::FORK_HEAD_RATIO`]).
    HeadTail,
}

static ERRORS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| AhoCorasick::new(FORK_ERROR_PATTERNS).ok());

impl Method {
    /// The method for a tool's result. Terminals and failures say at the end how it went, so both ends of these stay.
    pub fn for_result(tool: &str, text: &str) -> Self {
        let tool = tool.to_lowercase();
        if FORK_HEAD_TAIL_KEYWORDS.iter().any(|keyword| tool.contains(keyword)) || names_an_error(text) {
            Self::HeadTail
        } else {
            Self::HeadOnly
        }
    }

    /// How many characters of a limit go to the head and to the tail.
    pub(super) fn shares(self, limit: usize) -> (usize, usize) {
        let share = |ratio: f64| (limit as f64 * ratio).floor() as usize;
        match self {
            Self::HeadOnly => (limit, 0),
            Self::HeadTail => (share(FORK_HEAD_RATIO), share(FORK_TAIL_RATIO)),
        }
    }
}

fn names_an_error(text: &str) -> bool {
    match &*ERRORS {
        Some(patterns) => patterns.is_match(text),
        None => FORK_ERROR_PATTERNS.iter().any(|pattern| text.contains(pattern)),
    }
}

/// A text, or both ends of one that is too long to be held, with the length that it really has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Excerpt {
    head: String,
    /// The end, where `head` is not the whole text.
    tail: Option<String>,
    chars: usize,
}

impl Excerpt {
    /// The whole text, unless it is longer than `whole_chars_max`: then both ends, with at least
    /// what a cut to `limit` characters needs.
    pub fn new(mut text: String, whole_chars_max: usize, limit: usize) -> Self {
        let chars = count(&text);
        let tail_chars = Method::HeadTail.shares(limit).1;
        if chars <= whole_chars_max.max(limit + tail_chars) {
            text.shrink_to_fit();
            return Self { head: text, tail: None, chars };
        }
        Self { head: head(&text, limit).to_owned(), tail: Some(tail(&text, tail_chars).to_owned()), chars }
    }

    /// Length of the text before anything was cut.
    pub fn chars(&self) -> usize {
        self.chars
    }

    /// Lets go of what a cut to `limit` characters does not need.
    pub fn shrink(&mut self, limit: usize, method: Method) {
        if self.chars <= limit {
            return;
        }
        let (head_chars, tail_chars) = method.shares(limit);
        let end = tail(self.tail.as_ref().unwrap_or(&self.head), tail_chars).to_owned();
        self.head = head(&self.head, head_chars).to_owned();
        self.tail = Some(end);
    }

    /// The text, cut to a limit if it is longer.
    pub fn cut(&self, limit: usize, method: Method) -> String {
        if self.chars <= limit {
            return self.head.clone();
        }
        join(&self.head, self.tail.as_ref().unwrap_or(&self.head), self.chars, limit, method)
    }

    #[cfg(test)]
    pub fn held_bytes(&self) -> usize {
        self.head.capacity() + self.tail.as_ref().map_or(0, String::capacity)
    }
}

/// Cuts a text to a limit, in characters; `None` if it is not longer than that.
pub fn truncate(text: &str, limit: usize, method: Method) -> Option<String> {
    // No text has more characters than bytes.
    if text.len() <= limit {
        return None;
    }
    let chars = count(text);
    (chars > limit).then(|| join(text, text, chars, limit, method))
}

/// The length of a text once it is cut to a limit, with the marker.
pub(super) fn truncated_chars(chars: usize, limit: usize, method: Method) -> usize {
    if chars <= limit {
        return chars;
    }
    let (head_chars, tail_chars) = method.shares(limit);
    head_chars + tail_chars + count(&marker(chars - head_chars - tail_chars, method))
}

fn join(start: &str, end: &str, chars: usize, limit: usize, method: Method) -> String {
    let (head_chars, tail_chars) = method.shares(limit);
    let marker = marker(chars - head_chars - tail_chars, method);
    [head(start, head_chars), &marker, tail(end, tail_chars)].concat()
}

fn marker(cut_chars: usize, method: Method) -> String {
    match method {
        Method::HeadOnly => format!("\n...[truncated {cut_chars} chars]..."),
        Method::HeadTail => format!("\n...[truncated {cut_chars} chars]...\n"),
    }
}

/// The number of characters of a text.
pub(super) fn count(text: &str) -> usize {
    text.chars().count()
}

/// The first characters of a text.
pub(super) fn head(text: &str, chars: usize) -> &str {
    match text.char_indices().nth(chars) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

/// The last characters of a text.
pub(super) fn tail(text: &str, chars: usize) -> &str {
    let Some(last) = chars.checked_sub(1) else { return "" };
    match text.char_indices().nth_back(last) {
        Some((start, _)) => &text[start..],
        None => text,
    }
}
