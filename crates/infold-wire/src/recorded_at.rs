//! When and where a recorded session was: the times of its entries, and the folder that it names.
//!
//! Clients write these beside what was said, so they are no part of a transcript. Where a recording says nothing, nothing
//! is known.

use std::collections::BTreeMap;
use std::io::Read;

use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::error::WireError;
use crate::form::Format;
use crate::reader::{EntryKind, ReadLimits, Reader};

/// Where clients write the folder: Claude Code, Codex, OpenCode.
const FOLDERS: [&str; 4] = ["/cwd", "/payload/cwd", "/info/path/cwd", "/info/directory"];

/// When and where a session was.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordedAt {
    /// The folder that it worked in, the first one that it names.
    pub folder: Option<String>,
    /// The times of entries by their numbers, in milliseconds since 1970.
    times_ms: BTreeMap<u64, u64>,
}

impl RecordedAt {
    /// Reads a recording for its times and its folder.
    pub fn read<R: Read>(source: R, format: Option<Format>, limits: ReadLimits) -> Result<Self, WireError> {
        let mut reader = Reader::new(source, format, limits)?;
        let mut recorded = Self::default();
        while let Some(entry) = reader.next_entry()? {
            if entry.kind == EntryKind::Whole
                && let Ok(said) = serde_json::from_slice::<Value>(entry.raw.trim_ascii())
            {
                recorded.add(entry.number, &said);
            }
        }
        Ok(recorded)
    }

    /// When an entry was made: its own time, or else that of the last one before it that has one.
    pub fn time_ms(&self, entry: u64) -> Option<u64> {
        let before = self.times_ms.range(..=entry).next_back();
        before.or_else(|| self.times_ms.iter().next()).map(|(_, time_ms)| *time_ms)
    }

    fn add(&mut self, entry: u64, said: &Value) {
        let text = |place: &str| said.pointer(place)?.as_str();
        if self.folder.is_none() {
            self.folder = FOLDERS.iter().find_map(|place| text(place)).map(str::to_owned);
        }
        let written = text("/timestamp").and_then(milliseconds);
        if let Some(time_ms) = written.or_else(|| said.pointer("/info/time/created")?.as_u64()) {
            self.times_ms.insert(entry, time_ms);
        }
    }
}

fn milliseconds(text: &str) -> Option<u64> {
    let time = OffsetDateTime::parse(text, &Rfc3339).ok()?;
    u64::try_from(time.unix_timestamp_nanos() / 1_000_000).ok()
}

#[cfg(test)]
mod tests;
