//! Writes one entry of the new list: the client's own bytes, or what is left of the entry with its other fields
//! unchanged.

use infold_core::view::{BlockKind, ViewPiece};

use super::super::json::{At, quote};
use super::super::keys::MARK;
use super::super::splice::Splices;
use super::super::{Api, BlockForm, Request, RequestEntry, parts};
use super::marks::Mark;
use super::{EntryRun, ListWriter, block_of, text_block};

/// Writes the entry that a run of pieces forms.
pub(super) fn write(request: &Request<'_>, run: &EntryRun<'_>, out: &mut Vec<u8>) {
    let Some(entry) = run.entry.and_then(|entry| request.entries.get(entry)) else {
        run.pieces.iter().zip(run.marks).for_each(|(piece, mark)| own_entry(request, piece, *mark, out));
        return;
    };
    let is_kept = |(block, piece): (usize, &&ViewPiece)| **piece == ViewPiece::Keep(block);
    let is_whole = !run.is_again
        && entry.blocks.len() == run.pieces.len()
        && entry.blocks.clone().zip(run.pieces).all(is_kept)
        && run.marks.iter().all(|mark| *mark == Mark::AsItWas);
    if is_whole && !request.document.is_text(entry.at) {
        out.extend_from_slice(request.document.raw(entry.at).as_bytes());
        return;
    }
    match request.document.is_text(entry.at) {
        true => lone_words(request, entry, run, out),
        false => framed(request, entry, run, out),
    }
}

/// Writes words of infold as an entry of their own.
fn own_entry(request: &Request<'_>, piece: &ViewPiece, mark: Mark, out: &mut Vec<u8>) {
    let ViewPiece::Say { text, .. } = piece else { return };
    match request.api {
        Api::Chat => {
            out.extend_from_slice(b"{\"role\":\"user\",\"content\":");
            quote(text, out);
            out.push(b'}');
        }
        Api::Messages | Api::Responses => {
            let kind: &[u8] = if request.api == Api::Responses { b"\"type\":\"message\"," } else { b"" };
            out.push(b'{');
            out.extend_from_slice(kind);
            out.extend_from_slice(b"\"role\":\"user\",\"content\":[");
            text_block(request.api, text, set_mark(request, mark), out);
            out.extend_from_slice(b"]}");
        }
    }
}

/// Writes a conversation that was plain text as a message, because other words are added to it or come beside it.
fn lone_words(request: &Request<'_>, entry: &RequestEntry, run: &EntryRun<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"type\":\"message\",\"role\":\"user\",\"content\":[");
    for (index, piece) in run.pieces.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        let words = request.document.text(entry.at).unwrap_or_default();
        match piece {
            ViewPiece::Say { text, .. } | ViewPiece::Words { text, .. } => text_block(request.api, text, None, out),
            ViewPiece::Keep(_) | ViewPiece::Content { .. } | ViewPiece::Text { .. } | ViewPiece::Quote { .. } => {
                text_block(request.api, &words, None, out);
            }
        }
    }
    out.extend_from_slice(b"]}");
}

/// Writes what is left of an entry; its fields beside content and calls keep their bytes.
fn framed(request: &Request<'_>, entry: &RequestEntry, run: &EntryRun<'_>, out: &mut Vec<u8>) {
    let document = &request.document;
    let mut splices = Splices::default();
    let is_there = |block: usize| run.pieces.iter().any(|piece| block_of(piece) == Some(block));
    let dropped_fields: Vec<At> = entry
        .blocks
        .clone()
        .filter(|block| !is_there(*block))
        .filter_map(|block| match request.seats[block].form {
            BlockForm::Field(key, _) => Some(key),
            BlockForm::Whole | BlockForm::Text(_) | BlockForm::Element(_) | BlockForm::Call(_) => None,
        })
        .collect();
    let mut dropped_members = dropped_fields;
    // The Responses API refuses two items with the same id.
    if run.is_again && request.api == Api::Responses {
        dropped_members.extend(document.member(entry.at, "id").map(|(key, _)| key));
    }
    if let Some(calls) = entry.calls {
        calls_left(request, entry, run, calls, (&mut splices, &mut dropped_members));
    }
    if let Some(content) = entry.content {
        content_left(request, entry, run, content, &mut splices);
    }
    whole_result(request, entry, run, &mut splices);
    splices.remove_members(document, entry.at, &dropped_members);
    splices.write(document.body(), document.span(entry.at), out);
}

/// Removes the calls of a message (Chat) that are not kept; without any left, their list goes too.
fn calls_left(
    request: &Request<'_>,
    entry: &RequestEntry,
    run: &EntryRun<'_>,
    calls: At,
    (splices, dropped): (&mut Splices, &mut Vec<At>),
) {
    let document = &request.document;
    let kept: Vec<At> = run
        .pieces
        .iter()
        .filter_map(|piece| match request.seats[block_of(piece)?].form {
            BlockForm::Call(at) => Some(at),
            BlockForm::Whole | BlockForm::Text(_) | BlockForm::Element(_) | BlockForm::Field(..) => None,
        })
        .collect();
    if kept.is_empty() {
        dropped.extend(document.members(entry.at).find(|(_, value)| *value == calls).map(|(key, _)| key));
        return;
    }
    if document.elements(calls).eq(kept.iter().copied()) {
        return;
    }
    let mut json = Vec::new();
    let mut list = ListWriter::new(document, calls);
    for call in kept {
        list.next(Some(call), &mut json);
        json.extend_from_slice(document.raw(call).as_bytes());
    }
    list.finish(&mut json);
    splices.replace(document, calls, json);
}

