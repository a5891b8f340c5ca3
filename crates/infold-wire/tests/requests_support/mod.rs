//! What must hold of every request that is read and edited.

pub mod conversation;

use std::collections::HashSet;

use infold_core::view::{BlockKey, BlockKind, ViewPiece};
use infold_wire::request::{Api, Request};
use serde_json::Value;

/// How many marks for the cache a request may have; Anthropic refuses one with more.
pub const MARKS_MAX: usize = 4;

/// A body's bytes, as different programs would write them.
pub fn serialised(body: &Value) -> Vec<Vec<u8>> {
    let compact = serde_json::to_vec(body).unwrap();
    let pretty = serde_json::to_vec_pretty(body).unwrap();
    // Python writes a space behind commas and colons, and only ASCII.
    let text = String::from_utf8(compact.clone()).unwrap();
    let ascii: String = text.chars().map(|char| escaped(char).unwrap_or_else(|| char.to_string())).collect();
    vec![compact, pretty, format!(" {ascii}\r\n").into_bytes()]
}

fn escaped(char: char) -> Option<String> {
    let mut units = [0; 2];
    (!char.is_ascii()).then(|| char.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect())
}

/// Checks that blocks are in the order of their entries, that every entry has one, and that the words of a result
/// are its parts, joined.
pub fn check_reads_back(request: &Request<'_>) {
    let entries: Vec<usize> = request.blocks().iter().map(|block| block.entry).collect();
    assert!(entries.is_sorted());
    let mut distinct = entries;
    distinct.dedup();
    assert_eq!(distinct, (0..request.digests().len()).collect::<Vec<_>>());
    for index in 0..request.blocks().len() {
        let texts = request.text_parts(index);
        if let BlockKind::Result(_) = request.blocks()[index].kind {
            assert_eq!(request.words(index), texts.join("\n"));
        }
    }
}

/// Applies pieces, and checks the edited request: it is JSON, has the kept blocks in order and nothing else, no more
/// marks than allowed, and nothing around the conversation changed.
pub fn check_apply(request: &Request<'_>, pieces: &[ViewPiece]) -> Vec<u8> {
    let edited = request.apply(pieces);
    let value: Value = serde_json::from_slice(&edited).unwrap_or_else(|error| {
        panic!(
            "not JSON any more: {error}\n{}\n{}",
            String::from_utf8_lossy(request.body()),
            String::from_utf8_lossy(&edited)
        )
    });
    let before: Value = serde_json::from_slice(request.body()).unwrap();
    let list = if request.api() == Api::Responses { "input" } else { "messages" };
    for (key, old) in before.as_object().unwrap() {
        assert!(key == list || value[key] == *old, "{key} changed");
    }

    let again = Request::read(request.api(), &edited).unwrap();
    let kept: Vec<BlockKey> = pieces
        .iter()
        .filter_map(|piece| match piece {
            ViewPiece::Keep(block) => Some(request.blocks()[*block].key),
            ViewPiece::Content { .. }
            | ViewPiece::Text { .. }
            | ViewPiece::Words { .. }
            | ViewPiece::Quote { .. }
            | ViewPiece::Say { .. } => None,
        })
        .collect();
    let mut found = again.blocks().iter().map(|block| block.key);
    for key in &kept {
        assert!(found.any(|other| other == *key), "{key:?} is gone or out of order");
    }
    assert_eq!(again.blocks().len(), pieces.len(), "{}", String::from_utf8_lossy(&edited));

    assert!(count_marks(&value) <= count_marks(&before).max(MARKS_MAX), "marks were added");
    assert_eq!(request.apply(pieces), edited, "another time gives other bytes");
    edited
}

/// How many marks for the cache there are, where the API looks for them.
pub fn count_marks(body: &Value) -> usize {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let on = |blocks: Vec<Value>| blocks.iter().filter(|block| block.get("cache_control").is_some()).count();
    let content: Vec<Value> = list(&body["messages"]).iter().flat_map(|entry| list(&entry["content"])).collect();
    let inside: Vec<Value> = content.iter().flat_map(|block| list(&block["content"])).collect();
    on(list(&body["system"])) + on(list(&body["tools"])) + on(content) + on(inside)
}

/// Checks that calls and results are in the order that every API wants: all results of an entry's calls come before
/// anything else is said.
pub fn check_pairs(request: &Request<'_>) {
    let mut open: HashSet<String> = HashSet::new();
    let mut called_in = 0;
    for block in request.blocks() {
        match &block.kind {
            BlockKind::Call(call) => {
                called_in = block.entry;
                open.insert(call.id.clone().into_owned());
            }
            BlockKind::Result(result) => assert!(open.remove(result.call.as_ref()), "a result without its call"),
            _ => assert!(open.is_empty() || block.entry == called_in, "a call is parted from its results"),
        }
    }
    assert!(open.is_empty(), "a call without its result");
}

/// A body with space at random wherever JSON allows it.
pub fn spaced(value: &Value, style: u64) -> String {
    let mut out = String::new();
    Writer { style, escapes: false }.write(value, &mut out);
    out
}

/// A body with space and escapes at random wherever JSON allows them.
pub fn loosely(value: &Value, style: u64) -> String {
    let mut out = String::new();
    Writer { style, escapes: true }.write(value, &mut out);
    out
}

/// Writes JSON in ways that are allowed, though no program uses them.
struct Writer {
    style: u64,
    escapes: bool,
}

impl Writer {
    fn write(&mut self, value: &Value, out: &mut String) {
        self.space(out);
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => out.push_str(&value.to_string()),
            Value::String(text) => self.text(text, out),
            Value::Array(list) => {
                out.push('[');
                for (index, element) in list.iter().enumerate() {
                    out.push_str(if index > 0 { "," } else { "" });
                    self.write(element, out);
                }
                self.space(out);
                out.push(']');
            }
            Value::Object(map) => {
                out.push('{');
                for (index, (key, member)) in map.iter().enumerate() {
                    out.push_str(if index > 0 { "," } else { "" });
                    self.space(out);
                    self.text(key, out);
                    self.space(out);
                    out.push(':');
                    self.write(member, out);
                }
                self.space(out);
                out.push('}');
            }
        }
        self.space(out);
    }

    fn text(&mut self, text: &str, out: &mut String) {
        let plain = Value::from(text).to_string();
        if !self.escapes || self.chance(4) > 0 {
            return out.push_str(&plain);
        }
        out.push('"');
        let mut units = [0; 2];
        for char in text.chars() {
            if self.chance(3) == 0 || char < ' ' || matches!(char, '"' | '\\') {
                char.encode_utf16(&mut units).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04X}")));
            } else {
                out.push(char);
            }
        }
        out.push('"');
    }

    fn space(&mut self, out: &mut String) {
        match self.chance(12) {
            0 => out.push(' '),
            1 => out.push_str("\n\t"),
            2 => out.push_str("\r\n"),
            _ => {}
        }
    }

    /// A random number below `below`.
    fn chance(&mut self, below: u64) -> u64 {
        self.style = self.style.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.style >> 33) % below
    }
}
