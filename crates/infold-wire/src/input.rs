//! Buffers incoming bytes, and cuts them into lines or lends them to the scanner of documents.
//!
//! What must hold: every byte that comes in is given out once, in order. No piece is longer than its bound, so memory
//! does not grow with the input.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use crate::source::Unpacked;

/// How much of the beginning is looked at to find out the form, in bytes.
pub(crate) const HEAD_BYTES_MAX: usize = 1 << 18;
/// The length of the pieces in which an overlong entry is given out.
pub(crate) const OVERLONG_PIECE_BYTES: usize = 1 << 20;

/// The next part of the input.
pub(crate) enum Cut {
    /// A whole line, with its end if it has one.
    Line(Vec<u8>),
    /// A piece of a line that is longer than allowed.
    Overlong {
        bytes: Vec<u8>,
        /// Whether this is the first piece of its line.
        first: bool,
    },
}

/// The input. Its beginning has been looked at and is given out again.
pub(crate) struct Input<R> {
    source: BufReader<io::Chain<Cursor<Vec<u8>>, Unpacked<R>>>,
    inside_overlong: bool,
    /// Why the input ended early, if its compressed data is damaged or cut off.
    pub(crate) broken_off: Option<String>,
}

impl<R: Read> Input<R> {
    /// Wraps `source`, and also returns a copy of its beginning.
    pub(crate) fn new(source: R) -> io::Result<(Self, Vec<u8>)> {
        let mut source = Unpacked::new(source)?;
        let mut head = Vec::new();
        let mut broken_off = None;
        match (&mut source).take(HEAD_BYTES_MAX as u64).read_to_end(&mut head) {
            Ok(_) => {}
            Err(error) if is_cut(&error) => broken_off = Some(cut_reason(&error)),
            Err(error) => return Err(error),
        }
        let again = Cursor::new(head.clone()).chain(source);
        Ok((Self { source: BufReader::with_capacity(1 << 16, again), inside_overlong: false, broken_off }, head))
    }

    /// The buffered bytes, at least one unless the input is at its end.
    pub(crate) fn peek(&mut self) -> io::Result<&[u8]> {
        loop {
            match self.source.fill_buf() {
                Ok(_) => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // A compressed file is cut off: what came before is still good.
                Err(error) if is_cut(&error) => {
                    self.broken_off = Some(cut_reason(&error));
                    return Ok(&[]);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(self.source.buffer())
    }

    pub(crate) fn consume(&mut self, bytes: usize) {
        self.source.consume(bytes);
    }

    /// The next line, or a piece of a line that is longer than `bytes_max`; `None` at the end.
    pub(crate) fn line(&mut self, bytes_max: usize) -> io::Result<Option<Cut>> {
        let mut line = Vec::new();
        let room = if self.inside_overlong { OVERLONG_PIECE_BYTES } else { bytes_max };
        loop {
            let buffer = self.peek()?;
            if buffer.is_empty() {
                break;
            }
            let end = memchr::memchr(b'\n', buffer).map(|at| at + 1);
            let take = end.unwrap_or(buffer.len()).min((room - line.len()).max(1));
            line.extend_from_slice(&buffer[..take]);
            let ended = end == Some(take);
            self.consume(take);
            if ended {
                return Ok(Some(self.whole(line)));
            }
            if line.len() >= room {
                let first = !std::mem::replace(&mut self.inside_overlong, true);
                return Ok(Some(Cut::Overlong { bytes: line, first }));
            }
        }
        if line.is_empty() { Ok(None) } else { Ok(Some(self.whole(line))) }
    }

    fn whole(&mut self, bytes: Vec<u8>) -> Cut {
        match std::mem::take(&mut self.inside_overlong) {
            true => Cut::Overlong { bytes, first: false },
            false => Cut::Line(bytes),
        }
    }
}

fn is_cut(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData)
}

fn cut_reason(error: &io::Error) -> String {
    format!("the compressed data is damaged or cut off ({error})")
}
