//! Turns text into values: TOML files, environment variables, flags.
//!
//! A value's kind is that of its default, so `INFOLD_FOLDING__MAX_DEPTH=2` is a number and
//! `--set auth.jwt.issuer=2` is text, without quotes in either.

use std::collections::BTreeMap;
use std::path::PathBuf;

use toml::Value;
use toml::de::{DeTable, DeValue};

use super::entry::{self, Entry, Origin};
use super::problem::{Problem, Problems};
use super::sources::{Assignment, SettingsFile};

/// A key and its value, as they are written in a file.
pub struct Leaf {
    /// The key, with dots between its levels.
    pub key: String,
    /// The value; an empty table if the key is a section without keys.
    pub value: Value,
    /// The line of the key, counted from 1.
    pub line: usize,
}

/// Every key of a TOML text in the order of its lines. An empty table counts as a key, so that a
/// misspelled section is noticed.
pub fn leaves(text: &str) -> Result<Vec<Leaf>, String> {
    let spelled = DeTable::parse(text).map_err(|error| at_line(text, &error))?;
    let mut lines = BTreeMap::new();
    note_lines(text, "", spelled.get_ref(), &mut lines);

    let table: toml::Table = text.parse().map_err(|error| at_line(text, &error))?;
    let mut leaves = Vec::new();
    note_values("", table, &lines, &mut leaves);
    leaves.sort_by_key(|leaf| leaf.line);
    Ok(leaves)
}

fn at_line(text: &str, error: &toml::de::Error) -> String {
    let line = error.span().map_or(1, |span| line_of(text, span.start));
    format!("line {line}: {}", error.message())
}

fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes().iter().take(offset).filter(|byte| **byte == b'\n').count() + 1
}

fn note_lines(text: &str, prefix: &str, table: &DeTable<'_>, lines: &mut BTreeMap<String, usize>) {
    for (name, value) in table.iter() {
        let key = joined(prefix, name.get_ref());
        lines.insert(key.clone(), line_of(text, name.span().start));
        if let DeValue::Table(inner) = value.get_ref() {
            note_lines(text, &key, inner, lines);
        }
    }
}

fn note_values(prefix: &str, table: toml::Table, lines: &BTreeMap<String, usize>, leaves: &mut Vec<Leaf>) {
    for (name, value) in table {
        let key = joined(prefix, &name);
        match value {
            Value::Table(inner) if !inner.is_empty() => note_values(&key, inner, lines, leaves),
            value => {
                let line = lines.get(&key).copied().unwrap_or(1);
                leaves.push(Leaf { key, value, line });
            }
        }
    }
}

fn joined(prefix: &str, name: &str) -> String {
    if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") }
}

/// Reads the values in a settings file. What is wrong with them is added to `problems`.
pub fn file(
    file: &SettingsFile,
    origin: fn(PathBuf, usize) -> Origin,
    known: &[Entry],
    problems: &mut Problems,
) -> Vec<Entry> {
    let leaves = match leaves(&file.text) {
        Ok(leaves) => leaves,
        Err(error) => {
            problems.add(Problem::new(format!("{}: {error}", file.path.display())));
            return Vec::new();
        }
    };
    let mut values = Vec::new();
    for leaf in leaves {
        let origin = origin(file.path.clone(), leaf.line);
        match of_known_kind(leaf, &origin, known) {
            Ok(Some(entry)) => values.push(entry),
            Ok(None) => {}
            Err(problem) => problems.add(problem),
        }
    }
    values
}

fn of_known_kind(leaf: Leaf, origin: &Origin, known: &[Entry]) -> Result<Option<Entry>, Problem> {
    let is_section = known.iter().any(|entry| entry.key.starts_with(&format!("{}.", leaf.key)));
    if is_section {
        return match leaf.value {
            Value::Table(_) => Ok(None),
            _ => Err(Problem::new(format!("`{}` in {origin} is a section, not a value", leaf.key))
                .hint(format!("write [{}] on its own line, and its keys below", leaf.key))),
        };
    }
    let Some(default) = entry::find(known, &leaf.key) else {
        return Err(unknown_key(&leaf.key, origin, known));
    };
    if !default.value.same_type(&leaf.value) {
        return Err(wrong_kind(&leaf.key, origin, &default.value));
    }
    Ok(Some(Entry { key: leaf.key, value: leaf.value, origin: origin.clone() }))
}

/// Old names of settings, and their names now.
const RENAMED: [(&str, &str); 4] = [
    ("replay.prices", "prices.models"),
    ("proxy.windows", "windows.models"),
    ("proxy.window_tokens", "windows.default_tokens"),
    ("rescue.window_tokens", "windows.default_tokens"),
];

