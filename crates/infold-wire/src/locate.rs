//! Finds a value inside a JSON text by where it stands, so that it can be kept byte for byte.

use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::loose::Str;

/// Where the value at a JSON pointer stands in `text`. Of keys that stand twice the last one counts.
pub(crate) fn locate(text: &str, pointer: &str) -> Option<Range<usize>> {
    let mut value: &RawValue = serde_json::from_str(text).ok()?;
    if !pointer.is_empty() {
        for token in pointer.strip_prefix('/')?.split('/') {
            let token = token.replace("~1", "/").replace("~0", "~");
            value = match serde_json::from_str(value.get()).ok()? {
                Inside::Object(members) => members.into_iter().rev().find(|(key, _)| key.as_str() == token)?.1,
                Inside::List(elements) => elements.get(token.parse::<usize>().ok()?)?,
            };
        }
    }
    // The value borrows from the text, so its address says where it stands.
    let start = value.get().as_ptr() as usize - text.as_ptr() as usize;
    Some(start..start + value.get().len())
}

/// The elements of the list at a JSON pointer, each byte for byte; none where there is no list.
///
/// It reads the whole text. Whoever needs many elements asks once and keeps the answer: one reading for each of
/// them would cost the square of the entry's length.
pub(crate) fn elements<'t>(text: &'t str, pointer: &str) -> Vec<&'t RawValue> {
    locate(text, pointer).and_then(|span| serde_json::from_str(&text[span]).ok()).unwrap_or_default()
}

/// What a container holds.
enum Inside<'a> {
    Object(Vec<(Str<'a>, &'a RawValue)>),
    List(Vec<&'a RawValue>),
}

struct InsideVisitor;

impl<'de> Visitor<'de> for InsideVisitor {
    type Value = Inside<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or a list")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(Inside::Object(members))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = list.next_element()? {
            elements.push(element);
        }
        Ok(Inside::List(elements))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Inside<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(InsideVisitor)
    }
}

#[cfg(test)]
mod tests;
