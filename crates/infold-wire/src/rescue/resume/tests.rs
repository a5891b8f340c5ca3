//! Tests of resuming: lines in, and out the numbers of those that a client would load.

mod claude;
mod codex;

use serde_json::Value;

use super::ResumedSession;
use crate::form::Format;
use crate::reader::{ReadLimits, Reader};

/// The numbers of the lines that are loaded, in order.
fn loaded(format: Format, lines: &[Value]) -> String {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let limits = ReadLimits::with_entry_bytes_max(1 << 20);
    let Ok(reader) = Reader::new(text.as_bytes(), Some(format), limits) else { return String::new() };
    let session = ResumedSession::read(reader, 10).unwrap();
    for line in &session.lines {
        let bytes = &text.as_bytes()[line.offset as usize..(line.offset + line.bytes) as usize];
        assert_eq!(bytes, lines[line.number as usize - 1].to_string().as_bytes());
    }
    session.lines.iter().map(|line| line.number.to_string()).collect::<Vec<_>>().join(" ")
}
