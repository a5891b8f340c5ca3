//! From a plan's pieces to the body that is sent.
//!
//! Pieces of one entry that follow one another make one entry again: the client's own bytes if all of it is kept,
//! else what is left of it in the client's frame. Words of ours go into the entry they are said in, or become one.
//! What stands around the conversation is never touched.

mod entry;
mod marks;

use std::collections::HashSet;
use std::ops::Range;

use infold_core::view::{BlockKind, ViewPiece};

use super::json::{At, Document, quote};
use super::{Api, Request, Speaker, parts};

use marks::Mark;

/// The body that `pieces` ask for.
pub(super) fn apply(request: &Request<'_>, pieces: &[ViewPiece]) -> Vec<u8> {
    let body = request.body();
    let is_whole = pieces.len() == request.blocks.len()
        && pieces.iter().enumerate().all(|(index, piece)| *piece == ViewPiece::Keep(index));
    let (false, Some(list)) = (is_whole, request.list) else { return body.to_vec() };

    let pieces: Vec<ViewPiece> = pieces.iter().map(|piece| said_out(request, piece)).collect();
    let placed = results_first(request, &pieces);
    let marks = marks::decide(request, &placed);
    let runs = runs(request, &placed);

    let place = request.document.span(list);
    let said: usize = placed.iter().map(|piece| said_bytes(piece)).sum();
    let mut out = Vec::with_capacity(body.len() + said + 1024);
    out.extend_from_slice(&body[..place.start]);
    let mut list = ListWriter::new(&request.document, list);
    let mut written = HashSet::new();
    for run in runs {
        list.next(run.entry.map(|entry| request.entries[entry].at), &mut out);
        let is_again = run.entry.is_some_and(|entry| !written.insert(entry));
        let (pieces, marks) = (&placed[run.pieces.clone()], &marks[run.pieces.clone()]);
        let part = Run { entry: run.entry, is_again, pieces, marks };
        entry::write(request, &part, &mut out);
    }
    list.finish(&mut out);
    out.extend_from_slice(&body[place.end..]);
    out
}

/// A piece as it is written: what a quote quotes is said.
fn said_out(request: &Request<'_>, piece: &ViewPiece) -> ViewPiece {
    match piece {
        ViewPiece::Quote { block, json, head } => {
            let text = format!("{head}\n{}", parts::quoted(request, *block, json.as_deref()));
            ViewPiece::Say { entry: None, text }
        }
        ViewPiece::Keep(_)
        | ViewPiece::Content { .. }
        | ViewPiece::Text { .. }
        | ViewPiece::Words { .. }
        | ViewPiece::Say { .. } => piece.clone(),
    }
}

fn said_bytes(piece: &ViewPiece) -> usize {
    match piece {
        ViewPiece::Keep(_) => 0,
        ViewPiece::Content { json, .. } => json.len(),
        ViewPiece::Text { text, .. } | ViewPiece::Words { text, .. } | ViewPiece::Say { text, .. } => {
            text.len() + text.len() / 8 + 128
        }
        ViewPiece::Quote { head, .. } => head.len(),
    }
}

/// The block that a piece is of; none for words of ours.
fn block_of(piece: &ViewPiece) -> Option<usize> {
    match piece {
        ViewPiece::Keep(block)
        | ViewPiece::Content { block, .. }
        | ViewPiece::Text { block, .. }
        | ViewPiece::Words { block, .. } => Some(*block),
        ViewPiece::Quote { .. } | ViewPiece::Say { .. } => None,
    }
}

/// The pieces with words of ours behind the results that are due: every API wants results to follow their calls
/// before anything is said. Pieces of blocks that are not there are left out, and so are words that say nothing, which
/// Anthropic refuses.
fn results_first<'p>(request: &Request<'_>, pieces: &'p [ViewPiece]) -> Vec<&'p ViewPiece> {
    let mut placed = Vec::with_capacity(pieces.len());
    let mut said = Vec::new();
    let mut due: HashSet<&str> = HashSet::new();
    for piece in pieces {
        let Some(block) = block_of(piece) else {
            said.extend(matches!(piece, ViewPiece::Say { text, .. } if !text.is_empty()).then_some(piece));
            continue;
        };
        let Some(block) = request.blocks.get(block) else { continue };
        if due.is_empty() {
            placed.append(&mut said);
        }
        match &block.kind {
            BlockKind::Call(call) => drop(due.insert(call.id.as_ref())),
            BlockKind::Result(result) => drop(due.remove(result.call.as_ref())),
            _ => {}
        }
        placed.push(piece);
    }
    placed.append(&mut said);
    placed
}

