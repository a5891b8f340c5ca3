//! Finds server-sent events in a stream of bytes that may be cut anywhere.
//!
//! Lines end in CR, LF or both; a blank line ends an event. Comments and fields that are not needed are skipped. An
//! event whose line or data is longer than the bound is reported without data, so memory is bounded.

use memchr::memchr2;

/// The longest line, and the longest data of an event, in bytes. It is this large because the last event of a Responses
/// stream repeats the whole answer.
const EVENT_BYTES_MAX: usize = 8 << 20;

/// One event with the two fields that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SseEvent<'e> {
    /// The name of the event; empty if it has none.
    pub name: &'e str,
    /// The data of the event; empty if it was too long to be kept.
    pub data: &'e [u8],
    /// Whether it was too long, so that its data is not all there.
    pub is_cut: bool,
}

/// The state between two pieces of a stream: the event and the line that have begun.
#[derive(Debug, Default)]
pub struct SseEvents {
    /// The bytes of the current line that have come so far.
    line: Vec<u8>,
    is_line_cut: bool,
    /// Whether the last line ended in CR, so that an LF which comes next belongs to it.
    is_after_cr: bool,
    /// Whether a line has ended yet: a byte order mark may come before the first one.
    has_begun: bool,
    name: String,
    data: Option<Vec<u8>>,
    is_event_cut: bool,
}

impl SseEvents {
    /// Takes the next bytes and passes each event that ends in them to `take`.
    pub fn push(&mut self, mut bytes: &[u8], take: &mut impl FnMut(&SseEvent<'_>)) {
        while !bytes.is_empty() {
            if std::mem::take(&mut self.is_after_cr)
                && let Some(rest) = bytes.strip_prefix(b"\n")
            {
                bytes = rest;
                continue;
            }
            let Some(end) = memchr2(b'\n', b'\r', bytes) else {
                return self.append_to_line(bytes);
            };
            self.append_to_line(&bytes[..end]);
            self.is_after_cr = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            self.end_line(take);
        }
    }

    fn append_to_line(&mut self, bytes: &[u8]) {
        self.is_line_cut |= self.line.len() + bytes.len() > EVENT_BYTES_MAX;
        if !self.is_line_cut {
            self.line.extend_from_slice(bytes);
        }
    }

    fn end_line(&mut self, take: &mut impl FnMut(&SseEvent<'_>)) {
        let mut line = std::mem::take(&mut self.line);
        let is_cut = std::mem::take(&mut self.is_line_cut);
        if !std::mem::replace(&mut self.has_begun, true) && line.starts_with(b"\xef\xbb\xbf") {
            line.drain(..3);
        }
        if line.is_empty() && !is_cut {
            self.end_event(take);
        } else if !is_cut {
            self.field(&line);
        } else {
            self.data.get_or_insert_default();
            self.is_event_cut = true;
        }
        // The line's memory is used again, unless it has grown large.
        line.clear();
        if line.capacity() <= EVENT_BYTES_MAX / 64 {
            self.line = line;
        }
    }

    fn field(&mut self, line: &[u8]) {
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let value = line.get(colon + 1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match &line[..colon] {
            b"event" => self.name = String::from_utf8_lossy(value).into_owned(),
            b"data" => match &mut self.data {
                Some(data) if data.len() + value.len() < EVENT_BYTES_MAX => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                // Data over the bound would be cut off, and cut JSON could not be read.
                Some(data) => {
                    data.clear();
                    self.is_event_cut = true;
                }
                None => self.data = Some(value.to_vec()),
            },
            _ => {}
        }
    }

    fn end_event(&mut self, take: &mut impl FnMut(&SseEvent<'_>)) {
        let name = std::mem::take(&mut self.name);
        let is_cut = std::mem::take(&mut self.is_event_cut);
        if let Some(data) = self.data.take() {
            take(&SseEvent { name: &name, data: &data, is_cut });
        }
    }
}
