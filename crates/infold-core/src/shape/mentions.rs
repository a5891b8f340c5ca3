//! What a session has said and shown so far, by name.

use std::collections::HashMap;

use serde_json::Value;

use crate::atoms::each_atom;

/// More names than this are not remembered. A long session has a tenth of it.
const NAMES_MAX: usize = 500_000;

/// The names that a session has said and shown so far. A name that was shown need not be listed again;
/// one that somebody said is one that the session is about.
#[derive(Debug, Clone, Default)]
pub struct Mentions {
    names: HashMap<String, How>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    Shown,
    Said,
}

impl Mentions {
    /// Takes note of words: a person's, or the agent's own.
    pub fn say(&mut self, text: &str) {
        self.note(text, How::Said);
    }

    /// Takes note of a call's arguments, as JSON or as plain text.
    pub fn say_arguments(&mut self, arguments: &str) {
        self.note(&plain_arguments(arguments), How::Said);
    }

    /// Takes note of a result, as it is shown.
    pub fn show(&mut self, text: &str) {
        self.note(text, How::Shown);
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.names.contains_key(name)
    }

    pub(super) fn has_said(&self, name: &str) -> bool {
        self.names.get(name) == Some(&How::Said)
    }

    fn note(&mut self, text: &str, how: How) {
        each_atom(text, |atom| {
            let has_room = self.names.len() < NAMES_MAX;
            match self.names.get_mut(atom.name) {
                Some(How::Said) => {}
                Some(known) => *known = how,
                None if has_room => {
                    self.names.insert(atom.name.to_owned(), how);
                }
                None => {}
            }
        });
    }
}

/// Arguments as plain text: the strings and numbers in them, each on a line of its own. In JSON a line
/// end is written with a letter, which would grow onto the name after it.
pub fn plain_arguments(arguments: &str) -> String {
    match serde_json::from_str::<Value>(arguments) {
        Ok(value @ (Value::Object(_) | Value::Array(_) | Value::String(_))) => {
            let mut out = String::new();
            collect(&value, &mut out);
            out
        }
        Ok(Value::Null | Value::Bool(_) | Value::Number(_)) | Err(_) => arguments.to_owned(),
    }
}

fn collect(value: &Value, out: &mut String) {
    match value {
        Value::String(text) => {
            out.push_str(text);
            out.push('\n');
        }
        Value::Number(number) => {
            out.push_str(&number.to_string());
            out.push('\n');
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, out)),
        Value::Object(fields) => fields.values().for_each(|field| collect(field, out)),
        Value::Null | Value::Bool(_) => {}
    }
}