/// Pieces that make one entry of the new list.
struct Span {
    entry: Option<usize>,
    pieces: Range<usize>,
}

/// Such pieces, and what becomes of each one's mark.
struct Run<'p> {
    entry: Option<usize>,
    /// Whether another part of the same entry was written before.
    is_again: bool,
    pieces: &'p [&'p ViewPiece],
    marks: &'p [Mark],
}

fn runs(request: &Request<'_>, pieces: &[&ViewPiece]) -> Vec<Span> {
    let mut runs: Vec<Span> = Vec::new();
    for (index, piece) in pieces.iter().enumerate() {
        let entry = entry_of(request, piece);
        match runs.last_mut() {
            Some(run) if entry.is_some() && run.entry == entry => run.pieces.end = index + 1,
            _ => runs.push(Span { entry, pieces: index..index + 1 }),
        }
    }
    runs
}

/// The client's entry that a piece belongs into.
fn entry_of(request: &Request<'_>, piece: &ViewPiece) -> Option<usize> {
    match piece {
        ViewPiece::Keep(block)
        | ViewPiece::Content { block, .. }
        | ViewPiece::Text { block, .. }
        | ViewPiece::Words { block, .. } => Some(request.blocks[*block].entry),
        ViewPiece::Quote { .. } => None,
        ViewPiece::Say { entry, .. } => {
            entry.filter(|entry| request.entries.get(*entry).is_some_and(|entry| entry.speaker == Speaker::User))
        }
    }
}

/// Writes a list that takes elements from one that is there, with the space between those that follow one another
/// there too. What stood there may have been plain text; then there is nothing to take.
struct ListWriter<'d, 'a> {
    document: &'d Document<'a>,
    list: At,
    /// The elements of the old list, in order.
    elements: Vec<At>,
    /// What was written last: an element of the old list, by its place there, or something new.
    last: Option<Option<usize>>,
}

impl<'d, 'a> ListWriter<'d, 'a> {
    fn new(document: &'d Document<'a>, list: At) -> Self {
        Self { document, list, elements: document.elements(list).collect(), last: None }
    }

    /// Writes what goes in front of an element; `old` is the one that it was.
    fn next(&mut self, old: Option<At>, out: &mut Vec<u8>) {
        let place = old.and_then(|old| self.elements.binary_search(&old).ok());
        let body = self.document.body().as_bytes();
        match (self.last, place, self.elements.first()) {
            (None, _, Some(first)) => {
                out.extend_from_slice(&body[self.document.span(self.list).start..self.document.span(*first).start]);
            }
            (None, _, None) => {
                let empty = self.document.raw(self.list);
                out.extend_from_slice(empty.strip_suffix(']').unwrap_or("[").as_bytes());
            }
            (Some(Some(last)), Some(place), _) if last + 1 == place => {
                let [before, after] = [last, place].map(|place| self.document.span(self.elements[place]));
                out.extend_from_slice(&body[before.end..after.start]);
            }
            (Some(_), ..) => out.push(b','),
        }
        self.last = Some(place);
    }

    fn finish(self, out: &mut Vec<u8>) {
        let end = self.document.span(self.list).end;
        let body = self.document.body().as_bytes();
        match (self.last, self.elements.last()) {
            (Some(_), Some(last)) => out.extend_from_slice(&body[self.document.span(*last).end..end]),
            (Some(_), None) => out.push(b']'),
            (None, _) => out.extend_from_slice(b"[]"),
        }
    }
}

/// A block of text in the API's form.
fn text_block(api: Api, text: &str, mark: Option<&str>, out: &mut Vec<u8>) {
    let kind = if api == Api::Responses { "input_text" } else { "text" };
    out.extend_from_slice(format!("{{\"type\":\"{kind}\",\"text\":").as_bytes());
    quote(text, out);
    if let Some(mark) = mark {
        out.extend_from_slice(b",\"cache_control\":");
        out.extend_from_slice(mark.as_bytes());
    }
    out.push(b'}');
}
