//! JSON that commands print, as text in which values can be compared line by line.
//!
//! Fields may be renamed, may change their order, and may be added; the values of those that were there may not change.

use std::collections::HashSet;

use serde_json::Value;

use super::compare::ProgramSide;

#[cfg(test)]
mod tests;

/// Fields that have been renamed: the old name, and the new one.
const RENAMED: &[(&str, &str)] = &[
    ("session", "session_id"),
    ("handle", "ref_id"),
    ("call", "call_id"),
    ("tool", "tool_name"),
    ("secrets", "secrets_scrubbed"),
    ("tokens_saved", "saved_tokens"),
    ("totals", "request_totals"),
];

/// Fields with times that were measured, by their old and new names. They differ from run to run.
const MEASURED: &[&str] = &["added_us", "first_byte_ms", "total_ms"];

/// A value as lines, with its fields sorted by the names that they have now.
pub fn lines(text: &[u8], side: ProgramSide) -> Option<Vec<u8>> {
    let value: Value = serde_json::from_slice(text).ok()?;
    let mut lines = String::new();
    write(&value, side, RENAMED, "", &mut lines);
    Some(lines.into_bytes())
}

/// The lines of fields that were there before.
pub fn without_added(before: &[u8], after: &[u8]) -> Vec<u8> {
    let path = |line: &[u8]| line.windows(3).position(|three| three == b" = ").map(|end| line[..end].to_vec());
    let known: HashSet<_> = before.split(|byte| *byte == b'\n').map(path).collect();
    let kept = after.split_inclusive(|byte| *byte == b'\n').filter(|line| known.contains(&path(line)));
    kept.flatten().copied().collect()
}

/// Every line has the whole path of its value in front, so that one line says what differs.
fn write(value: &Value, side: ProgramSide, renamed: &[(&str, &str)], path: &str, lines: &mut String) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            let mut fields: Vec<(&str, &Value)> =
                fields.iter().map(|(name, value)| (named_now(name, side, renamed), value)).collect();
            fields.sort_by_key(|(name, _)| *name);
            for (name, value) in fields.into_iter().filter(|(name, _)| !MEASURED.contains(name)) {
                write(value, side, renamed, &format!("{path}.{name}"), lines);
            }
        }
        Value::Array(values) if !values.is_empty() => {
            for (at, value) in values.iter().enumerate() {
                write(value, side, renamed, &format!("{path}[{at}]"), lines);
            }
        }
        _ => lines.push_str(&format!("{path} = {value}\n")),
    }
}

fn named_now<'a>(name: &'a str, side: ProgramSide, renamed: &[(&str, &'a str)]) -> &'a str {
    match side {
        ProgramSide::Before => renamed.iter().find(|(old, _)| *old == name).map_or(name, |(_, new)| new),
        ProgramSide::After => name,
    }
}
