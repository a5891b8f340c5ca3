//! Seals: how the fake model recognises its own reasoning, and the content that it was made on.
//!
//! A provider's signature proves two things: that the words are its own, and that everything before
//! them is unchanged. A seal proves the same. It contains all that is needed to check it, so it is still
//! valid after the server was restarted.

use serde_json::Value;

/// Begins every seal, to tell reasoning of another origin from reasoning that was changed.
const MARK: &str = "seal1";

/// How many characters of a digest are in a seal or an id.
const SHOWN_CHARS: usize = 24;

/// A digest of everything before a point of a request; each part is added to it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Prefix {
    hasher: blake3::Hasher,
}

/// The outcome of checking a seal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The seal is ours, and words and prefix are unchanged.
    Holds,
    /// The seal is ours, but something before the words was changed.
    OtherPrefix,
    /// The seal is ours, but the words were changed.
    Changed,
    /// The seal is not ours.
    Forged,
}

impl Prefix {
    /// Adds the next part. `kind` distinguishes a user's words from the same words of a model.
    pub(crate) fn take(&mut self, kind: &str, part: &Value) {
        self.hasher.update(kind.as_bytes());
        self.hasher.update(b"\0");
        self.hasher.update(normal(part).to_string().as_bytes());
        self.hasher.update(b"\0");
    }

    /// An id that differs for every other prefix, and for every other `salt`.
    pub(crate) fn id(&self, salt: &str) -> String {
        let mut hasher = self.hasher.clone();
        hasher.update(salt.as_bytes());
        shown(&hasher)
    }

    /// Seals words that are said at this point.
    pub(crate) fn seal(&self, words: &str) -> String {
        format!("{MARK}.{}.{}", shown_words(words), shown(&self.hasher))
    }

    /// Checks `seal` on these words at this point.
    pub(crate) fn verdict(&self, seal: &str, words: &str) -> Verdict {
        let mut parts = seal.split('.');
        match (parts.next(), parts.next(), parts.next()) {
            (Some(MARK), Some(sealed), Some(_)) if sealed != shown_words(words) => Verdict::Changed,
            (Some(MARK), Some(_), Some(prefix)) if prefix == shown(&self.hasher) => Verdict::Holds,
            (Some(MARK), Some(_), Some(_)) => Verdict::OtherPrefix,
            _ => Verdict::Forged,
        }
    }
}

fn shown(hasher: &blake3::Hasher) -> String {
    hasher.finalize().to_hex()[..SHOWN_CHARS].to_owned()
}

fn shown_words(words: &str) -> String {
    blake3::hash(words.as_bytes()).to_hex()[..SHOWN_CHARS].to_owned()
}

/// A part in one normal form: without cache marks, with sorted keys, and with text always as a list of
/// blocks, because clients send the same message sometimes in one form and sometimes in the other.
fn normal(part: &Value) -> Value {
    match part {
        Value::Array(parts) => parts.iter().map(normal).collect(),
        Value::Object(fields) => {
            let mut names: Vec<&String> = fields.keys().filter(|name| *name != "cache_control").collect();
            names.sort();
            let fields = names.into_iter().map(|name| {
                let value = &fields[name];
                let text = value.as_str().filter(|_| name == "content");
                let value =
                    text.map_or_else(|| normal(value), |text| serde_json::json!([{"text": text, "type": "text"}]));
                (name.clone(), value)
            });
            Value::Object(fields.collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => part.clone(),
    }
}

#[cfg(test)]
mod tests;