/// Replaces the content of a message by what is left of it, with words of infold added.
fn content_left(request: &Request<'_>, entry: &RequestEntry, run: &EntryRun<'_>, content: At, splices: &mut Splices) {
    let document = &request.document;
    let form_of = |piece: &ViewPiece| block_of(piece).map(|block| request.seats[block].form);
    let parts: Vec<(&ViewPiece, Mark)> = run
        .pieces
        .iter()
        .zip(run.marks)
        .map(|(piece, mark)| (*piece, *mark))
        .filter(|(piece, _)| matches!(form_of(piece), None | Some(BlockForm::Text(_) | BlockForm::Element(_))))
        .collect();
    let had_parts = entry
        .blocks
        .clone()
        .any(|block| matches!(request.seats[block].form, BlockForm::Text(_) | BlockForm::Element(_)));
    match parts.as_slice() {
        [] if had_parts => splices.replace(document, content, b"null".to_vec()),
        [] => {}
        // Plain text stays plain text: a list with the same text would be a different prefix to the provider's cache.
        [(ViewPiece::Words { text, .. }, Mark::AsItWas)] if document.is_text(content) => {
            let mut json = Vec::new();
            quote(text, &mut json);
            splices.replace(document, content, json);
        }
        [(piece, Mark::AsItWas)] if matches!(form_of(piece), Some(BlockForm::Text(_))) => {}
        [(ViewPiece::Say { text, .. }, Mark::AsItWas)] if document.is_text(content) => {
            let mut json = Vec::new();
            quote(text, &mut json);
            splices.replace(document, content, json);
        }
        parts => {
            let mut json = Vec::new();
            content_list(request, content, parts, &mut json);
            splices.replace(document, content, json);
        }
    }
}

fn content_list(request: &Request<'_>, content: At, parts: &[(&ViewPiece, Mark)], out: &mut Vec<u8>) {
    let document = &request.document;
    let mut list = ListWriter::new(document, content);
    for (piece, mark) in parts {
        let form = block_of(piece).map(|block| request.seats[block].form);
        let old = match form {
            Some(BlockForm::Element(at)) => Some(at),
            None | Some(BlockForm::Whole | BlockForm::Text(_) | BlockForm::Call(_) | BlockForm::Field(..)) => None,
        };
        list.next(old, out);
        match (piece, form) {
            (ViewPiece::Say { text, .. }, _) => text_block(request.api, text, set_mark(request, *mark), out),
            (ViewPiece::Words { text, .. }, Some(BlockForm::Text(_))) => {
                text_block(request.api, text, set_mark(request, *mark), out);
            }
            (_, Some(BlockForm::Text(at))) => {
                text_block(request.api, &document.text(at).unwrap_or_default(), set_mark(request, *mark), out);
            }
            (_, Some(BlockForm::Element(at))) => element_left(request, at, piece, *mark, out),
            (_, None | Some(BlockForm::Whole | BlockForm::Call(_) | BlockForm::Field(..))) => {}
        }
    }
    list.finish(out);
}

/// Writes one block of a message, with the content and the cache mark that it gets.
fn element_left(request: &Request<'_>, at: At, piece: &ViewPiece, mark: Mark, out: &mut Vec<u8>) {
    let document = &request.document;
    let mut splices = Splices::default();
    replace_content(request, at, piece, &mut splices);
    let old = document.member(at, MARK);
    match (mark, old) {
        (Mark::AsItWas, _) | (Mark::Removed, None) => {}
        (Mark::Removed, Some((key, _))) => splices.remove_members(document, at, &[key]),
        (Mark::Set(new), Some((_, old))) => splices.replace(document, old, document.raw(new).as_bytes().to_vec()),
        (Mark::Set(new), None) => splices.add_member(document, at, MARK, document.raw(new).as_bytes()),
    }
    splices.write(document.body(), document.span(at), out);
}

/// Replaces the content of a result that is an entry of its own.
fn whole_result(request: &Request<'_>, entry: &RequestEntry, run: &EntryRun<'_>, splices: &mut Splices) {
    let is_whole =
        |piece: &&&ViewPiece| block_of(piece).is_some_and(|block| request.seats[block].form == BlockForm::Whole);
    if let Some(piece) = run.pieces.iter().find(is_whole) {
        replace_content(request, entry.at, piece, splices);
    }
}

/// Puts the content that a piece asks for into the block at `at`.
fn replace_content(request: &Request<'_>, at: At, piece: &ViewPiece, splices: &mut Splices) {
    let (block, json) = match piece {
        ViewPiece::Keep(_) | ViewPiece::Quote { .. } | ViewPiece::Say { .. } => return,
        ViewPiece::Words { text, .. } => return replace_words(request, at, text, splices),
        ViewPiece::Content { block, json } => (*block, json.to_vec()),
        ViewPiece::Text { block, text } => (*block, parts::content_of_text(request, *block, text)),
    };
    if !matches!(request.blocks[block].kind, BlockKind::Result(_)) {
        return;
    }
    match request.seats[block].content {
        Some(content) => splices.replace(&request.document, content, json),
        None => splices.add_member(&request.document, at, content_key(request.api), &json),
    }
}

/// Replaces the words of the block at `at`.
fn replace_words(request: &Request<'_>, at: At, text: &str, splices: &mut Splices) {
    if let Some(old) = request.document.field(at, "text") {
        let mut json = Vec::new();
        quote(text, &mut json);
        splices.replace(&request.document, old, json);
    }
}

fn content_key(api: Api) -> &'static str {
    match api {
        Api::Messages | Api::Chat => "content",
        Api::Responses => "output",
    }
}

fn set_mark<'a>(request: &Request<'a>, mark: Mark) -> Option<&'a str> {
    match mark {
        Mark::Set(at) => Some(request.document.raw(at)),
        Mark::AsItWas | Mark::Removed => None,
    }
}
