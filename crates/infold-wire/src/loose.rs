//! Types and functions to read JSON that is almost what it should be.
//!
//! A field of an unexpected type reads as if it were absent, so that one odd field does not make its whole entry
//! unreadable. Half a surrogate pair reads as U+FFFD, and if an object has a key twice, the last one counts.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer};

/// The largest count that is believed. No session comes near it, and sums of millions of counts still fit into a `u64`.
const COUNT_MAX: u64 = 1_000_000_000_000;

/// A string, borrowed where possible; empty if the value is no string.
#[derive(Debug, Default, Clone)]
pub(crate) struct Str<'a>(pub(crate) Cow<'a, str>);

impl Str<'_> {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The string, or `None` if it is empty.
    pub(crate) fn given(&self) -> Option<String> {
        if self.0.is_empty() { None } else { Some(self.0.clone().into_owned()) }
    }
}

/// An owned string; `None` if the value is no string.
#[derive(Debug, Default, Clone)]
pub(crate) struct Loose(pub(crate) Option<String>);

/// A boolean; `None` if the value is none.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Flag(pub(crate) Option<bool>);

impl Flag {
    pub(crate) fn is_set(self) -> bool {
        self.0 == Some(true)
    }
}

/// A whole number; `None` if the value is something else.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Count(pub(crate) Option<i64>);

impl Count {
    /// The count, at most [`COUNT_MAX`]; zero if there is none or it is negative.
    pub(crate) fn or_zero(self) -> u64 {
        self.0.and_then(|count| u64::try_from(count).ok()).unwrap_or(0).min(COUNT_MAX)
    }
}

/// An object; `None` if the value is something else.
#[derive(Debug, Clone)]
pub(crate) struct Maybe<T>(pub(crate) Option<T>);

impl<T> Default for Maybe<T> {
    fn default() -> Self {
        Self(None)
    }
}

/// A list; empty if the value is something else.
#[derive(Debug, Clone)]
pub(crate) struct List<T>(pub(crate) Vec<T>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

/// Visitor methods that accept values of unwanted types and return `$nothing` for them.
macro_rules! otherwise {
    ($nothing:expr; $($which:ident)*) => { $(otherwise!(@ $which $nothing);)* };
    (@ text $nothing:expr) => {
        fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> { Ok($nothing) }
    };
    (@ truth $nothing:expr) => {
        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> { Ok($nothing) }
    };
    (@ numbers $nothing:expr) => {
        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> { Ok($nothing) }
        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> { Ok($nothing) }
        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> { Ok($nothing) }
    };
    (@ null $nothing:expr) => {
        fn visit_unit<E>(self) -> Result<Self::Value, E> { Ok($nothing) }
        fn visit_none<E>(self) -> Result<Self::Value, E> { Ok($nothing) }
    };
    (@ list $nothing:expr) => {
        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            while list.next_element::<serde::de::IgnoredAny>()?.is_some() {}
            Ok($nothing)
        }
    };
    (@ map $nothing:expr) => {
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            while map.next_entry::<serde::de::IgnoredAny, serde::de::IgnoredAny>()?.is_some() {}
            Ok($nothing)
        }
    };
}
pub(crate) use otherwise;

struct StrVisitor;

impl<'de> Visitor<'de> for StrVisitor {
    type Value = Str<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Str(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Str(Cow::Owned(text.to_owned())))
    }

    otherwise!(Str::default(); truth numbers null list map);
}

impl<'de: 'a, 'a> Deserialize<'de> for Str<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrVisitor)
    }
}

struct LooseVisitor;

impl<'de> Visitor<'de> for LooseVisitor {
    type Value = Loose;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Loose(Some(text.to_owned())))
    }

    otherwise!(Loose(None); truth numbers null list map);
}

impl<'de> Deserialize<'de> for Loose {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LooseVisitor)
    }
}

struct FlagVisitor;

impl<'de> Visitor<'de> for FlagVisitor {
    type Value = Flag;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Self::Value, E> {
        Ok(Flag(Some(truth)))
    }

    otherwise!(Flag(None); text numbers null list map);
}

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FlagVisitor)
    }
}

struct CountVisitor;

impl<'de> Visitor<'de> for CountVisitor {
    type Value = Count;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_i64<E>(self, count: i64) -> Result<Self::Value, E> {
        Ok(Count(Some(count)))
    }

    fn visit_u64<E>(self, count: u64) -> Result<Self::Value, E> {
        Ok(Count(Some(i64::try_from(count).unwrap_or(i64::MAX))))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(Count(None))
    }

    otherwise!(Count(None); text truth null list map);
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CountVisitor)
    }
}

struct MaybeVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for MaybeVisitor<T> {
    type Value = Maybe<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(|value| Maybe(Some(value)))
    }

    otherwise!(Maybe(None); text truth numbers null list);
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Maybe<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(MaybeVisitor(PhantomData))
    }
}

struct ListVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ListVisitor<T> {
    type Value = List<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element()? {
            values.push(value);
        }
        Ok(List(values))
    }

    otherwise!(List(Vec::new()); text truth numbers null map);
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ListVisitor(PhantomData))
    }
}

/// Calls `read` with `text`; if that fails, repairs what can be repaired and calls it again. If nothing helps, the
/// first error is returned.
pub(crate) fn leniently<T>(
    text: &str,
    mut read: impl FnMut(&str) -> Result<T, serde_json::Error>,
) -> Result<T, serde_json::Error> {
    let first = match read(text) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    let mended = mend_surrogates(text);
    if let Cow::Owned(mended) = &mended
        && let Ok(value) = read(mended)
    {
        return Ok(value);
    }
    // An object may have a key twice: a parsed tree keeps the last one, and JSON written from it has each key once.
    if let Ok(tree) = serde_json::from_str::<serde_json::Value>(&mended)
        && tree.is_object()
        && let Ok(value) = read(&tree.to_string())
    {
        return Ok(value);
    }
    Err(first)
}

/// Replaces escapes of half a surrogate pair by U+FFFD. The length of the text stays the same.
pub(crate) fn mend_surrogates(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut mended = None;
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'\\', &bytes[at..]) {
        at += found;
        let Some(unit) = escaped_unit(bytes, at) else {
            at = (at + 2).min(bytes.len());
            continue;
        };
        let is_high = (0xd800..0xdc00).contains(&unit);
        let is_pair = is_high && escaped_unit(bytes, at + 6).is_some_and(|next| (0xdc00..0xe000).contains(&next));
        if is_pair {
            at += 12;
        } else {
            if (0xd800..0xe000).contains(&unit) {
                let mended: &mut String = mended.get_or_insert_with(|| text.to_owned());
                mended.replace_range(at..at + 6, "\\ufffd");
            }
            at += 6;
        }
    }
    mended.map_or(Cow::Borrowed(text), Cow::Owned)
}

/// The code unit of the escape `\uXXXX` at this index; `None` if there is no such escape.
fn escaped_unit(bytes: &[u8], at: usize) -> Option<u32> {
    let escape = bytes.get(at..at + 6)?;
    if &escape[..2] != b"\\u" {
        return None;
    }
    let digits = std::str::from_utf8(&escape[2..]).ok()?;
    u32::from_str_radix(digits, 16).ok()
}

/// The content of a JSON string, unescaped; other JSON is returned unchanged.
pub(crate) fn text_of(json: &str) -> String {
    if !json.starts_with('"') {
        return json.to_owned();
    }
    serde_json::from_str(json)
        .or_else(|_| serde_json::from_str(&mend_surrogates(json)))
        .unwrap_or_else(|_| json.to_owned())
}

#[cfg(test)]
mod tests;
