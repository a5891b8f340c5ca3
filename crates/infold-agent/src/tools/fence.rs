//! The fence: the folder that tools work in, and nothing around it.
//!
//! A path is looked up twice. First every symbolic link in it is followed on paper, also in parts that do not exist yet, and
//! what comes out must lie inside of a root. Then the file is opened from the root's own handle, one name after the other,
//! and no link is followed any more (in [`open`]). So a link that is put in place between the two is found, and whatever the
//! paper said, nothing outside of a root is ever opened.
//!
//! What must hold: roots come from the user, never from a project. What lies in `.git`, and infold's settings of a project,
//! can be read and not written, whoever approves it: both can make other programs run commands later.

mod open;

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{Mode, OFlags};

pub use open::OldFile;

/// Symbolic links that one path may lead through, as many as the kernel follows.
const LINKS_MAX: usize = 40;
/// infold's settings of a project.
const PROJECT_SETTINGS: &str = ".infold.toml";
/// Where git keeps what it runs and reads its settings from.
const GIT_FOLDER: &str = ".git";

/// The folder that tools work in, and the other roots that the user gave.
#[derive(Debug)]
pub struct Fence {
    /// The first one is the working folder.
    roots: Vec<Root>,
    /// Held from reading a file to replacing it, so that of two changes at a time none is lost.
    changing: Mutex<()>,
}

/// What tools may do below a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RootAccess {
    /// Read and write.
    ReadWrite,
    /// Only read.
    ReadOnly,
}

/// A folder beside the working folder that tools may use as well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtraRoot {
    /// The folder.
    pub path: PathBuf,
    /// What tools may do there.
    pub access: RootAccess,
}

#[derive(Debug)]
struct Root {
    /// Without symbolic links.
    path: PathBuf,
    handle: OwnedFd,
    access: RootAccess,
}

/// A place inside of the fence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FencedPath {
    root: usize,
    /// From the root on: plain names only, and no symbolic link when it was looked at.
    inner: PathBuf,
    /// How it is shown: from the working folder on, or whole in another root.
    shown: String,
}

impl FencedPath {
    /// The path as it is shown.
    pub fn shown(&self) -> &str {
        &self.shown
    }
}

/// Why a path cannot be used. Each one says what to do.
#[derive(Debug, thiserror::Error)]
pub enum FenceError {
    /// It leads out of every root.
    #[error(
        "{path} leads to {target}, outside of the working folder {folder}: use a path inside of it, or ask the user"
    )]
    Outside {
        /// The path as it was given.
        path: String,
        /// Where it leads.
        target: String,
        /// The working folder.
        folder: String,
    },
    /// It lies in a root that may only be read.
    #[error("{0} lies in a folder that may only be read: write inside of the working folder")]
    ReadOnly(String),
    /// No tool may write it.
    #[error("{0} is never written by a tool: what it holds decides what other programs run. Ask the user to change it")]
    Guarded(String),
    /// It was another file a moment ago.
    #[error("{0} was changed into a symbolic link while it was opened: look at it again")]
    Swapped(String),
    /// It is no file.
    #[error("{path} is {what}, not a file")]
    NoFile {
        /// The path.
        path: String,
        /// What it is.
        what: &'static str,
    },
    /// There is nothing.
    #[error("{0} does not exist")]
    Missing(String),
    /// It leads through too many links, or in a circle.
    #[error("{0} leads through too many symbolic links: give the path of the file itself")]
    TooManyLinks(String),
    /// The system refused.
    #[error("{path}: {error}")]
    Failed {
        /// The path.
        path: String,
        /// What the system said.
        error: io::Error,
    },
}

impl Fence {
    /// A fence around a folder, and around what the user gave beside it.
    ///
    /// # Errors
    ///
    /// If one of the folders cannot be opened.
    pub fn new(folder: &Path, extra: &[ExtraRoot]) -> io::Result<Self> {
        let working = ExtraRoot { path: folder.to_owned(), access: RootAccess::ReadWrite };
        let roots = std::iter::once(&working).chain(extra).map(Root::open).collect::<io::Result<_>>()?;
        Ok(Self { roots, changing: Mutex::new(()) })
    }

