//! Reads a document piece by piece: the elements of its list, and what lies beside and between them.

use std::io::Read;

use super::{Entry, EntryKind, Reader};
use crate::document::{DocumentPiece, ScanStep};
use crate::error::WireError;
use crate::input::OVERLONG_PIECE_BYTES;

impl<R: Read> Reader<R> {
    pub(super) fn next_piece(&mut self) -> Result<Option<Entry>, WireError> {
        loop {
            let buffer = self.input.peek()?;
            if buffer.is_empty() {
                return Ok(self.last_piece());
            }
            let (taken, ended) = match self.scanner.scan(buffer) {
                ScanStep::More => (buffer.len(), None),
                ScanStep::End(taken, piece) => (taken, Some(piece)),
            };
            self.pending.extend_from_slice(&buffer[..taken]);
            self.input.consume(taken);
            let entry = match ended {
                Some(piece) => self.end_piece(&piece),
                None => self.shed(),
            };
            if entry.is_some() {
                return Ok(entry);
            }
        }
    }

    /// Makes an entry of a piece whose end has come; `None` if the piece is empty.
    fn end_piece(&mut self, piece: &DocumentPiece) -> Option<Entry> {
        let raw = std::mem::take(&mut self.pending);
        let was_overlong = std::mem::take(&mut self.pending_overlong);
        let is_too_long = *piece != DocumentPiece::Between && raw.len() > self.limits.entry_bytes_max;
        if !was_overlong && *piece == DocumentPiece::Element {
            self.number += 1;
        }
        if raw.is_empty() {
            return None;
        }
        if was_overlong || is_too_long {
            if is_too_long && !was_overlong {
                self.report_overlong(self.piece_number(piece));
            }
            let number = self.piece_number(piece);
            return Some(Entry { number, kind: EntryKind::Overlong, raw, ..Entry::default() });
        }
        Some(self.read(raw, piece))
    }

    /// Gives out what has come so far of a piece that grows too long; `None` if there is still room.
    fn shed(&mut self) -> Option<Entry> {
        let piece = self.scanner.piece().clone();
        let room = match (&piece, self.pending_overlong) {
            (DocumentPiece::Between, _) | (_, true) => OVERLONG_PIECE_BYTES,
            (DocumentPiece::Element | DocumentPiece::Member(_), false) => self.limits.entry_bytes_max,
        };
        if self.pending.len() <= room {
            return None;
        }
        let raw = std::mem::take(&mut self.pending);
        if piece == DocumentPiece::Between {
            return Some(Entry { kind: EntryKind::Between, raw, ..Entry::default() });
        }
        if !std::mem::replace(&mut self.pending_overlong, true) {
            if piece == DocumentPiece::Element {
                self.number += 1;
            }
            self.report_overlong(self.piece_number(&piece));
        }
        let number = self.piece_number(&piece);
        Some(Entry { number, kind: EntryKind::Overlong, raw, ..Entry::default() })
    }

    /// Gives out what is left when the input ends, which is only white space if the document is complete.
    fn last_piece(&mut self) -> Option<Entry> {
        let is_first_time = !std::mem::replace(&mut self.ended, true);
        if is_first_time {
            if let Some(reason) = self.input.broken_off.take() {
                self.report(0, reason);
            }
            if self.scanner.has_begun() && !self.scanner.is_done() {
                self.report(0, "the document ends before it is whole: it was cut off".to_owned());
            }
        }
        if self.pending.is_empty() {
            return None;
        }
        let raw = std::mem::take(&mut self.pending);
        let kind = match self.scanner.piece() {
            DocumentPiece::Between => EntryKind::Between,
            DocumentPiece::Element | DocumentPiece::Member(_) => EntryKind::Broken,
        };
        let number = if *self.scanner.piece() == DocumentPiece::Element { self.number + 1 } else { 0 };
        if kind == EntryKind::Broken {
            self.report(number, "the entry is cut off".to_owned());
        }
        Some(Entry { number, kind, raw, ..Entry::default() })
    }
}
