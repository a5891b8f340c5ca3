//! Changes of single values in a settings file, and how they are undone.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{json, toml_text};
use crate::failure::Refused;
use crate::run::parse_jsonc;

/// The language of a settings file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Syntax {
    /// JSON, with or without comments.
    Json,
    Toml,
}

/// A change of one value in a settings file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// Sets a value, whatever was there before.
    Set {
        /// The names that lead from the outermost table to the value.
        path: Vec<String>,
        value: Value,
    },
    /// Adds an item to a list, unless the list has it.
    Append {
        /// The names that lead from the outermost table to the list.
        path: Vec<String>,
        value: Value,
    },
}

impl Change {
    pub fn set(path: &[&str], value: impl Into<Value>) -> Self {
        Self::Set { path: path.iter().map(|name| (*name).to_owned()).collect(), value: value.into() }
    }

    pub fn append(path: &[&str], value: impl Into<Value>) -> Self {
        Self::Append { path: path.iter().map(|name| (*name).to_owned()).collect(), value: value.into() }
    }

    /// The addresses in the new value: the value itself, or its fields.
    pub fn addresses(&self) -> Vec<String> {
        let (Self::Set { value, .. } | Self::Append { value, .. }) = self;
        let inside = value.as_object().into_iter().flat_map(|fields| fields.values());
        let texts = inside.chain([value]).filter_map(Value::as_str);
        texts.filter(|text| text.starts_with("http://")).map(str::to_owned).collect()
    }

    /// The names that lead to the value or the list.
    pub fn path(&self) -> &[String] {
        match self {
            Self::Set { path, .. } | Self::Append { path, .. } => path,
        }
    }
}

/// A change that was made, with what it takes to undo it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Done {
    pub change: Change,
    /// The value that was replaced; `None` if there was none, and always for a list.
    pub before: Option<Value>,
    /// How many of the tables around it were created for it, counted from the innermost.
    pub made: usize,
}

/// Makes the changes in a text. Gives the new text, and what it takes to undo them one by one.
pub fn apply(form: Syntax, text: &str, changes: &[Change], place: &Path) -> Result<(String, Vec<Done>), Refused> {
    match form {
        Syntax::Json => json::apply(text, changes, place),
        Syntax::Toml => toml_text::apply(text, changes, place),
    }
}

/// Undoes changes in a text that others have changed too. What they have set stays.
pub fn undo(form: Syntax, text: &str, done: &[Done], place: &Path) -> Result<String, Refused> {
    match form {
        Syntax::Json => json::undo(text, done, place),
        Syntax::Toml => toml_text::undo(text, done, place),
    }
}

/// Whether a change is still in a text as it was made.
pub fn is_in(form: Syntax, text: &str, change: &Change) -> bool {
    let value = match form {
        Syntax::Json => parse_jsonc(text, "").ok(),
        Syntax::Toml => text.parse::<toml::Table>().ok().and_then(|table| serde_json::to_value(table).ok()),
    };
    let found = value.as_ref().and_then(|value| change.path().iter().try_fold(value, |value, name| value.get(name)));
    match (change, found) {
        (Change::Set { value, .. }, Some(found)) => value == found,
        (Change::Append { value, .. }, Some(Value::Array(items))) => items.contains(value),
        (Change::Set { .. } | Change::Append { .. }, _) => false,
    }
}

/// The refusal for a file in which a value does not have the type that its agent expects.
pub fn unexpected(place: &Path, path: &[String]) -> Refused {
    Refused::new(format!("{}: `{}` has an unexpected type", place.display(), path.join(".")))
        .hint("fix the file first; nothing was changed")
}
