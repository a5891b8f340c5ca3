//! What a project's file may do: narrow, never widen, never redirect.
//!
//! A project's file comes with whatever repository the user happens to be in, so a stranger may have
//! written it. It may lower limits of its own sessions and list fewer tools. Only the user decides where
//! infold listens, what it trusts, where it sends requests and where it stores things.

use toml::Value;

use super::entry::{self, Entry};
use super::problem::{Problem, Problems};

/// How a key may be narrowed.
#[derive(Clone, Copy)]
enum Rule {
    /// The number may only become lower.
    AtMost,
    /// The number may only become lower, and 0 means that there is no limit.
    AtMostZeroIsNone,
    /// The number may only become higher.
    AtLeast,
    /// The switch may only be turned on.
    OnlyOn,
    /// The switch may only be turned off.
    OnlyOff,
    /// The word may only become one further down in this list.
    Down(&'static [&'static str]),
    /// The list may only become a part of itself.
    PartOf,
}

/// The keys that a project may set.
const KEYS: &[(&str, Rule)] = &[
    ("folding.default_budget", Rule::AtMost),
    ("folding.max_budget", Rule::AtMost),
    ("folding.max_depth", Rule::AtMost),
    ("folding.default_timeout_seconds", Rule::AtMost),
    ("folding.max_timeout_seconds", Rule::AtMost),
    ("folding.max_concurrent_per_session", Rule::AtMost),
    ("folding.max_branches_per_minute", Rule::AtMost),
    ("folding.session_budget", Rule::AtMostZeroIsNone),
    ("context.context_limit", Rule::AtMost),
    ("context.context_hard_limit", Rule::OnlyOn),
    ("agent.context_budget", Rule::AtMost),
    ("agent.max_output_tokens", Rule::AtMost),
    ("agent.approval", Rule::Down(&["all", "edits", "ask", "read_only"])),
    ("agent.network", Rule::OnlyOff),
    ("agent.turns_max", Rule::AtMostZeroIsNone),
    ("agent.run_tokens_max", Rule::AtMostZeroIsNone),
    ("agent.shell_seconds_max", Rule::AtMost),
    ("mcp.tools", Rule::PartOf),
    ("memory.learn", Rule::Down(&["all", "lessons", "off"])),
    ("memory.inject", Rule::OnlyOff),
    ("memory.injection_budget_ratio", Rule::AtMost),
    ("memory.injection_tokens_max", Rule::AtMost),
    ("memory.memory_max_items", Rule::AtMost),
    ("memory.memory_min_confidence", Rule::AtLeast),
    ("memory.relevance_min", Rule::AtLeast),
    ("memory.review", Rule::Down(&["off", "mechanical", "all"])),
];

/// Returns the values that narrow what lower layers say. The others become problems.
pub fn only_narrowing(values: Vec<Entry>, below: &[Entry], problems: &mut Problems) -> Vec<Entry> {
    let mut kept = Vec::new();
    for value in values {
        match refused(&value, below) {
            Some(problem) => problems.add(problem),
            None => kept.push(value),
        }
    }
    kept
}

fn refused(value: &Entry, below: &[Entry]) -> Option<Problem> {
    let Some((_, rule)) = KEYS.iter().find(|(key, _)| *key == value.key) else {
        return Some(not_for_projects(value));
    };
    let now = entry::find(below, &value.key)?;
    if narrows(*rule, &value.value, &now.value) {
        return None;
    }
    let (key, origin) = (&value.key, &value.origin);
    let problem = Problem::new(format!(
        "`{key}` in {origin} changes {} to {}, but a project file may only lower limits",
        now.shown(),
        value.shown()
    ));
    Some(problem.hint(match rule {
        Rule::AtMost => format!("set it to at most {}, or raise it in your own settings", now.shown()),
        Rule::AtMostZeroIsNone => format!("set it to at most {}; 0 would mean no limit", now.shown()),
        Rule::AtLeast => format!("set it to at least {}, or lower it in your own settings", now.shown()),
        Rule::OnlyOn => "remove the line, or turn it off in your own settings".to_owned(),
        Rule::OnlyOff => "remove the line, or turn it on in your own settings".to_owned(),
        Rule::Down(words) => format!("write one of {} that comes after {}", words.join(", "), now.shown()),
        Rule::PartOf => format!("list some of {}", now.shown()),
    }))
}

fn not_for_projects(value: &Entry) -> Problem {
    Problem::new(format!(
        "`{}` in {} cannot be set by a project file: those may only lower limits",
        value.key, value.origin
    ))
    .hint("move it to your own settings; a project file may lower limits of [folding], [context] and [memory] and list fewer mcp.tools")
}

fn narrows(rule: Rule, wish: &Value, now: &Value) -> bool {
    match (rule, wish, now) {
        (Rule::AtMost, Value::Integer(wish), Value::Integer(now)) => wish <= now,
        (Rule::AtMost, Value::Float(wish), Value::Float(now)) => wish <= now,
        (Rule::AtLeast, Value::Float(wish), Value::Float(now)) => wish >= now,
        (Rule::AtMostZeroIsNone, Value::Integer(wish), Value::Integer(now)) => *now == 0 || (*wish != 0 && wish <= now),
        (Rule::OnlyOn, Value::Boolean(wish), Value::Boolean(now)) => *wish || !*now,
        (Rule::OnlyOff, Value::Boolean(wish), Value::Boolean(now)) => !*wish || *now,
        (Rule::Down(words), Value::String(wish), Value::String(now)) => {
            let place = |word: &String| words.iter().position(|other| other == word);
            place(wish).is_some_and(|wish| place(now).is_some_and(|now| wish >= now))
        }
        (Rule::PartOf, Value::Array(wish), Value::Array(now)) => wish.iter().all(|item| now.contains(item)),
        (
            Rule::AtMost
            | Rule::AtMostZeroIsNone
            | Rule::AtLeast
            | Rule::OnlyOn
            | Rule::OnlyOff
            | Rule::Down(_)
            | Rule::PartOf,
            _,
            _,
        ) => false,
    }
}
