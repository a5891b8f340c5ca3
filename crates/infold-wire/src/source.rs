//! Opens recordings, from files and pipes, and unpacks them if they are compressed.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use crate::error::WireError;

/// The first two bytes of every gzip stream.
pub(crate) const GZIP: [u8; 2] = [0x1f, 0x8b];

/// A stream whose first bytes were looked at and are given out again.
type Again<R> = io::Chain<Cursor<Vec<u8>>, R>;

/// A stream of bytes that is unpacked if it is gzip.
pub enum Unpacked<R> {
    /// The bytes as they come.
    Plain(Again<R>),
    /// The bytes after unpacking.
    Gzip(Box<MultiGzDecoder<Again<R>>>),
}

/// A file that is opened for reading, to be passed to [`crate::Reader`].
pub type Source = Unpacked<BufReader<File>>;

impl<R: Read> Unpacked<R> {
    pub(crate) fn new(mut source: R) -> io::Result<Self> {
        let mut magic = Vec::with_capacity(GZIP.len());
        (&mut source).take(GZIP.len() as u64).read_to_end(&mut magic)?;
        let is_gzip = magic == GZIP;
        let again = Cursor::new(magic).chain(source);
        Ok(if is_gzip { Self::Gzip(Box::new(MultiGzDecoder::new(again))) } else { Self::Plain(again) })
    }
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(source) => source.read(buffer),
            Self::Gzip(source) => source.read(buffer),
        }
    }
}

/// Opens a file for reading. A gzip file is unpacked while it is read.
pub fn open(path: &Path) -> Result<Source, WireError> {
    let failed = |source| WireError::Open { path: path.to_owned(), source };
    let file = File::open(path).map_err(failed)?;
    // On some systems a folder can be opened, and only reading it fails, with an error that does not name it.
    if file.metadata().map_err(failed)?.is_dir() {
        return Err(failed(io::ErrorKind::IsADirectory.into()));
    }
    Unpacked::new(BufReader::with_capacity(1 << 16, file)).map_err(failed)
}
