//! What is no secret although a rule's pattern says so: lists of patterns and words, as gitleaks has them.

use super::Pattern;

/// A find, with as much of its surroundings as an allow list may ask about.
#[derive(Debug)]
pub(in crate::scrub) struct Found<'t> {
    pub(in crate::scrub) secret: &'t [u8],
    /// All that the pattern matched.
    pub(in crate::scrub) whole: &'t [u8],
    /// The line, as far as it is near.
    pub(in crate::scrub) line: &'t [u8],
}

/// What an allow list's patterns are compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::scrub) enum AllowTarget {
    Secret,
    Match,
    Line,
}

/// Whether one of a list's conditions is enough, or all have to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::scrub) enum AllowCondition {
    One,
    All,
}

/// One list.
#[derive(Debug)]
pub(in crate::scrub) struct AllowList {
    pub(super) target: AllowTarget,
    pub(super) condition: AllowCondition,
    pub(super) patterns: Vec<Pattern>,
    /// Words, in lower case; one of them anywhere in the secret is enough.
    pub(super) words: Vec<String>,
    /// Values, compared whole.
    pub(super) values: Vec<String>,
}

impl AllowList {
    /// Whether the list says that this is no secret.
    pub(super) fn allows(&self, found: &Found<'_>) -> bool {
        let text = match self.target {
            AllowTarget::Secret => found.secret,
            AllowTarget::Match => found.whole,
            AllowTarget::Line => found.line,
        };
        let by_pattern = || self.patterns.iter().filter_map(Pattern::regex).any(|pattern| pattern.is_match(text));
        let by_word = || {
            let lower = found.secret.to_ascii_lowercase();
            self.words.iter().any(|word| memchr::memmem::find(&lower, word.as_bytes()).is_some())
        };
        let by_value = || self.values.iter().any(|value| value.as_bytes() == found.secret);
        match self.condition {
            AllowCondition::One => by_pattern() || by_word() || by_value(),
            AllowCondition::All => {
                !(self.patterns.is_empty() && self.words.is_empty())
                    && (self.patterns.is_empty() || by_pattern())
                    && (self.words.is_empty() || by_word())
            }
        }
    }
}
