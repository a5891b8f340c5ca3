//! A request's JSON as spans: where each value begins and ends, found in one pass, with nothing copied.
//!
//! Everything that is sent on unchanged is sent as the bytes between two of these places, so what a client
//! wrote (spacing, escapes, forms of numbers) stays as it was. What is not JSON to the letter is refused, so
//! that nothing is ever put into something that was not understood.

mod scan;
mod text;

use std::borrow::Cow;
use std::ops::Range;

use super::RequestError;

pub(crate) use text::{decode, quote};

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JsonShape {
    /// `null`, `true`, `false` or a number.
    Plain,
    /// Text without escapes.
    Text,
    /// Text with escapes.
    EscapedText,
    /// A list.
    List,
    /// An object. What follows are its keys and values, by turns.
    Object,
}

/// One value or key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Node {
    shape: JsonShape,
    start: u32,
    end: u32,
    /// The first node that is not part of this one.
    after: u32,
}

/// A node's number.
pub(crate) type At = usize;

/// A body and the places in it.
#[derive(Debug)]
pub(crate) struct Document<'a> {
    body: &'a str,
    nodes: Vec<Node>,
}

/// Values that stand in an object, each with the key that it stands under.
pub(crate) type Member = (At, At);

impl<'a> Document<'a> {
    /// Reads `body`. The first node is the whole value.
    pub(crate) fn read(body: &'a [u8]) -> Result<Self, RequestError> {
        let body = std::str::from_utf8(body).map_err(|_| RequestError::NotText)?;
        Ok(Self { body, nodes: scan::scan(body)? })
    }

    /// The text that everything was read from.
    pub(crate) fn body(&self) -> &'a str {
        self.body
    }

    /// What a value is.
    pub(crate) fn shape(&self, at: At) -> JsonShape {
        self.nodes[at].shape
    }

    /// Where a value stands.
    pub(crate) fn span(&self, at: At) -> Range<usize> {
        self.nodes[at].start as usize..self.nodes[at].end as usize
    }

    /// A value as it stands.
    pub(crate) fn raw(&self, at: At) -> &'a str {
        &self.body[self.span(at)]
    }

    /// Whether it is text.
    pub(crate) fn is_text(&self, at: At) -> bool {
        matches!(self.shape(at), JsonShape::Text | JsonShape::EscapedText)
    }

    /// What text says; nothing for other values.
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

    /// Whether text says just this.
    pub(crate) fn says(&self, at: At, word: &str) -> bool {
        self.text(at).is_some_and(|text| text == word)
    }

    /// The elements of a list; none for other values.
    pub(crate) fn elements(&self, at: At) -> Children<'_> {
        self.children(at, JsonShape::List)
    }

    /// The members of an object, in their order; none for other values.
    pub(crate) fn members(&self, at: At) -> impl Iterator<Item = Member> + '_ {
        let mut children = self.children(at, JsonShape::Object);
        std::iter::from_fn(move || Some((children.next()?, children.next()?)))
    }

    /// The values under `keys` in an object. A key that stands there twice is refused: programs differ in which
    /// one they take.
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

    /// The member under a key, the first if there are several.
    pub(crate) fn member(&self, at: At, name: &str) -> Option<Member> {
        self.members(at).find(|(key, _)| self.says(*key, name))
    }

    /// The value under a key, the first if there are several.
    pub(crate) fn field(&self, at: At, name: &str) -> Option<At> {
        self.member(at, name).map(|(_, value)| value)
    }

    /// What the text under a key says.
    pub(crate) fn text_field(&self, at: At, name: &str) -> Option<Cow<'a, str>> {
        self.field(at, name).and_then(|value| self.text(value))
    }

    fn children(&self, at: At, shape: JsonShape) -> Children<'_> {
        let node = self.nodes[at];
        let end = if node.shape == shape { node.after as usize } else { at + 1 };
        Children { nodes: &self.nodes, next: at + 1, end }
    }
}

/// The values directly in another.
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
