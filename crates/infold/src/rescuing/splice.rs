//! Changes values inside a JSON text and leaves every other byte as it is.

#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// The changes to one text.
#[derive(Debug)]
pub struct Splice<'a> {
    text: &'a str,
    edits: Vec<(Range<usize>, String)>,
}

impl<'a> Splice<'a> {
    /// No changes yet.
    pub fn new(text: &'a str) -> Self {
        Self { text, edits: Vec::new() }
    }

    /// The text of the value at a path of keys, as it stands.
    pub fn get(&self, path: &[&str]) -> Option<&'a str> {
        find(self.text, path).map(|span| &self.text[span])
    }

    /// The texts of the elements of the array at a path, or `None` if there is no array.
    pub fn elements(&self, path: &[&str]) -> Option<Vec<&'a str>> {
        let elements: Vec<&'a RawValue> = serde_json::from_str(self.get(path)?).ok()?;
        Some(elements.into_iter().map(RawValue::get).collect())
    }

    /// Puts another value where one is. Where there is none, nothing happens.
    pub fn set(&mut self, path: &[&str], json: impl Into<String>) {
        self.set_in(self.text, path, json);
    }

    /// The same for a path inside of a value that was found before, so that many changes to one text
    /// do not each go over all of it.
    pub fn set_in(&mut self, value: &'a str, path: &[&str], json: impl Into<String>) {
        let offset = value.as_ptr().addr() - self.text.as_ptr().addr();
        if let Some(span) = find(value, path) {
            self.edits.push((span.start + offset..span.end + offset, json.into()));
        }
    }

    /// Leaves only the wanted elements of an array.
    pub fn retain(&mut self, path: &[&str], is_wanted: impl Fn(usize) -> bool) {
        let Some(span) = find(self.text, path) else { return };
        let Ok(elements) = serde_json::from_str::<Vec<&RawValue>>(&self.text[span.clone()]) else { return };
        let offset = |element: &RawValue| element.get().as_ptr().addr() - self.text.as_ptr().addr();
        let mut cuts = Vec::new();
        let mut kept = 0;
        for (at, element) in elements.iter().enumerate() {
            if is_wanted(at) {
                kept += 1;
                continue;
            }
            // The comma after an element goes with it, or the one before if nothing kept follows.
            let end = elements.get(at + 1).map_or(span.end - 1, |next| offset(next));
            cuts.push(offset(element)..end);
        }
        let is_last_cut = elements.len().checked_sub(1).is_some_and(|last| !is_wanted(last));
        if kept > 0 && is_last_cut {
            let last_kept = (0..elements.len()).rev().find(|at| is_wanted(*at)).unwrap_or(0);
            let end = offset(elements[last_kept]) + elements[last_kept].get().len();
            cuts.retain(|cut| cut.start < end);
            cuts.push(end..span.end - 1);
        }
        self.edits.extend(cuts.into_iter().map(|cut| (cut, String::new())));
    }

    /// The text with its changes.
    pub fn finish(mut self) -> String {
        self.edits.sort_by_key(|(span, _)| (span.start, span.end));
        let mut out = String::with_capacity(self.text.len());
        let mut done = 0;
        for (span, new) in &self.edits {
            // A change inside of what another one has replaced has nothing left to change.
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

/// The keys and values of the object that a text holds.
pub fn fields(text: &str) -> Option<Vec<(String, &RawValue)>> {
    serde_json::from_str::<Object<'_>>(text).ok().map(|object| object.0)
}

/// Where the value at a path stands.
fn find(text: &str, path: &[&str]) -> Option<Range<usize>> {
    let mut part = text;
    for key in path {
        // Of a key that comes twice, readers take the last.
        part = fields(part)?.into_iter().rev().find(|(name, _)| name == key)?.1.get();
    }
    let start = part.as_ptr().addr() - text.as_ptr().addr();
    Some(start..start + part.len())
}

/// An object whose values are not looked into.
struct Object<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Object<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;

        impl<'de> Visitor<'de> for Fields {
            type Value = Object<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Object(fields))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> Result<Self::Value, A::Error> {
                Err(serde::de::Error::custom("an array"))
            }
        }

        deserializer.deserialize_map(Fields)
    }
}
