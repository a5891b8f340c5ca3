//! Rules: forms of words that instructions to an agent have more often than lessons about code; `rules.txt` has them.
//!
//! A rule alone says little, and the model weighs them. They are matched on folded text.

use std::sync::LazyLock;

use regex::bytes::{RegexSet, RegexSetBuilder};

const FILE: &str = include_str!("rules.txt");
/// The most memory that the matcher may take.
const MATCHER_BYTES_MAX: usize = 64 << 20;

/// A form of words, with the name that logs show.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SuspicionRule {
    name: &'static str,
    form: String,
}

static RULES: LazyLock<Vec<SuspicionRule>> = LazyLock::new(|| rules_of(FILE));
static MATCHER: LazyLock<Option<RegexSet>> = LazyLock::new(|| {
    let forms = RULES.iter().map(|rule| &rule.form);
    RegexSetBuilder::new(forms).unicode(false).multi_line(true).size_limit(MATCHER_BYTES_MAX).build().ok()
});

/// The rules' names; the places of rules are places in this list.
pub fn rule_names() -> impl ExactSizeIterator<Item = &'static str> {
    RULES.iter().map(|rule| rule.name)
}

/// The places of the rules that a folded text matches.
pub(super) fn matched_rules(folded: &str) -> Vec<usize> {
    MATCHER.as_ref().map(|matcher| matcher.matches(folded.as_bytes()).into_iter().collect()).unwrap_or_default()
}

fn rules_of(file: &'static str) -> Vec<SuspicionRule> {
    let mut rules: Vec<SuspicionRule> = Vec::new();
    for line in file.lines().filter(|line| !line.is_empty() && !line.starts_with("# ")) {
        let name = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')).filter(|name| is_name(name));
        match (name, rules.last_mut()) {
            (Some(name), _) => rules.push(SuspicionRule { name, form: String::new() }),
            (None, Some(rule)) => {
                let or = if rule.form.is_empty() { "" } else { "|" };
                rule.form.push_str(&format!("{or}{}", with_gaps(line)));
            }
            (None, None) => {}
        }
    }
    rules
}

fn is_name(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

/// A form with its gaps spelled out.
fn with_gaps(form: &str) -> String {
    let mut parts = form.split('~');
    let mut whole = parts.next().unwrap_or_default().to_owned();
    while let (Some(chars_max), Some(next)) = (parts.next(), parts.next()) {
        whole.push_str(&format!(r"[^.!?\n]{{0,{chars_max}}}{next}"));
    }
    whole
}
