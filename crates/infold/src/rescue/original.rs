//! The transcript that is rescued: read, never written, and watched for changes.
//!
//! Its lines are found once and then read by their offset, so that no more than one of them is held
//! at a time. A compressed transcript is unpacked into a nameless file first.

#[cfg(test)]
mod tests;

use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use anyhow::Context;
use flate2::read::MultiGzDecoder;
use infold_wire::{Format, ReadLimits, Reader, RescueClient, ResumedLine, ResumedSession, WireError};

use crate::failure::Refused;

/// What gzip files begin with.
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
/// Most bytes that a compressed transcript may have unpacked: a small file could fill the disk.
const UNPACKED_BYTES_MAX: u64 = 8 << 30;

/// A transcript that is open for reading.
#[derive(Debug)]
pub struct Original {
    path: PathBuf,
    /// The file with the lines: the one that was named, or what was unpacked from it.
    lines: File,
    /// The state of the named file when it was opened.
    stamp: Stamp,
    named: File,
    is_packed: bool,
}

/// The properties of a file by which a change is noticed.
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
    /// Opens a transcript, and unpacks it if it is compressed.
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

    /// The path that was named, even if the transcript is compressed.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the named file is compressed.
    pub fn is_packed(&self) -> bool {
        self.is_packed
    }

    /// Finds out which client recorded it, and what that client loads of it. Sessions of other clients than Claude Code
    /// and Codex are refused.
    pub fn session(
        &self,
        format: Option<Format>,
        limits: ReadLimits,
    ) -> anyhow::Result<(RescueClient, ResumedSession)> {
        let path = self.path.display();
        let named = |error: WireError| match error {
            WireError::Io(error) => cannot_read(&self.path, error),
            WireError::TooLong { entry } => {
                Refused::new(format!("{path}: line {entry} is longer than {} bytes", limits.entry_bytes_max))
                    .hint("raise the bound with --set transcripts.entry_bytes_max=N")
                    .into()
            }
            other => Refused::new(format!("{path}: {other}")).into(),
        };
        let mut lines = &self.lines;
        lines.seek(SeekFrom::Start(0)).with_context(|| format!("{path} cannot be read"))?;
        let reader = Reader::new(lines, format, limits).map_err(named)?;
        let found = reader.format();
        let client = RescueClient::of(found).ok_or_else(|| {
            Refused::new(format!("{path} is a transcript in the form {found}")).hint(
                "only sessions of Claude Code and Codex can be rescued; `infold fork` makes a context for a new one",
            )
        })?;
        Ok((client, ResumedSession::read(reader, limits.problems_max).map_err(named)?))
    }

    /// Reads one line by its offset and length.
    pub fn line(&self, line: ResumedLine) -> anyhow::Result<String> {
        let mut bytes = vec![0; usize::try_from(line.bytes)?];
        self.lines
            .read_exact_at(&mut bytes, line.offset)
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

/// Unpacks a compressed file into a nameless one.
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

/// The error for a file that cannot be read. Damaged compressed data is for the user to put right.
fn cannot_read(path: &Path, error: io::Error) -> anyhow::Error {
    match error.kind() {
        ErrorKind::UnexpectedEof | ErrorKind::InvalidData | ErrorKind::InvalidInput => {
            Refused::new(format!("{} is damaged or was cut off ({error})", path.display()))
                .hint("get a whole copy of it, or unpack it yourself and name what came out")
                .into()
        }
        _ => anyhow::Error::new(error).context(format!("{} cannot be read", path.display())),
    }
}