    /// The working folder, without symbolic links.
    pub fn folder(&self) -> &Path {
        self.roots.first().map_or(Path::new(""), |root| &root.path)
    }

    /// The folders that may be written, the working folder first.
    pub fn writable(&self) -> impl Iterator<Item = &Path> {
        self.roots.iter().filter(|root| root.access == RootAccess::ReadWrite).map(|root| root.path.as_path())
    }

    /// Waits until no other tool is changing a file. Whoever reads a file to change it holds this until it is changed.
    pub(super) fn changing(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds out where a path leads. It need not exist.
    ///
    /// # Errors
    ///
    /// If it leads out of the fence.
    pub fn place(&self, path: &str) -> Result<FencedPath, FenceError> {
        let failed = |error| FenceError::Failed { path: path.to_owned(), error };
        if path.contains('\0') {
            return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, "the path holds a zero byte")));
        }
        let target = without_links(&self.folder().join(path)).map_err(|error| match error.kind() {
            io::ErrorKind::QuotaExceeded => FenceError::TooManyLinks(path.to_owned()),
            _ => failed(error),
        })?;
        let within = |root: &Root| target.strip_prefix(&root.path).ok().map(Path::to_owned);
        // The innermost root decides: a folder that may only be read can lie inside of one that may be written.
        let inside = self.roots.iter().enumerate().filter_map(|(at, root)| Some((at, within(root)?)));
        let found = inside.min_by_key(|(_, inner)| inner.components().count());
        let Some((root, inner)) = found else {
            return Err(FenceError::Outside {
                path: path.to_owned(),
                target: target.display().to_string(),
                folder: self.folder().display().to_string(),
            });
        };
        let shown = target.strip_prefix(self.folder()).unwrap_or(&target).display().to_string();
        let shown = if shown.is_empty() { ".".to_owned() } else { shown };
        Ok(FencedPath { root, inner, shown })
    }

    /// The whole path of a place, for programs that take no handle.
    pub(super) fn whole(&self, place: &FencedPath) -> PathBuf {
        self.roots[place.root].path.join(&place.inner)
    }

    /// Refuses a place that no tool may write.
    ///
    /// # Errors
    ///
    /// If it may only be read.
    pub fn may_write(&self, place: &FencedPath) -> Result<(), FenceError> {
        if self.roots[place.root].access == RootAccess::ReadOnly {
            return Err(FenceError::ReadOnly(place.shown.clone()));
        }
        if self.whole(place).components().any(|part| is_guarded(part.as_os_str())) {
            return Err(FenceError::Guarded(place.shown.clone()));
        }
        Ok(())
    }
}

impl Root {
    fn open(extra: &ExtraRoot) -> io::Result<Self> {
        let path = extra.path.canonicalize()?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = rustix::fs::open(&path, flags, Mode::empty())?;
        Ok(Self { path, handle, access: extra.access })
    }
}

/// Whether no tool writes a file or folder of this name, nor below it. Some systems do not tell capitals apart.
fn is_guarded(name: &OsStr) -> bool {
    [GIT_FOLDER, PROJECT_SETTINGS].iter().any(|guarded| name.eq_ignore_ascii_case(guarded))
}

/// Follows every symbolic link of an absolute path, on paper. What does not exist is taken as it is.
fn without_links(path: &Path) -> io::Result<PathBuf> {
    let mut done = PathBuf::from("/");
    let mut left: VecDeque<OsString> = names(path).collect();
    let mut links = 0;
    while let Some(name) = left.pop_front() {
        if name == ".." {
            done.pop();
            continue;
        }
        let next = done.join(&name);
        if !next.is_symlink() {
            done = next;
            continue;
        }
        links += 1;
        if links > LINKS_MAX {
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        let target = next.read_link()?;
        if target.is_absolute() {
            done = PathBuf::from("/");
        }
        for name in names(&target).collect::<Vec<_>>().into_iter().rev() {
            left.push_front(name);
        }
    }
    Ok(done)
}

/// The names of a path in order, with `..` and without what leads nowhere.
fn names(path: &Path) -> impl Iterator<Item = OsString> {
    path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        Component::Prefix(_) | Component::RootDir | Component::CurDir => None,
    })
}
