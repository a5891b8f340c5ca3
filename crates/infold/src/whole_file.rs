//! Writes a file so that it exists whole or not at all.
//!
//! The bytes go into a file that has no name yet; it gets one when everything is on disk. So a
//! program that is killed in the middle, even with -9, leaves nothing behind. Only where a file replaces
//! another, or on file systems without nameless files, is there a hidden name for a moment.

#[cfg(test)]
mod tests;

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use rustix::fs::{AtFlags, CWD, OFlags, linkat};
use rustix::io::Errno;

use crate::failure::Refused;

/// Only the user may read files that are made from their sessions.
const MODE: u32 = 0o600;

/// What to do if there is a file of that name already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfThere {
    /// Leave the old file alone and refuse.
    Refuse,
    /// Replace the old file by the new one.
    Replace,
}

/// Writes `path` with what `fill` puts into it.
pub fn write<T>(
    path: &Path,
    if_there: IfThere,
    fill: impl FnOnce(&mut dyn Write) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let folder = folder_of(path);
    if if_there == IfThere::Refuse && path.symlink_metadata().is_ok() {
        return Err(exists(path));
    }
    check_folder(path)?;
    let cannot = || format!("{} cannot be written", path.display());
    let unnamed = Unnamed::in_folder(&folder).with_context(cannot)?;
    let mut writer = BufWriter::with_capacity(1 << 16, unnamed.file());
    let filled = fill(&mut writer)?;
    writer.flush().with_context(cannot)?;
    drop(writer);
    unnamed.file().sync_all().with_context(cannot)?;
    match unnamed.name(path, if_there) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Err(exists(path)),
        named => named.with_context(cannot)?,
    }
    // The name is on disk once the folder is synced. Some file systems cannot sync a folder, and need not.
    let _ = File::open(&folder).and_then(|folder| folder.sync_all());
    Ok(filled)
}

/// Refuses a path in a folder that does not exist. Commands check this before they start their work.
pub fn check_folder(path: &Path) -> anyhow::Result<()> {
    let folder = folder_of(path);
    if folder.is_dir() {
        return Ok(());
    }
    Err(Refused::new(format!("there is no folder {}", folder.display()))
        .hint("make it first, or write elsewhere")
        .into())
}

/// The refusal for a file that exists already.
pub fn exists(path: &Path) -> anyhow::Error {
    Refused::new(format!("{} is there already", path.display())).hint("name another file, or move that one away").into()
}

fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// A file that has no name yet.
enum Unnamed {
    /// It has no name at all, so nothing in the folder shows it.
    Hidden(File),
    /// It has a hidden name, because the file system has no nameless files. It is removed unless it is renamed.
    Placeheld(tempfile::NamedTempFile),
}

impl Unnamed {
    fn in_folder(folder: &Path) -> io::Result<Self> {
        let flags = OFlags::TMPFILE.bits().cast_signed();
        match OpenOptions::new().write(true).mode(MODE).custom_flags(flags).open(folder) {
            Ok(file) => Ok(Self::Hidden(file)),
            Err(error) if is_unsupported(&error) => {
                tempfile::Builder::new().prefix(".infold-").tempfile_in(folder).map(Self::Placeheld)
            }
            Err(error) => Err(error),
        }
    }

    fn file(&self) -> &File {
        match self {
            Self::Hidden(file) => file,
            Self::Placeheld(file) => file.as_file(),
        }
    }

    fn name(self, path: &Path, if_there: IfThere) -> io::Result<()> {
        match (self, if_there) {
            (Self::Hidden(file), IfThere::Refuse) => link(&file, path),
            (Self::Hidden(file), IfThere::Replace) => {
                // A link cannot replace a file, but a rename can.
                let name = tempfile::Builder::new().prefix(".infold-").tempdir_in(folder_of(path))?;
                let place = name.path().join("file");
                link(&file, &place)?;
                fs::rename(place, path)
            }
            (Self::Placeheld(file), IfThere::Refuse) => Ok(file.persist_noclobber(path).map(drop)?),
            (Self::Placeheld(file), IfThere::Replace) => Ok(file.persist(path).map(drop)?),
        }
    }
}

fn link(file: &File, path: &Path) -> io::Result<()> {
    let open = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(linkat(CWD, open, CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

fn is_unsupported(error: &io::Error) -> bool {
    let unsupported = [Errno::OPNOTSUPP, Errno::ISDIR, Errno::INVAL];
    unsupported.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}
