//! Reading agents' settings: JSON with comments, bounded in size, and merged as agents merge it.

use std::fs;
use std::io::{ErrorKind, Read};
use std::path::Path;

use jsonc_parser::{ParseOptions, parse_to_serde_value};
use serde_json::Value;

use crate::failure::Refused;

/// Longest settings file of an agent that is read. One of Claude Code's also holds a history, so it can be long.
const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The text of a file; `None` if the file does not exist.
pub fn read_text(path: &Path) -> Result<Option<String>, Refused> {
    let cannot = |why: &dyn std::fmt::Display| Refused::new(format!("cannot read {}: {why}", path.display()));
    let file = match fs::File::open(path) {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
        Err(error) => return Err(cannot(&error)),
    };
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(|error| cannot(&error))?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(cannot(&format!("it is longer than {FILE_BYTES_MAX} bytes")));
    }
    String::from_utf8(bytes).map(Some).map_err(|_| cannot(&"it is not UTF-8"))
}

/// Parses an object in JSON, with or without comments. An empty text is an empty object.
pub fn parse_jsonc(text: &str, place: &str) -> Result<Value, Refused> {
    let parsed: Result<Value, _> = parse_to_serde_value(text, &ParseOptions::default());
    match parsed {
        Ok(Value::Null) => Ok(Value::Object(serde_json::Map::new())),
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => Err(Refused::new(format!("{place} is not a JSON object")).hint("fix the file first")),
        Err(error) => Err(Refused::new(format!("{place} is not JSON: {error}")).hint("fix the file first")),
    }
}

/// Reads a settings file in JSON; `None` if it does not exist.
pub fn read_jsonc(path: &Path) -> Result<Option<Value>, Refused> {
    let text = read_text(path)?;
    text.map(|text| parse_jsonc(&text, &path.display().to_string())).transpose()
}

/// Lays `over` upon `value`: objects are merged, lists are joined, any other value is replaced.
pub fn merge(value: &mut Value, over: Value) {
    match (value, over) {
        (Value::Object(fields), Value::Object(over)) => {
            for (name, value) in over {
                match fields.get_mut(&name) {
                    Some(field) => merge(field, value),
                    None => {
                        fields.insert(name, value);
                    }
                }
            }
        }
        (Value::Array(items), Value::Array(over)) => items.extend(over),
        (value, over) => *value = over,
    }
}

/// Parses a text that is known to be valid.
#[cfg(test)]
pub fn parse_for_tests(text: &str) -> Value {
    parse_jsonc(text, "a test").unwrap_or_default()
}
