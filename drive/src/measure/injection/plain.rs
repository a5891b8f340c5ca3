//! The baseline: fourteen expressions, as lists of known phrases have them.

use anyhow::Result;
use regex::RegexSet;

const EXPRESSIONS: [&str; 14] = [
    r"(?i)ignore (all )?(the )?(previous|prior|above|earlier) (instructions|prompts|directions)",
    r"(?i)disregard (all )?(the )?(previous|prior|above|earlier)",
    r"(?i)forget (everything|all|your|the previous)",
    r"(?i)you are now\b",
    r"(?i)new instructions?\s*:",
    r"(?i)system prompt",
    r"(?i)</?(system|assistant|instructions?)>",
    r"(?i)\[/?INST\]|<\|im_(start|end)\|>",
    r"(?i)(reveal|print|show|repeat) (me )?(your|the) (system|initial|hidden) (prompt|instructions)",
    r"(?i)do anything now|\bDAN\b|jailbreak",
    r"(?i)developer mode",
    r"(?i)(pretend|act) (to be|as if|as though) you",
    r"(?i)do not (tell|inform|mention (this|it) to) the user",
    r"(?i)without (any )?(restrictions|filters|limitations)",
];

/// The baseline's expressions, ready to match.
pub(super) fn expressions() -> Result<RegexSet> {
    Ok(RegexSet::new(EXPRESSIONS)?)
}
