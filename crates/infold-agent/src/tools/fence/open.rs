//! Opens and replaces files inside of the fence, from a root's own handle, name by name, without following any link.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, FileType, Gid, Mode, OFlags, Stat, Uid};
use rustix::io::Errno;

use super::{Fence, FenceError, FencedPath};

/// The rights of a new file, before the user's own mask.
const NEW_FILE: u32 = 0o666;
/// The rights of a file while it is being written.
const PRIVATE: u32 = 0o600;
/// The rights of a new folder, before the user's own mask.
const NEW_FOLDER: u32 = 0o777;
/// The bits of a file's mode that are rights.
const RIGHTS: u32 = 0o7777;

/// A file as it was before a change.
#[derive(Debug)]
pub struct OldFile {
    /// What it held.
    pub bytes: Vec<u8>,
    /// Its rights.
    pub mode: u32,
    owner: (u32, u32),
}

/// What to do about folders that do not exist.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MissingFolders {
    Make,
    Report,
}

impl Fence {
    /// Opens a file to read it, with its length. What is no plain file is refused, and never waited for.
    ///
    /// # Errors
    ///
    /// If there is no such file, or it is not the one that was looked at.
    pub fn open(&self, place: &FencedPath) -> Result<(File, u64), FenceError> {
        let (file, about) = self.open_with_stat(place)?;
        Ok((file, u64::try_from(about.st_size).unwrap_or_default()))
    }

