//! What a client puts inside of a result, behind what the tool printed: reminders, and words that were typed
//! while the tool was running.
//!
//! They stand at the end, each in a frame of its own, an empty line in front. A tool can print the same frame; so
//! nothing is hidden or ended because of one, and what is told apart has a bound: beyond it all is the tool's.

use std::borrow::Cow;

use infold_core::transcript::Voice;
use infold_core::view::Remark;

use super::json::{At, Document};
use super::{keys, parts};
use crate::client_words::{figure, is_refusal_with_words, reminder_voice};

/// The most bytes of a result that are taken for the client's own words.
pub(super) const REMARKS_BYTES_MAX: usize = 64 << 10;

/// What stands in the texts of a result, parted.
pub(super) struct Parted<'a> {
    /// What the tool printed, text by text. Texts that are all the client's are not there.
    pub(super) printed: Vec<Cow<'a, str>>,
    /// What the client put behind it, in order.
    pub(super) remarks: Vec<Remark<'a>>,
}

/// Parts the texts of a result.
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

/// Where the frames at the end of a text begin, or the whole of it if it is a person's refusal.
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

/// Where the frame begins that a text ends with: a tag with or without an id, alone on its line, behind an empty one.
fn frame_from(text: &str) -> Option<usize> {
    let closing = text.rfind("</system-reminder")?;
    is_tag_end(&text[closing + "</system-reminder".len()..]).then_some(())?;
    let inside = &text[..closing];
    let at = inside.rfind("<system-reminder")?;
    let (tag_end, _) = inside[at + "<system-reminder".len()..].split_once('\n')?;
    (is_tag_end(tag_end) && (at == 0 || inside[..at].ends_with("\n\n"))).then_some(at)
}

/// Whether a tag ends so.
fn is_tag_end(text: &str) -> bool {
    let id = || text.strip_prefix(" id=\"")?.strip_suffix("\">");
    text == ">" || id().is_some_and(|id| id.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// The frames that a text ends with, in order, and what else stands in front of them.
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

/// What the client put into the content of a result. Most results have nothing of the kind, which is cheap to see.
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

/// So near to the end of a content's JSON the last frame closes, if there is one.
const TAIL_BYTES: usize = 128;

#[cfg(test)]
mod tests;
