//! Indexes a request's JSON: where each value begins and ends, found in one pass, with nothing copied.
//!
//! What is forwarded unchanged is copied as bytes between two of these places, so the client's white space, escapes and
//! number forms stay as they were. A body that is not JSON is refused, so that nothing is ever edited that was not
//! understood. What many programs send and providers take is read, though the letter forbids it: a byte order mark in
//! front, and numbers that are none (`NaN`, `Infinity`).

mod scan;
mod text;

use std::borrow::Cow;
use std::ops::Range;

use super::RequestError;

pub(crate) use text::{decode, quote};

/// A text with the escapes of JSON strings in it read as what they mean, wherever they are.
pub fn unescaped(text: &str) -> Cow<'_, str> {
    decode(text)
}

/// The kind of a JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JsonShape {
    /// `null`, `true`, `false` or a number.
    Plain,
    /// A string without escapes, which can be borrowed.
    Text,
    /// A string with escapes, which must be decoded.
    EscapedText,
    List,
    /// An object. The nodes that follow are its keys and values in turn.
    Object,
}

/// The place of one value or key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Node {
    shape: JsonShape,
    start: u32,
    end: u32,
    /// The index of the next node that is not inside this one.
    after: u32,
}

/// The index of a node, which is how values are named.
pub(crate) type At = usize;

/// A body and the places of its values. Node 0 is the whole value.
#[derive(Debug)]
pub(crate) struct Document<'a> {
    body: &'a str,
    nodes: Vec<Node>,
}

/// A key of an object and its value.
pub(crate) type Member = (At, At);

impl<'a> Document<'a> {
    /// Reads `body`, or says why it is not JSON.
    pub(crate) fn read(body: &'a [u8]) -> Result<Self, RequestError> {
        let body = std::str::from_utf8(body).map_err(|_| RequestError::NotText)?;
        Ok(Self { body, nodes: scan::scan(body)? })
    }

    pub(crate) fn body(&self) -> &'a str {
        self.body
    }

    pub(crate) fn shape(&self, at: At) -> JsonShape {
        self.nodes[at].shape
    }

    /// The bytes of the body that a value takes.
    pub(crate) fn span(&self, at: At) -> Range<usize> {
        self.nodes[at].start as usize..self.nodes[at].end as usize
    }

    /// A value's own JSON.
    pub(crate) fn raw(&self, at: At) -> &'a str {
        &self.body[self.span(at)]
    }

    /// The index of the next value that is not inside this one.
    pub(crate) fn after(&self, at: At) -> At {
        self.nodes[at].after as usize
    }

    /// Whether a value is a string.
    pub(crate) fn is_text(&self, at: At) -> bool {
        matches!(self.shape(at), JsonShape::Text | JsonShape::EscapedText)
    }

    /// The content of a string, unescaped; `None` for other values.
    pub(crate) fn text(&self, at: At) -> Option<Cow<'a, str>> {
        let inside = || {
            let raw = self.raw(at);
            &raw[1..raw.len() - 1]
        };
        match self.shape(at) {
            JsonShape::Text => Some(Cow::Borrowed(inside())),
            JsonShape::EscapedText => Some(decode(inside())),
            JsonShape::Plain | JsonShape::List | JsonShape::Object => None,
        }
    }

    /// Whether a value is a string with exactly this content.
    pub(crate) fn says(&self, at: At, word: &str) -> bool {
        self.text(at).is_some_and(|text| text == word)
    }

    /// The elements of a list; empty for other values.
    pub(crate) fn elements(&self, at: At) -> Children<'_> {
        self.children(at, JsonShape::List)
    }

    /// The members of an object, in their order; empty for other values.
    pub(crate) fn members(&self, at: At) -> impl Iterator<Item = Member> + '_ {
        let mut children = self.children(at, JsonShape::Object);
        std::iter::from_fn(move || Some((children.next()?, children.next()?)))
    }

    /// The values of `keys` in an object. If one of these keys appears twice, the request is refused, because programs
    /// differ in which one they take.
    pub(crate) fn fields<const N: usize>(
        &self,
        at: At,
        keys: [&'static str; N],
    ) -> Result<[Option<At>; N], RequestError> {
        let mut found = [None; N];
        for (key, value) in self.members(at) {
            let Some(place) = keys.iter().position(|wanted| self.says(key, wanted)) else { continue };
            if found[place].replace(value).is_some() {
                return Err(RequestError::Twice { key: keys[place], at: self.span(key).start });
            }
        }
        Ok(found)
    }

    /// The member with a key, the first if there are several.
    pub(crate) fn member(&self, at: At, name: &str) -> Option<Member> {
        self.members(at).find(|(key, _)| self.says(*key, name))
    }

    /// The value of a key, the first if there are several.
    pub(crate) fn field(&self, at: At, name: &str) -> Option<At> {
        self.member(at, name).map(|(_, value)| value)
    }

    /// The string that a key has as its value, unescaped.
    pub(crate) fn text_field(&self, at: At, name: &str) -> Option<Cow<'a, str>> {
        self.field(at, name).and_then(|value| self.text(value))
    }

    fn children(&self, at: At, shape: JsonShape) -> Children<'_> {
        let node = self.nodes[at];
        let end = if node.shape == shape { node.after as usize } else { at + 1 };
        Children { nodes: &self.nodes, next: at + 1, end }
    }
}

/// Goes through the nodes directly inside a list or an object.
pub(crate) struct Children<'d> {
    nodes: &'d [Node],
    next: At,
    end: At,
}

impl Iterator for Children<'_> {
    type Item = At;

    fn next(&mut self) -> Option<At> {
        (self.next < self.end).then(|| {
            let at = self.next;
            self.next = self.nodes[at].after as usize;
            at
        })
    }
}

#[cfg(test)]
mod tests;
