//! Writes the body that is sent from the pieces of a plan.
//!
//! Pieces of one entry that follow each other form one entry again: the client's own bytes if all of it is kept, else
//! what is left of it, with the entry's other fields unchanged. Words of infold go into the entry that the plan names,
//! or become an entry. What lies around the conversation is never touched.

mod entry;
mod marks;

use std::collections::HashSet;
use std::ops::Range;

use infold_core::view::{BlockKind, ViewPiece};

use super::json::{At, Document, quote};
use super::{Api, Request, Speaker, parts};

use marks::Mark;

/// Writes the body that `pieces` ask for.
pub(super) fn apply(request: &Request<'_>, pieces: &[ViewPiece]) -> Vec<u8> {
    let body = request.body();
    let is_whole = pieces.len() == request.blocks.len()
        && pieces.iter().enumerate().all(|(index, piece)| *piece == ViewPiece::Keep(index));
    let (false, Some(list)) = (is_whole, request.list) else { return body.to_vec() };

    let pieces: Vec<ViewPiece> = pieces.iter().map(|piece| quote_to_words(request, piece)).collect();
    let placed = results_first(request, &pieces);
    let marks = marks::decide(request, &placed);
    let runs = runs(request, &placed);

    let place = request.document.span(list);
    let added: usize = placed.iter().map(|piece| added_bytes(piece)).sum();
    let mut out = Vec::with_capacity(body.len() + added + 1024);
    out.extend_from_slice(&body[..place.start]);
    let mut list = ListWriter::new(&request.document, list);
    let mut written = HashSet::new();
    for run in runs {
        list.next(run.entry.map(|entry| request.entries[entry].at), &mut out);
        let is_again = run.entry.is_some_and(|entry| !written.insert(entry));
        let (pieces, marks) = (&placed[run.pieces.clone()], &marks[run.pieces.clone()]);
        let part = EntryRun { entry: run.entry, is_again, pieces, marks };
        entry::write(request, &part, &mut out);
    }
    list.finish(&mut out);
    out.extend_from_slice(&body[place.end..]);
    out
}

/// A piece as it is written: a quote becomes words with the quoted text in them.
fn quote_to_words(request: &Request<'_>, piece: &ViewPiece) -> ViewPiece {
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

fn added_bytes(piece: &ViewPiece) -> usize {
    match piece {
        ViewPiece::Keep(_) => 0,
        ViewPiece::Content { json, .. } => json.len(),
        ViewPiece::Text { text, .. } | ViewPiece::Words { text, .. } | ViewPiece::Say { text, .. } => {
            text.len() + text.len() / 8 + 128
        }
        ViewPiece::Quote { head, .. } => head.len(),
    }
}

/// The block that a piece shows; `None` for words of infold.
fn block_of(piece: &ViewPiece) -> Option<usize> {
    match piece {
        ViewPiece::Keep(block)
        | ViewPiece::Content { block, .. }
        | ViewPiece::Text { block, .. }
        | ViewPiece::Words { block, .. } => Some(*block),
        ViewPiece::Quote { .. } | ViewPiece::Say { .. } => None,
    }
}

/// Moves words of infold to after the results that are due, because every API wants results right after their calls.
/// Pieces of blocks that do not exist are left out, and so are empty words, which Anthropic refuses.
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

/// The pieces, by their indexes, that form one entry of the new list, and the client's entry that they come from.
struct Span {
    entry: Option<usize>,
    pieces: Range<usize>,
}

/// The pieces that form one entry of the new list, each with what becomes of its cache mark.
struct EntryRun<'p> {
    entry: Option<usize>,
    /// Whether another part of the same client's entry was written before.
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

/// The client's entry that a piece belongs to; `None` if it becomes an entry of its own.
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

/// Writes a list that takes elements from an old one. Elements that followed each other there keep the white space
/// between them. The old value may have been plain text; then there is nothing to take.
struct ListWriter<'d, 'a> {
    document: &'d Document<'a>,
    list: At,
    elements: Vec<At>,
    /// What was written last: an element of the old list, by its index there, or `Some(None)` for something new.
    last: Option<Option<usize>>,
}

impl<'d, 'a> ListWriter<'d, 'a> {
    fn new(document: &'d Document<'a>, list: At) -> Self {
        Self { document, list, elements: document.elements(list).collect(), last: None }
    }

    /// Writes what comes before the next element: a bracket, or a comma with white space. `old` is the element of the
    /// old list that it comes from.
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

/// Writes a block of text in the form of the API.
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
