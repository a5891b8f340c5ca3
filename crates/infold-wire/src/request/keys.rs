//! Digests that identify blocks and conversations.
//!
//! Cache marks do not count in any of them, because clients move theirs from request to request. Plain text has the
//! same digest as a list with only that text, because Claude Code sends the same message in both ways.

use blake3::Hasher;
use infold_core::view::BlockKey;

use super::json::{At, Document, JsonShape};
use super::{Request, Speaker};

/// The name of the field that steers the provider's cache.
pub(super) const MARK: &str = "cache_control";

/// The types of parts that are only text.
pub(super) const TEXT_KINDS: [&str; 3] = ["text", "input_text", "output_text"];

/// The key of a block, which is an object or plain text.
pub(super) fn of_block(document: &Document<'_>, at: At) -> BlockKey {
    match lone_text(document, at) {
        Some(text) => of_text(document, text),
        None => of_members(document, at, None),
    }
}

/// The key of words that are not a block, such as a remark inside a result.
pub(super) fn of_words(text: &str) -> BlockKey {
    let mut hasher = Hasher::new();
    hasher.update(text.as_bytes());
    hasher.update(b"words");
    finish(&hasher)
}

/// The key of a result, in which the content is represented by its own key.
pub(super) fn of_result(document: &Document<'_>, at: At, content: Option<(At, BlockKey)>) -> BlockKey {
    of_members(document, at, content)
}

/// The key of content, which is text or a list of blocks.
pub(super) fn of_content(document: &Document<'_>, at: At) -> BlockKey {
    if document.shape(at) != JsonShape::List {
        return of_block(document, at);
    }
    let mut elements = document.elements(at);
    if let (Some(only), None) = (elements.next(), elements.next()) {
        return of_block(document, only);
    }
    let mut hasher = Hasher::new();
    hasher.update(b"list");
    document.elements(at).for_each(|element| {
        hasher.update(&of_block(document, element).0);
    });
    finish(&hasher)
}

fn of_text(document: &Document<'_>, at: At) -> BlockKey {
    // The long part comes first: bytes before it would make the hashing slower.
    let mut hasher = Hasher::new();
    hasher.update(without_line_ends(document.raw(at)).as_bytes());
    hasher.update(b"text");
    finish(&hasher)
}

fn of_members(document: &Document<'_>, at: At, content: Option<(At, BlockKey)>) -> BlockKey {
    let mut hasher = Hasher::new();
    if document.shape(at) != JsonShape::Object {
        hasher.update(document.raw(at).as_bytes());
        hasher.update(b"value");
        return finish(&hasher);
    }
    for (key, value) in document.members(at) {
        if document.says(key, MARK) {
            continue;
        }
        match content {
            Some((content, key)) if content == value => hasher.update(&key.0),
            _ => hasher.update(document.raw(value).as_bytes()),
        };
        hasher.update(document.raw(key).as_bytes());
        hasher.update(b"member");
    }
    finish(&hasher)
}

/// The text of a block that has nothing but text; plain text is such a block.
fn lone_text(document: &Document<'_>, at: At) -> Option<At> {
    if document.is_text(at) {
        return Some(at);
    }
    let mut text = None;
    for (key, value) in document.members(at) {
        match document.text(key)?.as_ref() {
            "type" if TEXT_KINDS.iter().any(|kind| document.says(value, kind)) => {}
            "text" if document.is_text(value) => text = Some(value),
            MARK => {}
            _ => return None,
        }
    }
    text
}

fn finish(hasher: &Hasher) -> BlockKey {
    let mut key = [0; 16];
    key.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    BlockKey(key)
}

/// The digest of the conversation up to and including each entry. It begins with the instructions outside the
/// conversation, so that a request for a title, which has the same words, is not taken for the agent's own
/// conversation.
pub(super) fn digests(request: &Request<'_>) -> Vec<[u8; 32]> {
    let document = &request.document;
    let mut hasher = Hasher::new();
    for key in ["system", "instructions"] {
        if let Some(value) = document.field(0, key) {
            hasher.update(&of_content(document, value).0);
        }
    }
    let mut digest = hasher.finalize();
    let mut digests = Vec::with_capacity(request.entries.len());
    for entry in &request.entries {
        let mut hasher = Hasher::new();
        hasher.update(digest.as_bytes());
        hasher.update(match entry.speaker {
            Speaker::System => b"s",
            Speaker::User => b"u",
            Speaker::Model => b"m",
            Speaker::Closed => b"c",
        });
        request.blocks[entry.blocks.clone()].iter().for_each(|block| {
            hasher.update(&block.key.0);
        });
        digest = hasher.finalize();
        digests.push(*digest.as_bytes());
    }
    digests
}

/// A string's JSON without line ends at its end: Claude Code adds one to words when others follow.
fn without_line_ends(raw: &str) -> &str {
    let mut inside = raw.strip_suffix('"').unwrap_or(raw);
    while let Some(rest) = inside.strip_suffix("\\n") {
        // After an odd number of backslashes, the `\n` is an escaped backslash and a letter `n`, not a line end.
        if rest.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1 {
            break;
        }
        inside = rest;
    }
    inside
}
