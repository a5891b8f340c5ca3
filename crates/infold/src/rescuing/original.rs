//! The transcript that is rescued: read, never written, and watched for changes.
//!
//! Its lines are found once and then read by their place, so that no more than one of them is held
//! at a time. A compressed one is unpacked into a file without a name first.

#[cfg(test)]
mod tests;

use std::fs::{File, Metadata};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use anyhow::Context;
use flate2::read::MultiGzDecoder;

use crate::failure::Refused;

/// What gzip files begin with.
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
/// Most bytes that a compressed transcript may have unpacked: a small file could fill the disk.
const UNPACKED_BYTES_MAX: u64 = 8 << 30;

/// Where a line stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Its first byte.
    pub offset: u64,
    /// How many bytes it has, without the line feed.
    pub bytes: u64,
}

/// A transcript that is open for reading.
#[derive(Debug)]
pub struct Original {
    path: PathBuf,
    /// The lines; not the file that was named if that is compressed.
    lines: File,
    /// The file that was named, as it was when it was opened.
    stamp: Stamp,
    named: File,
    is_packed: bool,
}

/// What shows that a file has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    bytes: u64,
    modified: (i64, i64),
    inode: u64,
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Self { bytes: metadata.len(), modified: (metadata.mtime(), metadata.mtime_nsec()), inode: metadata.ino() }
    }
}

impl Original {
    /// Opens a transcript.
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let cannot = || format!("{} cannot be read", path.display());
        let mut named = File::open(path).with_context(cannot)?;
        let metadata = named.metadata().with_context(cannot)?;
        if !metadata.is_file() {
            return Err(Refused::new(format!("{} is not a plain file", path.display()))
                .hint("name the file that the client wrote")
                .into());
        }
        let stamp = Stamp::of(&metadata);
        let mut magic = [0; 2];
        let is_packed = named.read_at(&mut magic, 0).with_context(cannot)? == 2 && magic == GZIP_MAGIC;
        let lines = if is_packed {
            unpacked(&mut named, path, UNPACKED_BYTES_MAX)?
        } else {
            named.try_clone().with_context(cannot)?
        };
        Ok(Self { path: path.to_owned(), lines, stamp, named, is_packed })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is compressed.
    pub fn is_packed(&self) -> bool {
        self.is_packed
    }

    /// Calls `look` with each line and where it stands. A line longer than `bytes_max` is refused:
    /// leaving it out would lose a part of the session without a word.
    pub fn each_line(
        &mut self,
        bytes_max: u64,
        mut look: impl FnMut(Span, &[u8]) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let cannot = || format!("{} cannot be read", self.path.display());
        self.lines.seek(SeekFrom::Start(0)).with_context(cannot)?;
        let mut reader = BufReader::with_capacity(1 << 16, &self.lines);
        let mut line = Vec::new();
        let mut offset = 0;
        let mut number = 0_u64;
        loop {
            line.clear();
            let bytes = (&mut reader).take(bytes_max + 1).read_until(b'\n', &mut line).with_context(cannot)? as u64;
            if bytes == 0 {
                return Ok(());
            }
            number += 1;
            let ended = line.last() == Some(&b'\n');
            if bytes > bytes_max && !ended {
                return Err(Refused::new(format!(
                    "{}: line {number} is longer than {bytes_max} bytes",
                    self.path.display()
                ))
                .hint("raise the bound with --set transcripts.entry_bytes_max=N")
                .into());
            }
            let text = if ended { &line[..line.len() - 1] } else { &line[..] };
            look(Span { offset, bytes: text.len() as u64 }, text)?;
            offset += bytes;
        }
    }

    /// Reads one line.
    pub fn line(&self, span: Span) -> anyhow::Result<String> {
        let mut bytes = vec![0; usize::try_from(span.bytes)?];
        self.lines
            .read_exact_at(&mut bytes, span.offset)
            .with_context(|| format!("{} has become shorter while it was read", self.path.display()))?;
        String::from_utf8(bytes).with_context(|| format!("{} is not UTF-8", self.path.display()))
    }

    /// Refuses if the file is no longer what it was when it was opened: a session that is still
    /// running would be cut off at an arbitrary place.
    pub fn check_unchanged(&self) -> anyhow::Result<()> {
        let now = self.named.metadata().and_then(|open| Ok((open, std::fs::metadata(&self.path)?)));
        if now.is_ok_and(|(open, named)| Stamp::of(&open) == self.stamp && Stamp::of(&named) == self.stamp) {
            return Ok(());
        }
        Err(Refused::new(format!("{} changed while it was read", self.path.display()))
            .hint("leave the agent that is writing it first, then try again")
            .into())
    }
}

/// What a compressed file holds, in a file without a name.
fn unpacked(packed: &mut File, path: &Path, bytes_max: u64) -> anyhow::Result<File> {
    let mut unpacked = tempfile::tempfile().context("no room to unpack the transcript")?;
    let mut bytes = MultiGzDecoder::new(packed).take(bytes_max + 1);
    let count = io::copy(&mut bytes, &mut unpacked).map_err(|error| cannot_read(path, error))?;
    if count > bytes_max {
        return Err(Refused::new(format!("{} holds more than {bytes_max} bytes unpacked", path.display()))
            .hint("if it really is a session, unpack it yourself and name what came out")
            .into());
    }
    Ok(unpacked)
}

/// Why a file cannot be read. Compressed data that is damaged is the user's to put right.
pub fn cannot_read(path: &Path, error: io::Error) -> anyhow::Error {
    match error.kind() {
        ErrorKind::UnexpectedEof | ErrorKind::InvalidData | ErrorKind::InvalidInput => {
            Refused::new(format!("{} is damaged or was cut off ({error})", path.display()))
                .hint("get a whole copy of it, or unpack it yourself and name what came out")
                .into()
        }
        _ => anyhow::Error::new(error).context(format!("{} cannot be read", path.display())),
    }
}
