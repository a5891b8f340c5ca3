//! Changes of single values in a settings file, and taking them back.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{json, toml_text};
use crate::failure::Refused;
use crate::run::parse_jsonc;

/// The language of a settings file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// JSON, with or without comments.
    Json,
    /// TOML.
    Toml,
}

/// One change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// A value is set.
    Set {
        /// The names that lead to it.
        path: Vec<String>,
        /// The value.
        value: Value,
    },
    /// A list gets one more item, unless it has it.
    Append {
        /// The names that lead to the list.
        path: Vec<String>,
        /// The item.
        value: Value,
    },
}

impl Change {
    /// A value that is set.
    pub fn set(path: &[&str], value: impl Into<Value>) -> Self {
        Self::Set { path: path.iter().map(|name| (*name).to_owned()).collect(), value: value.into() }
    }

    /// An item of a list.
    pub fn append(path: &[&str], value: impl Into<Value>) -> Self {
        Self::Append { path: path.iter().map(|name| (*name).to_owned()).collect(), value: value.into() }
    }

    /// Addresses in what is set.
    pub fn addresses(&self) -> Vec<String> {
        let (Self::Set { value, .. } | Self::Append { value, .. }) = self;
        let inside = value.as_object().into_iter().flat_map(|fields| fields.values());
        let texts = inside.chain([value]).filter_map(Value::as_str);
        texts.filter(|text| text.starts_with("http://")).map(str::to_owned).collect()
    }

    /// The names that lead to what is changed.
    pub fn path(&self) -> &[String] {
        match self {
            Self::Set { path, .. } | Self::Append { path, .. } => path,
        }
    }
}

/// A change that was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Done {
    /// The change.
    pub change: Change,
    /// What stood in its place; for a list, nothing.
    pub before: Option<Value>,
    /// How many of the names on its way were made for it, from the last one back.
    pub made: usize,
}

/// Makes the changes in a text. Gives the new text, and what it takes to undo them one by one.
pub fn apply(form: Form, text: &str, changes: &[Change], place: &Path) -> Result<(String, Vec<Done>), Refused> {
    match form {
        Form::Json => json::apply(text, changes, place),
        Form::Toml => toml_text::apply(text, changes, place),
    }
}

/// Takes changes back in a text that others have changed too. What they have set stays.
pub fn undo(form: Form, text: &str, done: &[Done], place: &Path) -> Result<String, Refused> {
    match form {
        Form::Json => json::undo(text, done, place),
        Form::Toml => toml_text::undo(text, done, place),
    }
}

/// Whether a change is still in a text as it was made.
pub fn is_in(form: Form, text: &str, change: &Change) -> bool {
    let value = match form {
        Form::Json => parse_jsonc(text, "").ok(),
        Form::Toml => text.parse::<toml::Table>().ok().and_then(|table| serde_json::to_value(table).ok()),
    };
    let found = value.as_ref().and_then(|value| change.path().iter().try_fold(value, |value, name| value.get(name)));
    match (change, found) {
        (Change::Set { value, .. }, Some(found)) => value == found,
        (Change::Append { value, .. }, Some(Value::Array(items))) => items.contains(value),
        (Change::Set { .. } | Change::Append { .. }, _) => false,
    }
}

/// A file that something else stands in than its agent would put there.
pub fn unexpected(place: &Path, path: &[String]) -> Refused {
    Refused::new(format!("{}: `{}` has an unexpected type", place.display(), path.join(".")))
        .hint("fix the file first; nothing was changed")
}
