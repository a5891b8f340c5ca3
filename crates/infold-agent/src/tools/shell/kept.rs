//! A command's output within a bound: its start and its end are kept, and what was between them is counted.

use std::collections::VecDeque;

/// The start and the end of an output.
pub(super) struct KeptOutput {
    start: Vec<u8>,
    end: VecDeque<u8>,
    half_bytes_max: usize,
    left_out_bytes: usize,
}

impl KeptOutput {
    /// Keeps at most `bytes_max`, half of it from the start.
    pub(super) fn new(bytes_max: usize) -> Self {
        Self { start: Vec::new(), end: VecDeque::new(), half_bytes_max: bytes_max / 2, left_out_bytes: 0 }
    }

    /// Takes the next bytes.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        let room = self.half_bytes_max - self.start.len();
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.start.extend_from_slice(first);
        self.end.extend(rest);
        let too_many = self.end.len().saturating_sub(self.half_bytes_max);
        self.end.drain(..too_many);
        self.left_out_bytes += too_many;
    }

    /// The output as text that ends with a line's end, with a line for what was left out.
    pub(super) fn text(self) -> String {
        let end: Vec<u8> = self.end.into();
        let mut text = if self.left_out_bytes == 0 {
            String::from_utf8_lossy(&[self.start, end].concat()).into_owned()
        } else {
            // Both parts are cut at a line's end, if they have one, so that no line is shown in half.
            let from = end.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            let to = self.start.iter().rposition(|byte| *byte == b'\n').map_or(self.start.len(), |at| at + 1);
            let left_out = self.left_out_bytes + from + self.start.len() - to;
            let line_end = if self.start[..to].ends_with(b"\n") { "" } else { "\n" };
            format!(
                "{}{line_end}[{left_out} bytes are left out here: to see them, send the output to a file and use \
                 `read`]\n{}",
                String::from_utf8_lossy(&self.start[..to]),
                String::from_utf8_lossy(&end[from..])
            )
        };
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text
    }
}
