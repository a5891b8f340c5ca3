//! Finds server-sent events in a stream of bytes that may be cut anywhere. An event over the bound is reported without its
//! data, so memory is bounded.

/// One event.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct StreamEvent {
    /// Where the stream can be resumed behind this event.
    pub(super) id: Option<String>,
    pub(super) data: EventData,
    /// How long to wait before resuming.
    pub(super) retry_ms: Option<u64>,
}

/// The data of an event.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum EventData {
    #[default]
    None,
    Whole(Vec<u8>),
    TooLong,
}

/// The state between two pieces of a stream.
#[derive(Debug)]
pub(super) struct SseReader {
    bytes_max: usize,
    line: Vec<u8>,
    is_line_cut: bool,
    is_after_cr: bool,
    has_begun: bool,
    event: StreamEvent,
}

impl SseReader {
    pub(super) fn new(bytes_max: usize) -> Self {
        let event = StreamEvent::default();
        Self { bytes_max, line: Vec::new(), is_line_cut: false, is_after_cr: false, has_begun: false, event }
    }

    /// Takes the next bytes. Returns the events that end in them.
    pub(super) fn push(&mut self, mut bytes: &[u8]) -> Vec<StreamEvent> {
        let mut events = Vec::new();
        while !bytes.is_empty() {
            if std::mem::take(&mut self.is_after_cr)
                && let Some(rest) = bytes.strip_prefix(b"\n")
            {
                bytes = rest;
                continue;
            }
            let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                self.append(bytes);
                break;
            };
            self.append(&bytes[..end]);
            self.is_after_cr = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            events.extend(self.end_line());
        }
        events
    }

    fn append(&mut self, bytes: &[u8]) {
        // A field's name comes before its value.
        self.is_line_cut |= self.line.len() + bytes.len() > self.bytes_max + 16;
        if !self.is_line_cut {
            self.line.extend_from_slice(bytes);
        }
    }

    fn end_line(&mut self) -> Option<StreamEvent> {
        let line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.is_line_cut) {
            self.event.data = EventData::TooLong;
            return None;
        }
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        let line = line.strip_prefix(b"\xef\xbb\xbf").filter(|_| is_first).unwrap_or(&line);
        if line.is_empty() {
            let mut event = std::mem::take(&mut self.event);
            // Servers begin a stream that can be resumed with an event that says nothing.
            if event.data == EventData::Whole(Vec::new()) {
                event.data = EventData::None;
            }
            return (event != StreamEvent::default()).then_some(event);
        }
        self.field(line);
        None
    }

    fn field(&mut self, line: &[u8]) {
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let value = line.get(colon + 1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        let text = || std::str::from_utf8(value).ok();
        match &line[..colon] {
            b"id" => self.event.id = text().map(str::to_owned),
            b"retry" => self.event.retry_ms = text().and_then(|text| text.parse().ok()),
            b"data" => self.event.data = self.joined(value),
            _ => {}
        }
    }

    fn joined(&mut self, value: &[u8]) -> EventData {
        match std::mem::take(&mut self.event.data) {
            EventData::None if value.len() <= self.bytes_max => EventData::Whole(value.to_vec()),
            EventData::Whole(mut data) if data.len() + value.len() < self.bytes_max => {
                data.push(b'\n');
                data.extend_from_slice(value);
                EventData::Whole(data)
            }
            EventData::None | EventData::Whole(_) | EventData::TooLong => EventData::TooLong,
        }
    }
}

#[cfg(test)]
mod tests;
