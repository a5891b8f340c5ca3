//! The lines that count, one after another, as the reader of recordings takes them.

use std::io::{self, Read};

use infold_core::transcript::{Item, Kind};
use infold_wire::{Entry, Format, ReadLimits, Reader};

use super::original::Original;
use super::{Client, Live};

/// The lines that count, as one stream.
struct Stream<'a> {
    original: &'a Original,
    live: std::slice::Iter<'a, Live>,
    line: io::Cursor<Vec<u8>>,
}

impl Read for Stream<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let bytes = self.line.read(buffer)?;
            if bytes > 0 || buffer.is_empty() {
                return Ok(bytes);
            }
            let Some(live) = self.live.next() else { return Ok(0) };
            let mut line = self.original.line(live.span).map_err(io::Error::other)?.into_bytes();
            line.push(b'\n');
            self.line = io::Cursor::new(line);
        }
    }
}

/// Calls `look` with each line that counts.
pub fn each_entry(
    original: &Original,
    client: Client,
    live: &[Live],
    mut look: impl FnMut(Live, &Entry) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    if live.is_empty() {
        return Ok(());
    }
    let format = match client {
        Client::ClaudeCode => Format::ClaudeCode,
        Client::Codex => Format::Codex,
    };
    let stream = Stream { original, live: live.iter(), line: io::Cursor::new(Vec::new()) };
    // Lines that are too long have been refused before.
    let mut reader = Reader::new(stream, Some(format), ReadLimits { entry_bytes_max: usize::MAX, problems_max: 1 })?;
    for live in live {
        let Some(entry) = reader.next_entry()? else { break };
        look(*live, &entry)?;
    }
    Ok(())
}

/// Items with those that a compaction's own line holds. Others that the client repeats after it stand in lines of
/// their own.
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
