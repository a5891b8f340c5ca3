//! Reads server-sent events out of bytes that arrive in pieces.

#[cfg(test)]
mod tests;

/// Collects bytes and gives out the `data` of each event that has become whole.
#[derive(Debug, Default)]
pub(crate) struct EventReader {
    /// Bytes after the last whole line.
    rest: Vec<u8>,
    /// The `data` lines of the event that is being read.
    data: Vec<String>,
}

impl EventReader {
    /// Takes the next bytes, and returns the events that they complete.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<String> {
        self.rest.extend_from_slice(bytes);
        let mut events = Vec::new();
        while let Some(end) = self.rest.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            self.take_line(line.trim_end_matches(['\r', '\n']), &mut events);
        }
        events
    }

    fn take_line(&mut self, line: &str, events: &mut Vec<String>) {
        if let Some(data) = line.strip_prefix("data:") {
            self.data.push(data.strip_prefix(' ').unwrap_or(data).to_owned());
        }
        if line.is_empty() && !self.data.is_empty() {
            events.push(std::mem::take(&mut self.data).join("\n"));
        }
    }
}
