//! Finds single values in a JSON text by their place, so that they can be copied or changed while every other byte
//! stays as it is.

use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::loose::Str;

/// The place in `text` of the value at a JSON pointer.
pub(crate) fn locate(text: &str, pointer: &str) -> Option<Range<usize>> {
    if pointer.is_empty() {
        return find(text, std::iter::empty::<&str>());
    }
    find(text, pointer.strip_prefix('/')?.split('/').map(|token| token.replace("~1", "/").replace("~0", "~")))
}

/// The elements of the list at a JSON pointer, each byte for byte; none where there is no list.
///
/// It parses the whole text. A caller that needs many elements should call it once and keep the list: one call for each
/// element would take time in the square of the entry's length.
pub(crate) fn elements<'t>(text: &'t str, pointer: &str) -> Vec<&'t RawValue> {
    locate(text, pointer).and_then(|span| serde_json::from_str(&text[span]).ok()).unwrap_or_default()
}

/// The keys and values of the object that a text holds; none where it holds something else.
pub(crate) fn members(text: &str) -> Vec<(Str<'_>, &RawValue)> {
    match serde_json::from_str(text) {
        Ok(Inside::Object(members)) => members,
        Ok(Inside::List(_)) | Err(_) => Vec::new(),
    }
}

/// The place of the value that a path of keys leads to. If an object has a key twice, the last one counts.
fn find<K: AsRef<str>>(text: &str, keys: impl Iterator<Item = K>) -> Option<Range<usize>> {
    let mut value: &RawValue = serde_json::from_str(text).ok()?;
    for key in keys {
        value = match serde_json::from_str(value.get()).ok()? {
            Inside::Object(members) => members.into_iter().rev().find(|(name, _)| name.as_str() == key.as_ref())?.1,
            Inside::List(elements) => elements.get(key.as_ref().parse::<usize>().ok()?)?,
        };
    }
    // The value borrows from the text, so its address gives its place there.
    let start = value.get().as_ptr() as usize - text.as_ptr() as usize;
    Some(start..start + value.get().len())
}

/// A JSON text, and the changes to be made to it.
#[derive(Debug)]
pub(crate) struct JsonText<'a> {
    text: &'a str,
    changes: Vec<(Range<usize>, String)>,
}

impl<'a> JsonText<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, changes: Vec::new() }
    }

    /// The JSON of the value at a path of keys.
    pub(crate) fn get(&self, keys: &[&str]) -> Option<&'a str> {
        find(self.text, keys.iter()).map(|span| &self.text[span])
    }

    /// The string at a path of keys, unescaped; `None` if there is none.
    pub(crate) fn string(&self, keys: &[&str]) -> Option<String> {
        serde_json::from_str(self.get(keys)?).ok()
    }

    /// The JSON of each element of the list at a path of keys; `None` if there is no list.
    pub(crate) fn elements(&self, keys: &[&str]) -> Option<Vec<&'a str>> {
        let elements: Vec<&'a RawValue> = serde_json::from_str(self.get(keys)?).ok()?;
        Some(elements.into_iter().map(RawValue::get).collect())
    }

    /// Replaces the value at a path of keys. If there is none, nothing happens.
    pub(crate) fn set<K: AsRef<str>>(&mut self, keys: &[K], json: impl Into<String>) {
        self.set_in(self.text, keys, json);
    }

    /// Does the same inside a value that was found before, so that many changes do not each parse the whole text.
    pub(crate) fn set_in<K: AsRef<str>>(&mut self, value: &'a str, keys: &[K], json: impl Into<String>) {
        let offset = value.as_ptr() as usize - self.text.as_ptr() as usize;
        if let Some(span) = find(value, keys.iter()) {
            self.changes.push((span.start + offset..span.end + offset, json.into()));
        }
    }

    /// Removes all elements but the wanted ones from the list at a path of keys.
    pub(crate) fn retain(&mut self, keys: &[&str], is_wanted: impl Fn(usize) -> bool) {
        let Some(span) = find(self.text, keys.iter()) else { return };
        let Some(elements) = self.elements(keys) else { return };
        let start_of = |element: &str| element.as_ptr() as usize - self.text.as_ptr() as usize;
        let Some(last_kept) = (0..elements.len()).rev().find(|at| is_wanted(*at)) else {
            self.changes.extend(elements.first().map(|first| (start_of(first)..span.end - 1, String::new())));
            return;
        };
        // The comma after a removed element goes too, or the comma before it if no kept element follows.
        let cuts = (0..last_kept).filter(|at| !is_wanted(*at));
        let mut cuts: Vec<_> = cuts.map(|at| start_of(elements[at])..start_of(elements[at + 1])).collect();
        if last_kept + 1 < elements.len() {
            cuts.push(start_of(elements[last_kept]) + elements[last_kept].len()..span.end - 1);
        }
        self.changes.extend(cuts.into_iter().map(|cut| (cut, String::new())));
    }

    /// The text with all changes made.
    pub(crate) fn finish(mut self) -> String {
        self.changes.sort_by_key(|(span, _)| (span.start, span.end));
        let mut out = String::with_capacity(self.text.len());
        let mut done = 0;
        for (span, new) in &self.changes {
            // A change inside a value that an earlier change replaced is dropped.
            if span.start < done {
                continue;
            }
            out.push_str(&self.text[done..span.start]);
            out.push_str(new);
            done = span.end;
        }
        out.push_str(&self.text[done..]);
        out
    }
}

/// The content of an object or a list.
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
