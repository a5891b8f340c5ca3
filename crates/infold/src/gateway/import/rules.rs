//! Rules of clients for MCP tools, as infold's settings have them: patterns of tools' own names, of which the strictest
//! that fits counts.

use infold_core::gateway::{RightsAction, RightsRule};

use super::draft::EntryDraft;
use super::patterns::{behind, covers};

/// A rule of a client: a pattern in its form, what it says, and the setting that it is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientRule {
    pub pattern: String,
    pub action: RightsAction,
    pub place: String,
}

impl ClientRule {
    /// The rule by itself, with its pattern in the client's form.
    pub fn in_own_form(self) -> RightsRule {
        RightsRule { pattern: self.pattern, action: self.action }
    }
}

/// A server's name as clients spell it for models.
pub fn clean(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' }).collect()
}

/// Adds a pattern to the field of infold's that has this meaning, unless it is there.
pub fn add_rule(draft: &mut EntryDraft, action: RightsAction, pattern: &str) {
    add_to(draft, field_of(action), pattern);
}

fn add_to(draft: &mut EntryDraft, field: &str, pattern: &str) {
    let list = draft.fields.entry(field).or_insert_with(|| toml::Value::Array(Vec::new()));
    if let toml::Value::Array(list) = list {
        let pattern = toml::Value::from(pattern);
        if !list.contains(&pattern) {
            list.push(pattern);
        }
    }
}

fn field_of(action: RightsAction) -> &'static str {
    match action {
        RightsAction::Deny => "deny",
        RightsAction::Ask => "ask",
        RightsAction::Allow => "allow",
    }
}

/// Carries Claude Code's rules over. Its order of precedence is infold's.
pub fn carry_claude(draft: &mut EntryDraft, server: &str, rules: &[ClientRule]) {
    let server = format!("mcp__{}", clean(server));
    for rule in rules {
        let ClientRule { pattern, action, place } = rule;
        let parts = pattern.trim().strip_suffix(')').and_then(|rule| rule.split_once('('));
        let (name, argument) = parts.unwrap_or((pattern.trim(), "*"));
        let prefix = format!("{server}__");
        let patterns = match action {
            _ if name == server => vec!["*".to_owned()],
            // A pattern that allows counts only behind the name of a server.
            RightsAction::Allow => name.strip_prefix(&prefix).map(str::to_owned).into_iter().collect(),
            RightsAction::Deny | RightsAction::Ask => behind(name, &prefix),
        };
        // For Claude Code a ? is a character like others, which no tool's name has.
        if patterns.is_empty() || name.contains('?') {
            continue;
        }
        let action = match (argument.trim(), action) {
            ("*", action) => *action,
            (_, RightsAction::Allow) => {
                draft.drop(place, format!("{pattern:?} allows some arguments only, which infold's rules cannot say"));
                continue;
            }
            (_, RightsAction::Deny | RightsAction::Ask) => {
                draft
                    .drop(place, format!("{pattern:?} is about an argument: infold asks about every call of the tool"));
                RightsAction::Ask
            }
        };
        patterns.iter().for_each(|pattern| add_rule(draft, action, pattern));
    }
}

/// Carries OpenCode's rules over. There the last one that fits counts, so an exception that is milder than what it is
/// taken from is lost, except where everything else is denied: then it is the list of tools that may be used.
pub fn carry_opencode(draft: &mut EntryDraft, server: &str, rules: &[ClientRule]) {
    let rules = in_force(rules_of_server(draft, server, rules));
    let denies_all = |rule: &&ClientRule| rule.pattern == "*" && rule.action == RightsAction::Deny;
    let has_milder = rules.iter().any(|rule| rule.action != RightsAction::Deny);
    let has_only = rules.first().filter(denies_all).is_some() && has_milder;
    let rules = if has_only { &rules[1..] } else { &rules[..] };
    if has_only {
        draft.set("tools", Vec::<String>::new());
    }
    for (at, rule) in rules.iter().enumerate() {
        let stricter = rules[..at].iter().find(|earlier| {
            strictness(earlier.action) > strictness(rule.action) && covers(&earlier.pattern, &rule.pattern)
        });
        if let Some(stricter) = stricter {
            let (pattern, action) = (&stricter.pattern, field_of(stricter.action));
            let why = format!("{:?} is an exception to {action} {pattern:?}: the stricter rule stays", rule.pattern);
            draft.drop(&rule.place, why);
            continue;
        }
        if has_only && rule.action != RightsAction::Deny {
            add_to(draft, "tools", &rule.pattern);
        }
        add_rule(draft, rule.action, &rule.pattern);
    }
}

/// The rules that say something about a server, with patterns of its tools' own names.
fn rules_of_server(draft: &mut EntryDraft, server: &str, rules: &[ClientRule]) -> Vec<ClientRule> {
    let prefix = format!("{}_", clean(server));
    let mut found = Vec::new();
    for rule in rules {
        for pattern in behind(&rule.pattern, &prefix) {
            let is_odd = pattern.contains('?');
            match rule.action {
                RightsAction::Allow if is_odd => {
                    draft.drop(&rule.place, format!("{:?} has a ?, which infold's rules do not know", rule.pattern));
                }
                RightsAction::Allow | RightsAction::Ask | RightsAction::Deny => {
                    if is_odd {
                        draft.drop(&rule.place, format!("{:?}: infold takes the ? for a *", rule.pattern));
                    }
                    found.push(ClientRule { pattern: pattern.replace('?', "*"), ..rule.clone() });
                }
            }
        }
    }
    found
}

/// Leaves out rules that a later one replaces entirely.
fn in_force(rules: Vec<ClientRule>) -> Vec<ClientRule> {
    let is_replaced =
        |at: usize, rule: &ClientRule| rules[at + 1..].iter().any(|later| covers(&later.pattern, &rule.pattern));
    let kept = rules.iter().enumerate().filter(|(at, rule)| !is_replaced(*at, rule));
    kept.map(|(_, rule)| rule.clone()).collect()
}

fn strictness(action: RightsAction) -> u8 {
    match action {
        RightsAction::Allow => 0,
        RightsAction::Ask => 1,
        RightsAction::Deny => 2,
    }
}
