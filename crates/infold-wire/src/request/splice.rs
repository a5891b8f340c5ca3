//! Makes small changes in a long text: what lies between them is copied unchanged.

use std::ops::Range;

use super::json::{At, Document};

/// Changes to a body, each a range of bytes and what replaces it.
#[derive(Debug, Default)]
pub(super) struct Splices {
    changes: Vec<(Range<usize>, Vec<u8>)>,
}

impl Splices {
    /// Replaces a value by `bytes`.
    pub(super) fn replace(&mut self, document: &Document<'_>, at: At, bytes: Vec<u8>) {
        self.changes.push((document.span(at), bytes));
    }

    /// Removes the members with these keys from their object, with the commas that are no longer needed.
    pub(super) fn remove_members(&mut self, document: &Document<'_>, object: At, keys: &[At]) {
        let members: Vec<(At, At)> = document.members(object).collect();
        let mut kept_end = None;
        let mut gone_from = None;
        for (key, value) in &members {
            if keys.contains(key) {
                gone_from.get_or_insert(document.span(*key).start);
                continue;
            }
            if let Some(start) = gone_from.take() {
                self.changes.push((start..document.span(*key).start, Vec::new()));
            }
            kept_end = Some(document.span(*value).end);
        }
        if let (Some(start), Some((_, last))) = (gone_from, members.last()) {
            self.changes.push((kept_end.unwrap_or(start)..document.span(*last).end, Vec::new()));
        }
    }

    /// Adds a member after the others; an empty object stays empty.
    pub(super) fn add_member(&mut self, document: &Document<'_>, object: At, key: &str, json: &[u8]) {
        let Some((_, last)) = document.members(object).last() else { return };
        let end = document.span(last).end;
        let mut bytes = format!(",\"{key}\":").into_bytes();
        bytes.extend_from_slice(json);
        self.changes.push((end..end, bytes));
    }

    /// Writes the part of the body in `range` with the changes in it. Where two changes overlap, the first one is made.
    pub(super) fn write(mut self, body: &str, range: Range<usize>, out: &mut Vec<u8>) {
        self.changes.sort_by_key(|(place, _)| (place.start, place.end));
        let mut written = range.start;
        for (place, bytes) in self.changes {
            if place.start < written {
                continue;
            }
            out.extend_from_slice(&body.as_bytes()[written..place.start]);
            out.extend_from_slice(&bytes);
            written = place.end;
        }
        out.extend_from_slice(&body.as_bytes()[written..range.end]);
    }
}
