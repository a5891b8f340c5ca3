//! Reads a file or standard input as text, piece by piece.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use crate::failure::Refused;

/// How much is read at once.
const PIECE_BYTES_MAX: usize = 256 << 10;
/// The name of standard input among files.
const STANDARD_INPUT: &str = "-";

/// Something to count.
pub(super) struct Input {
    name: String,
    reader: Box<dyn Read>,
    buffer: Vec<u8>,
    /// How many bytes of the buffer were handed out already.
    used: usize,
}

impl Input {
    /// Opens a file, or standard input if there is no name or the name is `-`.
    pub fn open(path: Option<&Path>) -> Result<Self, Refused> {
        let path = path.filter(|path| *path != Path::new(STANDARD_INPUT));
        let name = path.map_or_else(|| STANDARD_INPUT.to_owned(), |path| path.display().to_string());
        let reader: Box<dyn Read> = match path {
            None => Box::new(io::stdin().lock()),
            Some(path) => Box::new(File::open(path).map_err(|error| unreadable(&name, &error))?),
        };
        Ok(Self { name, reader, buffer: Vec::new(), used: 0 })
    }

    /// The file as it was named.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The next text; `None` at the end. A character that is cut by a piece's end comes with the next piece.
    pub fn next_text(&mut self) -> Result<Option<&str>, Refused> {
        self.buffer.drain(..self.used);
        self.used = 0;
        let read = (&mut self.reader).take(PIECE_BYTES_MAX as u64).read_to_end(&mut self.buffer);
        let is_end = read.map_err(|error| unreadable(&self.name, &error))? == 0;
        self.used = match std::str::from_utf8(&self.buffer) {
            Ok(text) => text.len(),
            // Without an error's length it is the beginning of a character.
            Err(error) if error.error_len().is_none() && !is_end => error.valid_up_to(),
            Err(_) => return Err(not_text(&self.name)),
        };
        if is_end {
            return Ok(None);
        }
        std::str::from_utf8(&self.buffer[..self.used]).map(Some).map_err(|_| not_text(&self.name))
    }
}

fn unreadable(name: &str, error: &io::Error) -> Refused {
    match error.kind() {
        ErrorKind::NotFound => {
            Refused::new(format!("{name}: no such file")).hint("check the path, or use - for standard input")
        }
        ErrorKind::IsADirectory => {
            Refused::new(format!("{name} is a folder")).hint("name files, for example with a pattern such as src/*.rs")
        }
        _ => Refused::new(format!("{name} cannot be read: {error}")),
    }
}

fn not_text(name: &str) -> Refused {
    Refused::new(format!("{name} is not UTF-8 text, so its tokens cannot be counted"))
        .hint("convert it first, for example with iconv; images and other binary files have no tokens of their own")
}
