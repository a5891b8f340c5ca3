//! Claude Code's rules. A rule names a server or a tool of it; those that deny or ask may be patterns of any form, those
//! that allow only behind the name of a server. A rule may be about one argument: `mcp__server__tool(name:value)`.

use serde_json::Value;

use super::glob::{Joker, fits_glob};
use super::{RightsAction, RightsRule, RightsTarget, RightsVerdict, clean, strictest};

/// What the rules say about a tool, whatever it is called with. A rule about arguments makes it one to ask about: only
/// then does a person see the call.
pub fn verdict(rules: &[RightsRule], target: &RightsTarget<'_>) -> RightsVerdict {
    let actions = rules.iter().filter_map(|rule| {
        let (name, specifier) = split(&rule.pattern);
        if !names(name, rule.action, target) {
            return None;
        }
        match (specifier, rule.action) {
            (None, action) => Some(action),
            (Some(_), RightsAction::Deny | RightsAction::Ask) => Some(RightsAction::Ask),
            (Some(_), RightsAction::Allow) => None,
        }
    });
    strictest(actions)
}

/// Whether a rule about an argument denies this call.
pub fn denies_call(rules: &[RightsRule], target: &RightsTarget<'_>, arguments: &Value) -> bool {
    let denying = rules.iter().filter(|rule| rule.action == RightsAction::Deny);
    denying.map(|rule| split(&rule.pattern)).any(|(name, specifier)| {
        let fits = specifier.is_some_and(|specifier| has_argument(specifier, arguments));
        fits && names(name, RightsAction::Deny, target)
    })
}

/// A rule's tool, and what is in brackets behind it. `*` in brackets is the same as none.
fn split(pattern: &str) -> (&str, Option<&str>) {
    let parts = pattern.trim().strip_suffix(')').and_then(|rule| rule.split_once('('));
    match parts {
        Some((name, specifier)) => (name, Some(specifier).filter(|specifier| specifier.trim() != "*")),
        None => (pattern.trim(), None),
    }
}

fn names(pattern: &str, action: RightsAction, target: &RightsTarget<'_>) -> bool {
    let server = format!("mcp__{}", clean(target.server));
    let name = format!("{server}__{}", clean(target.tool));
    if pattern == server {
        return true;
    }
    match action {
        RightsAction::Deny | RightsAction::Ask => fits_glob(pattern, &name, Joker::Any),
        // An allowing pattern that does not name its server is skipped, as Claude Code does.
        RightsAction::Allow => pattern.starts_with(&format!("{server}__")) && fits_glob(pattern, &name, Joker::Any),
    }
}

/// Whether the call has the argument that a rule names, with a value that fits. One that is left out never fits.
fn has_argument(specifier: &str, arguments: &Value) -> bool {
    let Some((name, pattern)) = specifier.split_once(':') else { return false };
    let found = match arguments.get(name.trim()) {
        Some(Value::String(text)) => text.clone(),
        Some(value @ (Value::Bool(_) | Value::Number(_))) => value.to_string(),
        Some(Value::Null | Value::Array(_) | Value::Object(_)) | None => return false,
    };
    fits_glob(pattern.trim(), &found, Joker::Any)
}
