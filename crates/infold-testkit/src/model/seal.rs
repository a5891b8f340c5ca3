//! Seals: how the fake model recognises its own reasoning, and what it was said after.
//!
//! A provider's signature proves two things: that the words are its own, and that everything before
//! them is what it was when they were said. A seal proves the same, and holds all it needs in itself,
//! so that it is still good after the server was started anew.

use serde_json::Value;

/// Marks a seal, so that reasoning of another origin is told apart from broken reasoning.
const MARK: &str = "seal1";

/// How many characters of a digest a seal and an id show.
const SHOWN_CHARS: usize = 24;

/// Everything that came before a point of a request, as one digest that grows with each part.
#[derive(Debug, Clone, Default)]
pub(crate) struct Prefix {
    hasher: blake3::Hasher,
}

/// What a seal turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Ours, and in its place.
    Holds,
    /// Ours, but something before it is not what it was.
    OtherPrefix,
    /// Ours, but on other words.
    Changed,
    /// Not ours.
    Forged,
}

impl Prefix {
    /// Takes in the next part. `kind` keeps a user's words apart from the same words of a model.
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

    /// What `seal` on these words is worth at this point.
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

/// A part as it counts: without cache marks, with sorted keys, and with text always as a list of
/// blocks, because clients send the same message now in one form and now in the other.
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
