//! Takes the user's values out of what a server says: programs print keys that they do not like, and no rule for secrets
//! knows every key.

#[cfg(test)]
mod tests;

use infold_core::gateway::{NamedValues, ServerEntry, ServerWay};
use serde_json::Value;

use crate::gateway::{LinkWay, RpcError, SECRET_BYTES_MIN, without_values};

/// Values of an entry that must not be shown.
#[derive(Debug, Default)]
pub(super) struct HiddenValues(Vec<String>);

impl HiddenValues {
    /// The values of variables and headers that an entry names, as its server gets them.
    pub(super) fn of(entry: &ServerEntry, way: &LinkWay) -> Self {
        let mut values: Vec<String> = match (way, &entry.way) {
            (LinkWay::Child(child), ServerWay::Child { variables: NamedValues(own), inherited, .. }) => {
                let is_named =
                    |name: &str| own.iter().any(|(own, _)| own == name) || inherited.iter().any(|i| i == name);
                let named = child.variables.iter().filter(|(name, _)| name.to_str().is_some_and(is_named));
                named.filter_map(|(_, value)| value.to_str().map(str::to_owned)).collect()
            }
            // The scheme in front of a token is not secret, and a server may repeat the token alone.
            (LinkWay::Http(http), _) => {
                http.headers.iter().flat_map(|(_, value)| value.split_whitespace()).map(str::to_owned).collect()
            }
            (LinkWay::Child(_), ServerWay::Http { .. }) => Vec::new(),
        };
        values.retain(|value| value.len() >= SECRET_BYTES_MIN);
        // A value that contains another one goes first.
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        Self(values)
    }

    /// The error without the values.
    pub(super) fn hide_in(&self, error: RpcError) -> RpcError {
        let data = error.data.map(|data| self.hide_in_value(data));
        RpcError { message: self.hide(error.message), data, ..error }
    }

    fn hide_in_value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.hide(text)),
            Value::Array(items) => items.into_iter().map(|item| self.hide_in_value(item)).collect(),
            Value::Object(fields) => {
                fields.into_iter().map(|(name, field)| (name, self.hide_in_value(field))).collect()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value,
        }
    }

    /// The words without the values.
    pub(super) fn hide(&self, words: String) -> String {
        without_values(&words, self.0.iter().map(String::as_str))
    }
}
