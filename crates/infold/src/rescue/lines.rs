//! Reads the lines that the client loads, one after another, with the reader of recordings.

use std::io::{self, Read};

use infold_core::transcript::{Item, Kind};
use infold_wire::{Entry, ReadLimits, Reader, RescueClient, ResumedLine};

use super::original::Original;

/// The lines that the client loads, as one stream of bytes.
struct Stream<'a> {
    original: &'a Original,
    lines: std::slice::Iter<'a, ResumedLine>,
    line: io::Cursor<Vec<u8>>,
}

impl Read for Stream<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let bytes = self.line.read(buffer)?;
            if bytes > 0 || buffer.is_empty() {
                return Ok(bytes);
            }
            let Some(next) = self.lines.next() else { return Ok(0) };
            let mut line = self.original.line(*next).map_err(io::Error::other)?.into_bytes();
            line.push(b'\n');
            self.line = io::Cursor::new(line);
        }
    }
}

/// Calls `look` with each line that the client loads, and its entry.
pub fn each_entry(
    original: &Original,
    client: RescueClient,
    lines: &[ResumedLine],
    mut look: impl FnMut(ResumedLine, &Entry) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    if lines.is_empty() {
        return Ok(());
    }
    let stream = Stream { original, lines: lines.iter(), line: io::Cursor::new(Vec::new()) };
    // Lines that are too long were refused when the session was read.
    let limits = ReadLimits { entry_bytes_max: usize::MAX, problems_max: 1 };
    let mut reader = Reader::new(stream, Some(client.format()), limits)?;
    for line in lines {
        let Some(entry) = reader.next_entry()? else { break };
        look(*line, &entry)?;
    }
    Ok(())
}

/// Items, and after each compaction the items in the compaction's own line. Other items that it keeps have lines of
/// their own, and come with these.
pub fn flat(items: &[Item]) -> Vec<&Item> {
    let mut all = Vec::new();
    for item in items {
        all.push(item);
        if let Kind::Compaction { kept, .. } = &item.kind {
            all.extend(kept.iter().filter(|kept| kept.place.entry == item.place.entry));
        }
    }
    all
}