fn unknown_key(key: &str, origin: &Origin, known: &[Entry]) -> Problem {
    if let Some((old, new)) = RENAMED.iter().find(|(old, _)| *old == key) {
        return Problem::new(format!("`{old}` in {origin} is now called `{new}`"))
            .hint(format!("rename it to `{new}`"));
    }
    let keys = known.iter().map(|entry| entry.key.as_str());
    let sections = known.iter().filter_map(|entry| Some(entry.key.rsplit_once('.')?.0));
    let problem = Problem::new(format!("unknown key `{key}` in {origin}"));
    match nearest(key, keys.chain(sections)) {
        Some(near) => problem.hint(format!("did you mean `{near}`?")),
        None => problem.hint("`infold settings` lists every key"),
    }
}

fn wrong_kind(key: &str, origin: &Origin, default: &Value) -> Problem {
    let wanted = match default {
        Value::String(_) => "text in quotes",
        Value::Integer(_) => "a whole number",
        Value::Float(_) => "a number",
        Value::Boolean(_) => "true or false",
        Value::Array(_) => "a list, such as [\"a\", \"b\"]",
        Value::Datetime(_) => "a date",
        Value::Table(_) => "a table",
    };
    Problem::new(format!("`{key}` in {origin} must be {wanted}"))
}

/// Reads the variables that begin with `INFOLD_`.
pub fn variables(given: &BTreeMap<String, String>, known: &[Entry], problems: &mut Problems) -> Vec<Entry> {
    let mut values = Vec::new();
    for default in known {
        for variable in variable_names(&default.key) {
            let Some(text) = given.get(&variable) else { continue };
            match from_text(default, text, Origin::Environment { variable }) {
                Ok(entry) => values.push(entry),
                Err(problem) => problems.add(problem),
            }
        }
    }
    let names: Vec<String> = known.iter().flat_map(|entry| variable_names(&entry.key)).collect();
    for variable in given.keys().filter(|variable| !names.contains(variable)) {
        problems.add(unknown_variable(variable, &names));
    }
    values
}

/// The environment variables of a key. The short name that scripts rely on comes last, because a
/// later value wins.
fn variable_names(key: &str) -> Vec<String> {
    let plain = format!("INFOLD_{}", key.replace('.', "__").to_uppercase());
    match key {
        "server.listen" => vec![plain, "INFOLD_LISTEN".to_owned()],
        _ => vec![plain],
    }
}

fn unknown_variable(variable: &str, names: &[String]) -> Problem {
    let is_old = |(old, _): &&(&str, &str)| variable_names(old).iter().any(|name| name == variable);
    if let Some((_, new)) = RENAMED.iter().find(is_old) {
        let new = variable_names(new).remove(0);
        return Problem::new(format!("{variable} in the environment is now called {new}"))
            .hint(format!("rename it to {new}"));
    }
    let problem = Problem::new(format!("unknown setting {variable} in the environment"));
    match nearest(variable, names.iter().map(String::as_str)) {
        Some(near) => problem.hint(format!("did you mean {near}?")),
        None => problem.hint("the form is INFOLD_<SECTION>__<KEY>; `infold settings` lists every key"),
    }
}

/// Reads `--set` and the flags that set a single setting.
pub fn flags(given: &[Assignment], known: &[Entry], problems: &mut Problems) -> Vec<Entry> {
    let mut values = Vec::new();
    for assignment in given {
        let origin = Origin::Flag { flag: assignment.flag };
        let value = match entry::find(known, &assignment.key) {
            Some(default) => from_text(default, &assignment.text, origin),
            None => Err(unknown_key(&assignment.key, &origin, known)),
        };
        match value {
            Ok(entry) => values.push(entry),
            Err(problem) => problems.add(problem),
        }
    }
    values
}

fn from_text(default: &Entry, text: &str, origin: Origin) -> Result<Entry, Problem> {
    let value = match &default.value {
        Value::String(_) => Some(Value::String(text.to_owned())),
        Value::Integer(_) => text.replace('_', "").parse().ok().map(Value::Integer),
        Value::Float(_) => text.parse().ok().map(Value::Float),
        Value::Boolean(_) => text.parse().ok().map(Value::Boolean),
        Value::Array(_) => list(text),
        Value::Datetime(_) | Value::Table(_) => None,
    };
    match value {
        Some(value) => Ok(Entry { key: default.key.clone(), value, origin }),
        None => Err(wrong_kind(&default.key, &origin, &default.value)),
    }
}

/// Parses a list in TOML's form, or just its items with commas between them.
fn list(text: &str) -> Option<Value> {
    if text.trim_start().starts_with('[') {
        let table: toml::Table = format!("list = {text}").parse().ok()?;
        return table.get("list").filter(|value| value.is_array()).cloned();
    }
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    Some(Value::Array(parts.map(|part| Value::String(part.to_owned())).collect()))
}

/// The known name that the user probably meant; `None` if none is similar.
fn nearest<'a>(given: &str, known: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let last_part = known.clone().find(|name| name.rsplit('.').next() == Some(given));
    if last_part.is_some() {
        return last_part;
    }
    let distance_max = (given.chars().count() / 4).clamp(2, 6);
    known
        .map(|name| (strsim::damerau_levenshtein(given, name), name))
        .filter(|(distance, _)| *distance <= distance_max)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}
