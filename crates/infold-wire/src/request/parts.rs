//! Finds the texts in blocks, and writes results with other texts in them.

use std::borrow::Cow;

use infold_core::view::BlockKind;

use super::json::{At, Document, JsonShape, decode, quote};
use super::keys::{MARK, TEXT_KINDS};
use super::splice::Splices;
use super::{BlockForm, Request, remarks};

/// How much of a text is looked at to find out who said it, in bytes.
const BEGINNING_BYTES: usize = 256;

/// How many parts can lie inside each other and still count as text. Clients send two.
const PARTS_DEPTH_MAX: usize = 16;

/// The beginning of a text, long enough to find out who said it.
pub(super) fn beginning<'a>(document: &Document<'a>, at: At) -> Cow<'a, str> {
    let raw = document.raw(at);
    let inside = raw.get(1..raw.len().saturating_sub(1)).unwrap_or_default();
    if inside.len() <= BEGINNING_BYTES {
        return document.text(at).unwrap_or_default();
    }
    let mut end = inside.floor_char_boundary(BEGINNING_BYTES);
    // The cut must not be inside an escape, which has at most six characters.
    if let Some(backslash) = inside[..end].rfind('\\').filter(|backslash| end - backslash < 6) {
        end = backslash - inside[..backslash].bytes().rev().take_while(|byte| *byte == b'\\').count();
    }
    let start = decode(&inside[..end]);
    if start.trim_start().is_empty() { document.text(at).unwrap_or_default() } else { start }
}

/// The arguments at this place: the content if they are a string, else their JSON.
pub(super) fn arguments_at<'a>(document: &Document<'a>, at: At) -> Cow<'a, str> {
    document.text(at).unwrap_or_else(|| Cow::Borrowed(document.raw(at)))
}

/// The places of all texts in the content of a result. Other strings of a result are in
/// [`Request::strings_beside_texts`].
pub(super) fn places(document: &Document<'_>, content: At) -> Vec<At> {
    let mut found = Vec::new();
    places_in(document, content, 0, &mut found);
    found
}

fn places_in(document: &Document<'_>, content: At, depth: usize, found: &mut Vec<At>) {
    if document.shape(content) != JsonShape::List {
        places_in_part(document, content, depth, found);
    }
    document.elements(content).for_each(|element| places_in_part(document, element, depth, found));
}

/// The places of texts in one part, whatever its kind: a kind that is not known yet may hold some too.
fn places_in_part(document: &Document<'_>, part: At, depth: usize, found: &mut Vec<At>) {
    if document.is_text(part) {
        found.push(part);
        return;
    }
    if depth == PARTS_DEPTH_MAX {
        return;
    }
    for (key, value) in document.members(part) {
        match document.text(key).as_deref() {
            Some("text" | "title" | "context" | "stdout" | "stderr") if document.is_text(value) => found.push(value),
            Some("content") => places_in(document, value, depth + 1, found),
            Some("source") => places_in_source(document, value, depth + 1, found),
            _ => {}
        }
    }
}

/// The places of texts in the source of an attached document, if it is made of text.
fn places_in_source(document: &Document<'_>, source: At, depth: usize, found: &mut Vec<At>) {
    if document.text_field(source, "type").as_deref() == Some("text") {
        found.extend(document.field(source, "data").filter(|data| document.is_text(*data)));
    }
    if let Some(content) = document.field(source, "content") {
        places_in(document, content, depth + 1, found);
    }
}

/// The texts in the content of a result, in order.
pub(super) fn texts_in<'a>(document: &Document<'a>, content: At) -> Vec<Cow<'a, str>> {
    places(document, content).into_iter().filter_map(|at| document.text(at)).collect()
}

/// Joins texts; each begins on a new line.
pub(super) fn lines<'a>(mut texts: Vec<Cow<'a, str>>) -> Cow<'a, str> {
    match texts.len() {
        0 => Cow::Borrowed(""),
        1 => texts.remove(0),
        _ => Cow::Owned(texts.join("\n")),
    }
}

/// The texts of a block; see [`Request::text_parts`].
pub(super) fn texts<'a>(request: &Request<'a>, block: usize) -> Vec<Cow<'a, str>> {
    let document = &request.document;
    let (Some(of), Some(seat)) = (request.blocks.get(block), request.seats.get(block)) else { return Vec::new() };
    let entry = &request.entries[of.entry];
    match (&of.kind, seat.form) {
        (BlockKind::Result(_), _) => seat.content.map_or_else(Vec::new, |content| texts_in(document, content)),
        (BlockKind::Call(_), _) => arguments(request, block).into_iter().collect(),
        (BlockKind::Reasoning, form) => reasoning(document, form, entry.at),
        (_, BlockForm::Text(at) | BlockForm::Field(_, at)) => document.text(at).into_iter().collect(),
        (_, BlockForm::Element(at)) => {
            let mut found = Vec::new();
            places_in_part(document, at, 0, &mut found);
            found.into_iter().filter_map(|place| document.text(place)).collect()
        }
        (_, BlockForm::Whole | BlockForm::Call(_)) => document.text(entry.at).into_iter().collect(),
    }
}