    /// Reads a whole file of at most `bytes_max`; `None` if there is none.
    ///
    /// # Errors
    ///
    /// If it is longer, is no file, or cannot be read.
    pub fn old_file(&self, place: &FencedPath, bytes_max: u64) -> Result<Option<OldFile>, FenceError> {
        let (file, about) = match self.open_with_stat(place) {
            Ok(opened) => opened,
            Err(FenceError::Missing(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        let failed = |error| FenceError::Failed { path: place.shown.clone(), error };
        let mut bytes = Vec::new();
        file.take(bytes_max + 1).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > bytes_max {
            let why = format!("the file is longer than {bytes_max} bytes, the most that this tool takes: use `shell`");
            return Err(failed(io::Error::other(why)));
        }
        Ok(Some(OldFile { bytes, mode: about.st_mode & RIGHTS, owner: (about.st_uid, about.st_gid) }))
    }

    /// Puts a file in place in one step, with the rights and the owner of the old one, and returns its rights. Nobody sees
    /// half of it, and a link in its place is replaced, not followed.
    ///
    /// # Errors
    ///
    /// If it may not or cannot be written; then nothing has changed.
    pub fn replace(&self, place: &FencedPath, old: Option<&OldFile>, bytes: &[u8]) -> Result<u32, FenceError> {
        self.may_write(place)?;
        let failed = |error: io::Error| FenceError::Failed { path: place.shown.clone(), error };
        let (folder, name) = self.parent(place, MissingFolders::Make)?;
        let temporary = temporary_name();
        let mode = Mode::from_raw_mode(if old.is_some() { PRIVATE } else { NEW_FILE });
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&folder, &temporary, flags, mode).map_err(|error| failed(error.into()))?;
        let written = fill(File::from(file), old, bytes).and_then(|mode| {
            rustix::fs::renameat(&folder, &temporary, &folder, &name)?;
            Ok(mode)
        });
        if written.is_err() {
            // What cannot be taken away again does no harm, and the reason is the one to be said.
            let _ = rustix::fs::unlinkat(&folder, &temporary, AtFlags::empty());
        }
        written.map_err(failed)
    }

    /// Takes a file away. A link in its place is taken away itself, and not what it leads to.
    ///
    /// # Errors
    ///
    /// If it may not or cannot be taken away.
    pub fn remove(&self, place: &FencedPath) -> Result<(), FenceError> {
        self.may_write(place)?;
        let (folder, name) = self.parent(place, MissingFolders::Report)?;
        rustix::fs::unlinkat(&folder, &name, AtFlags::empty())
            .map_err(|error| FenceError::Failed { path: place.shown.clone(), error: error.into() })
    }

    fn open_with_stat(&self, place: &FencedPath) -> Result<(File, Stat), FenceError> {
        let (folder, name) = self.parent(place, MissingFolders::Report)?;
        // A pipe that nobody writes would be waited for without end.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let handle = rustix::fs::openat(&folder, &name, flags, Mode::empty())
            .map_err(|error| refused(error, &folder, &name, &place.shown))?;
        let about = rustix::fs::fstat(&handle)
            .map_err(|error| FenceError::Failed { path: place.shown.clone(), error: error.into() })?;
        let what = match FileType::from_raw_mode(about.st_mode) {
            FileType::RegularFile => return Ok((File::from(handle), about)),
            FileType::Directory => "a folder",
            FileType::Fifo | FileType::Socket => "a pipe or socket",
            FileType::CharacterDevice | FileType::BlockDevice => "a device",
            FileType::Symlink | FileType::Unknown => "something else",
        };
        Err(FenceError::NoFile { path: place.shown.clone(), what })
    }

    /// The handle of the folder that a place lies in, and the place's name there.
    fn parent(&self, place: &FencedPath, missing: MissingFolders) -> Result<(OwnedFd, OsString), FenceError> {
        let failed = |error: io::Error| FenceError::Failed { path: place.shown.clone(), error };
        let Some(name) = place.inner.file_name() else {
            return Err(FenceError::NoFile { path: place.shown.clone(), what: "a folder" });
        };
        let mut at = self.roots[place.root].handle.try_clone().map_err(failed)?;
        for part in place.inner.parent().unwrap_or(Path::new("")).iter() {
            at = match inner_folder(&at, part) {
                Err(Errno::NOENT) if missing == MissingFolders::Make => {
                    match rustix::fs::mkdirat(&at, part, Mode::from_raw_mode(NEW_FOLDER)) {
                        // Someone else may have been quicker.
                        Ok(()) | Err(Errno::EXIST) => {}
                        Err(error) => return Err(failed(error.into())),
                    }
                    inner_folder(&at, part)
                }
                opened => opened,
            }
            .map_err(|error| refused(error, &at, part, &place.shown))?;
        }
        Ok((at, name.to_owned()))
    }
}

fn inner_folder(folder: &OwnedFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(folder, name, flags, Mode::empty())
}

/// What it means that a name could not be opened.
fn refused(error: Errno, folder: &impl AsFd, name: &OsStr, shown: &str) -> FenceError {
    let about = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
    let is_link = about.is_ok_and(|about| FileType::from_raw_mode(about.st_mode) == FileType::Symlink);
    match error {
        Errno::NOENT => FenceError::Missing(shown.to_owned()),
        _ if is_link => FenceError::Swapped(shown.to_owned()),
        Errno::NXIO => FenceError::NoFile { path: shown.to_owned(), what: "a pipe or socket" },
        error => FenceError::Failed { path: shown.to_owned(), error: error.into() },
    }
}

/// Writes a new file to its end, and returns its rights.
fn fill(mut file: File, old: Option<&OldFile>, bytes: &[u8]) -> io::Result<u32> {
    file.write_all(bytes)?;
    if let Some(old) = old {
        let (user, group) = old.owner;
        // Only root can give files away; for everybody else the owner is the same anyway, or cannot be.
        let _ = rustix::fs::fchown(&file, Some(Uid::from_raw(user)), Some(Gid::from_raw(group)));
        rustix::fs::fchmod(&file, Mode::from_raw_mode(old.mode))?;
    }
    file.sync_all()?;
    Ok(rustix::fs::fstat(&file)?.st_mode & RIGHTS)
}

/// A name that nobody else uses. The file's own name is not in it: with it, it might be too long.
fn temporary_name() -> String {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let number = LAST.fetch_add(1, Ordering::Relaxed);
    format!(".infold-{}-{number}.tmp", std::process::id())
}
