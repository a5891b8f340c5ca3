//! Finds secrets: keywords first, then the patterns of the rules whose keywords occur.
//!
//! Most text holds no keyword and costs one pass. Patterns match bytes, without Unicode, which is an order of magnitude
//! faster and finds the same, because tokens are ASCII; spans are widened to whole characters. Every step is linear in
//! the text.

use std::ops::Range;
use std::sync::OnceLock;

use aho_corasick::AhoCorasick;
use regex::bytes::{Regex, RegexBuilder};

use super::rules::{self, PatternPlace, Rule};
use super::{ScrubError, private_key};

/// After a match that fails its rule's checks, the search goes on inside it, for another match that overlaps it. Only
/// up to this length: long runs would be searched again and again.
const RETRY_BYTES_MAX: usize = 96;

/// A secret in a text, with the id of the rule that names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Secret {
    pub(super) span: Range<usize>,
    pub(super) rule: &'static str,
}

/// A secret that one rule found, with the rule's index in the table: earlier rules are more specific.
#[derive(Debug, Clone)]
struct SecretSpan {
    span: Range<usize>,
    rule: usize,
}

/// The rules, with the patterns that were compiled so far.
struct RuleEngine {
    keywords: AhoCorasick,
    /// The index of the rule that each keyword belongs to.
    rule_of_keyword: Vec<usize>,
    rules: Vec<(&'static Rule, OnceLock<Option<Regex>>)>,
}

/// The secrets in `text`, in order, none overlapping.
pub(super) fn find(text: &str) -> Result<Vec<Secret>, ScrubError> {
    static ENGINE: OnceLock<Option<RuleEngine>> = OnceLock::new();
    let engine = ENGINE.get_or_init(RuleEngine::build).as_ref().ok_or(ScrubError::Missing)?;

    let mut found = Vec::new();
    for index in engine.rules_called_for(text) {
        engine.apply(index, text.as_bytes(), &mut found)?;
    }
    for one in &mut found {
        one.span = text.floor_char_boundary(one.span.start)..text.ceil_char_boundary(one.span.end);
    }
    Ok(merge(found).into_iter().map(|one| Secret { span: one.span, rule: engine.rules[one.rule].0.id }).collect())
}

impl RuleEngine {
    /// Builds the keyword search; each pattern is compiled when its rule is first needed.
    fn build() -> Option<Self> {
        let rules: Vec<_> = rules::all().map(|rule| (rule, OnceLock::new())).collect();
        let mut keywords: Vec<&str> = Vec::new();
        let mut rule_of_keyword = Vec::new();
        for (index, (rule, _)) in rules.iter().enumerate() {
            keywords.extend(rule.keywords);
            rule_of_keyword.extend(rule.keywords.iter().map(|_| index));
        }
        let keywords = AhoCorasick::builder().ascii_case_insensitive(true).build(keywords).ok()?;
        Some(Self { keywords, rule_of_keyword, rules })
    }

    /// The indexes of rules that have a keyword in `text`, in the order of the table.
    fn rules_called_for(&self, text: &str) -> Vec<usize> {
        let mut called = vec![false; self.rules.len()];
        for hit in self.keywords.find_overlapping_iter(text) {
            called[self.rule_of_keyword[hit.pattern().as_usize()]] = true;
        }
        (0..called.len()).filter(|&index| called[index]).collect()
    }

    /// Adds what one rule finds.
    fn apply(&self, index: usize, text: &[u8], found: &mut Vec<SecretSpan>) -> Result<(), ScrubError> {
        let (rule, pattern) = &self.rules[index];
        let pattern = pattern.get_or_init(|| compile(rule)).as_ref().ok_or(ScrubError::Missing)?;
        let spans = match rule.form {
            PatternPlace::PrivateKey => private_key::find(text, pattern),
            PatternPlace::Anywhere | PatternPlace::Word | PatternPlace::Named(_) | PatternPlace::Quoted(_) => {
                matches(rule, pattern, text)
            }
        };
        found.extend(spans.into_iter().map(|span| SecretSpan { span, rule: index }));
        Ok(())
    }
}

/// Compiles a rule's pattern. A rule that does not compile makes the scrubber unusable, which a test
/// rules out for the rules that are built in.
fn compile(rule: &Rule) -> Option<Regex> {
    RegexBuilder::new(&rule.whole_pattern()).unicode(false).build().ok()
}

/// The secrets that a pattern finds and its rule's checks accept.
fn matches(rule: &Rule, pattern: &Regex, text: &[u8]) -> Vec<Range<usize>> {
    let group = pattern.captures_len() - 1;
    let mut groups = pattern.capture_locations();
    let mut spans = Vec::new();
    let mut at = 0;
    while let Some(whole) = pattern.captures_read_at(&mut groups, text, at) {
        let (start, end) = groups.get(group).unwrap_or((whole.start(), whole.end()));
        if rule.accepts(&text[whole.start()..start], &text[start..end]) {
            spans.push(start..end);
            at = end.max(at + 1);
        } else if end - whole.start() <= RETRY_BYTES_MAX {
            at = start.max(whole.start() + 1);
        } else {
            at = end.max(at + 1);
        }
        if at > text.len() {
            break;
        }
    }
    spans
}

/// Joins secrets that overlap. The longest gives the joined one its rule, or the earlier rule where two are as long.
/// The span covers all of them, so that no end of a shorter one is left in the text.
fn merge(mut found: Vec<SecretSpan>) -> Vec<SecretSpan> {
    found.sort_by_key(|one| (one.span.start, one.rule));
    let mut merged: Vec<SecretSpan> = Vec::with_capacity(found.len());
    let mut longest = 0;
    for one in found {
        match merged.last_mut() {
            Some(last) if one.span.start < last.span.end => {
                last.span.end = last.span.end.max(one.span.end);
                if (one.span.len(), last.rule) > (longest, one.rule) {
                    longest = one.span.len();
                    last.rule = one.rule;
                }
            }
            _ => {
                longest = one.span.len();
                merged.push(one);
            }
        }
    }
    merged
}