fn reasoning<'a>(document: &Document<'a>, form: BlockForm, entry: At) -> Vec<Cow<'a, str>> {
    let at = match form {
        BlockForm::Whole => entry,
        BlockForm::Text(at) | BlockForm::Element(at) | BlockForm::Call(at) | BlockForm::Field(_, at) => at,
    };
    let own = document.text(at).or_else(|| document.text_field(at, "thinking"));
    let lists = ["summary", "content"].iter().filter_map(|key| document.field(at, key));
    let parts = lists.flat_map(|list| document.elements(list)).filter_map(|part| document.text_field(part, "text"));
    own.into_iter().chain(parts).collect()
}

/// The text of a block in one piece; see [`Request::words`].
pub(super) fn words<'a>(request: &Request<'a>, block: usize) -> Cow<'a, str> {
    lines(texts(request, block))
}

/// The arguments of a call; `None` for other blocks.
pub(super) fn arguments<'a>(request: &Request<'a>, block: usize) -> Option<Cow<'a, str>> {
    let document = &request.document;
    let of = request.blocks.get(block).filter(|block| matches!(block.kind, BlockKind::Call(_)))?;
    let object = match request.seats[block].form {
        BlockForm::Call(at) => document.field(at, "function").or_else(|| document.field(at, "custom"))?,
        BlockForm::Element(at) => at,
        BlockForm::Whole | BlockForm::Text(_) | BlockForm::Field(..) => request.entries[of.entry].at,
    };
    let at = ["arguments", "input", "action", "operation"].iter().find_map(|key| document.field(object, key))?;
    Some(arguments_at(document, at))
}

/// The content of a result with other texts in it; see [`Request::content_json`].
pub(super) fn content_json(request: &Request<'_>, block: usize, texts: &[Option<String>]) -> Vec<u8> {
    let document = &request.document;
    let Some(content) = request.seats.get(block).and_then(|seat| seat.content) else { return b"\"\"".to_vec() };
    let mut splices = Splices::default();
    for (at, text) in places(document, content).into_iter().zip(texts) {
        if let Some(text) = text {
            let mut json = Vec::with_capacity(text.len() + 16);
            quote(text, &mut json);
            splices.replace(document, at, json);
        }
    }
    for element in document.elements(content) {
        if let Some((key, _)) = document.member(element, MARK) {
            splices.remove_members(document, element, &[key]);
        }
    }
    let mut json = Vec::with_capacity(document.raw(content).len());
    splices.write(document.body(), document.span(content), &mut json);
    json
}

/// The content of a result with one text in place of all of it, in the shape that the content had. Content that text
/// cannot replace stays as it is.
pub(super) fn content_of_text(request: &Request<'_>, block: usize, text: &str) -> Vec<u8> {
    let document = &request.document;
    let mut json = Vec::with_capacity(text.len() + 16);
    let Some(content) = request.seats.get(block).and_then(|seat| seat.content) else {
        quote(text, &mut json);
        return json;
    };
    match content_form(document, content) {
        ContentForm::Words => quote(text, &mut json),
        ContentForm::Shell => {
            json.extend_from_slice(b"[{\"stdout\":");
            quote(text, &mut json);
            json.extend_from_slice(b",\"stderr\":\"\",\"outcome\":{\"type\":\"exit\",\"exit_code\":0}}]");
        }
        ContentForm::Fixed => json.extend_from_slice(document.raw(content).as_bytes()),
    }
    json
}

/// The text that a quote of a result holds: what the tool printed, or the texts in the JSON that replaces it.
pub(super) fn quoted(request: &Request<'_>, block: usize, json: Option<&[u8]>) -> String {
    let Some(json) = json else {
        return remarks::part(texts(request, block)).printed.join("\n");
    };
    let read = std::str::from_utf8(json).ok().and_then(|json| Document::read(json.as_bytes()).ok());
    let texts = read.map(|document| lines(remarks::part(texts_in(&document, 0)).printed).into_owned());
    texts.unwrap_or_else(|| String::from_utf8_lossy(json).into_owned())
}

/// Whether a result holds only text.
pub(super) fn is_all_text(request: &Request<'_>, block: usize) -> bool {
    let document = &request.document;
    let Some(seat) = request.seats.get(block) else { return false };
    let Some(content) = seat.content else { return true };
    let is_text = |part: At| {
        let kind = document.text_field(part, "type");
        let is_words = document.is_text(part) || kind.as_deref().is_some_and(|kind| TEXT_KINDS.contains(&kind));
        is_words || document.field(part, "stdout").is_some()
    };
    match document.shape(content) {
        JsonShape::Text | JsonShape::EscapedText | JsonShape::Plain => true,
        JsonShape::List => document.elements(content).all(is_text),
        JsonShape::Object => false,
    }
}

/// The shapes that the content of a result can have.
enum ContentForm {
    /// Text, or a list of typed parts.
    Words,
    /// A list with the output of each command of a shell.
    Shell,
    /// Something special (a screenshot, found tools) that text cannot replace.
    Fixed,
}

fn content_form(document: &Document<'_>, content: At) -> ContentForm {
    let first = document.elements(content).next();
    let kind = first.and_then(|first| document.text_field(first, "type"));
    match document.shape(content) {
        JsonShape::Object => ContentForm::Fixed,
        JsonShape::List if first.is_some_and(|first| document.field(first, "stdout").is_some()) => ContentForm::Shell,
        JsonShape::List if matches!(kind.as_deref(), Some("namespace" | "function")) => ContentForm::Fixed,
        JsonShape::List | JsonShape::Text | JsonShape::EscapedText | JsonShape::Plain => ContentForm::Words,
    }
}
