//! Separates what a tool printed from the remarks that a client adds after it, in the same result: reminders, and words
//! that a person typed while the tool ran.
//!
//! Remarks come at the end, each in tags of its own (a frame) with an empty line before it. A tool can print the same
//! tags. Therefore nothing is hidden or ended because of a remark, and remarks have a bound: beyond it, everything
//! counts as printed by the tool.

use std::borrow::Cow;

use infold_core::transcript::Voice;
use infold_core::view::Remark;

use super::json::{At, Document};
use super::{keys, parts};
use crate::client_words::{figure, is_refusal_with_words, reminder_voice};

/// How many bytes of a result can count as remarks.
pub(super) const REMARKS_BYTES_MAX: usize = 64 << 10;

/// The texts of a result, separated into what the tool printed and remarks.
pub(super) struct Parted<'a> {
    /// The texts that the tool printed. Texts that hold only remarks are left out.
    pub(super) printed: Vec<Cow<'a, str>>,
    /// The remarks after them, in order.
    pub(super) remarks: Vec<Remark<'a>>,
}

/// Separates the texts of a result.
pub(super) fn part(texts: Vec<Cow<'_, str>>) -> Parted<'_> {
    let bytes: usize = texts.iter().map(|text| remarks_from(text).map_or(0, |from| text.len() - from)).sum();
    if bytes == 0 || bytes > REMARKS_BYTES_MAX {
        return Parted { printed: texts, remarks: Vec::new() };
    }
    let mut printed = texts;
    let mut remarks = Vec::new();
    while let Some(text) = printed.pop() {
        let Some(from) = remarks_from(&text) else {
            printed.push(text);
            break;
        };
        let mut here = frames(&text[from..]);
        here.append(&mut remarks);
        remarks = here;
        let is_all = text[..from].trim_end().is_empty() && !printed.is_empty();
        if !is_all {
            printed.push(Cow::Owned(text[..from].trim_end().to_owned()));
            break;
        }
    }
    Parted { printed, remarks }
}

/// Where the frames at the end of a text begin, or 0 if the whole text is a person's refusal; `None` if it has neither.
fn remarks_from(text: &str) -> Option<usize> {
    let mut from = None;
    let mut rest = text.trim_end();
    while let Some(at) = frame_from(rest).filter(|at| text.len() - at <= REMARKS_BYTES_MAX) {
        from = Some(at);
        rest = rest[..at].trim_end();
    }
    let is_refusal = rest.len() <= REMARKS_BYTES_MAX && is_refusal_with_words(rest);
    if is_refusal { Some(0) } else { from }
}

/// Where the last frame of a text begins, if the text ends with one: a tag with or without an id, alone on its line,
/// after an empty line.
fn frame_from(text: &str) -> Option<usize> {
    let closing = text.rfind("</system-reminder")?;
    is_tag_end(&text[closing + "</system-reminder".len()..]).then_some(())?;
    let inside = &text[..closing];
    let at = inside.rfind("<system-reminder")?;
    let (tag_end, _) = inside[at + "<system-reminder".len()..].split_once('\n')?;
    (is_tag_end(tag_end) && (at == 0 || inside[..at].ends_with("\n\n"))).then_some(at)
}

/// Whether this can be the end of a frame's tag: `>`, or an id and `>`.
fn is_tag_end(text: &str) -> bool {
    let id = || text.strip_prefix(" id=\"")?.strip_suffix("\">");
    text == ">" || id().is_some_and(|id| id.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// The frames that a text ends with as remarks, in order, after the words before them, if there are any.
fn frames(text: &str) -> Vec<Remark<'static>> {
    let mut found = Vec::new();
    let mut rest = text.trim_end();
    while let Some(at) = frame_from(rest) {
        found.push(remark(&rest[at..]));
        rest = rest[..at].trim_end();
    }
    if !rest.is_empty() {
        found.push(Remark { key: keys::of_words(rest), voice: Voice::Person, text: Cow::Owned(rest.to_owned()) });
    }
    found.reverse();
    found
}

fn remark(text: &str) -> Remark<'static> {
    let inside = text.split_once('\n').map_or("", |(_, inside)| inside);
    let key = keys::of_words(figure(inside).unwrap_or(text));
    Remark { key, voice: reminder_voice(inside), text: Cow::Owned(text.to_owned()) }
}

/// The remarks in the content of a result. Most results have none, which a look at the end of the content shows.
pub(super) fn in_content<'a>(document: &Document<'a>, content: Option<At>) -> Vec<Remark<'a>> {
    let Some(content) = content else { return Vec::new() };
    let raw = document.raw(content);
    let tail = &raw.as_bytes()[raw.len().saturating_sub(TAIL_BYTES)..];
    let is_framed = memchr::memmem::find(tail, b"</system-reminder").is_some();
    if !is_framed && !parts::beginning(document, content).starts_with("The user ") {
        return Vec::new();
    }
    part(parts::texts_in(document, content)).remarks
}

/// How many bytes at the end of a content's JSON are searched for the end of a frame.
const TAIL_BYTES: usize = 128;

#[cfg(test)]
mod tests;
