//! The token in the data folder. Whoever can read that file is taken for the user, who alone can read it.
//!
//! Must hold: the file has mode 0600 from its first byte and its whole content from the moment that
//! it has its name; a file that somebody else could have read or written is refused.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

/// The name of the token's file in the data folder.
pub const TOKEN_FILE: &str = "token";
const RANDOM_BYTES: usize = 32;
/// The shortest token that is accepted, so that one that a person chose cannot be guessed either.
const TOKEN_CHARS_LEAST: usize = 32;
const FILE_BYTES_MAX: u64 = 4096;

/// The secret that lets its bearer in on loopback. It does not show itself in debug output.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

/// Why the token file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The file cannot be read or created.
    #[error("{}: {source}", path.display())]
    Io {
        /// The token's file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The file exists, but somebody else may have read or written it, or it holds no token.
    #[error("{}: {problem}", path.display())]
    Untrusted {
        /// The token's file.
        path: PathBuf,
        /// What is wrong and what to do, as the rest of a sentence.
        problem: String,
    },
}

impl Token {
    /// Reads the token in `folder`, and makes one first if there is none. Any number of processes
    /// may do this at once; all get the same token.
    pub fn read_or_create(folder: &Path) -> Result<Self, TokenError> {
        let path = folder.join(TOKEN_FILE);
        match Self::read_file(&path) {
            Err(TokenError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {}
            read => return read,
        }
        create(folder, &path).map_err(|source| TokenError::Io { path: path.clone(), source })?;
        Self::read_file(&path)
    }

    /// Reads the token in `folder`, for a client of a running infold.
    pub fn read(folder: &Path) -> Result<Self, TokenError> {
        Self::read_file(&folder.join(TOKEN_FILE))
    }

    /// The token in plain text, as a request carries it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether `presented` is this token, in a time that does not depend on how much of it is right.
    pub(crate) fn matches(&self, presented: &str) -> bool {
        // Comparing digests hides the length too, and blake3 compares them in constant time.
        blake3::hash(self.0.as_bytes()) == blake3::hash(presented.as_bytes())
    }

    fn read_file(path: &Path) -> Result<Self, TokenError> {
        let failed = |source| TokenError::Io { path: path.to_owned(), source };
        let untrusted = |problem| TokenError::Untrusted { path: path.to_owned(), problem };

        // The checks are made on the open file, so that it cannot be exchanged in between.
        let file = open(path).map_err(failed)?;
        judge(&file.metadata().map_err(failed)?).map_err(untrusted)?;

        let mut text = String::new();
        file.take(FILE_BYTES_MAX).read_to_string(&mut text).map_err(failed)?;
        let text = text.trim_ascii();
        if text.len() < TOKEN_CHARS_LEAST || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(untrusted(format!(
                "holds no token (at least {TOKEN_CHARS_LEAST} visible ASCII characters): \
                 delete it, and infold makes a new one"
            )));
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Token(…)")
    }
}

/// Opens a file without following a link, and without waiting if it is a pipe.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path)
}

fn judge(metadata: &std::fs::Metadata) -> Result<(), String> {
    let own = rustix::process::geteuid().as_raw();
    if !metadata.is_file() {
        return Err("is not a regular file: delete it, and infold makes a new one".to_owned());
    }
    if metadata.uid() != own {
        let uid = metadata.uid();
        return Err(format!("belongs to user {uid}, infold runs as user {own}: delete it"));
    }
    let mode = metadata.mode() & 0o7777;
    if mode & 0o077 != 0 {
        return Err(format!("has mode {mode:04o}, so others may have read it: delete it, and infold makes a new one"));
    }
    Ok(())
}

/// Writes a token under a name of its own, then gives it the right name unless another process was
/// quicker. So nobody ever sees half a token.
fn create(folder: &Path, path: &Path) -> io::Result<()> {
    let draft = folder.join(format!("{TOKEN_FILE}.{}.new", random_hex::<8>()?));
    let written = write_draft(&draft).and_then(|()| std::fs::hard_link(&draft, path));
    let removed = std::fs::remove_file(&draft);
    match written {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => removed,
        Err(error) => Err(error),
        Ok(()) => removed.and_then(|()| File::open(folder)?.sync_all()),
    }
}

fn write_draft(draft: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(draft)?;
    writeln!(file, "{}", random_hex::<RANDOM_BYTES>()?)?;
    file.sync_all()
}

fn random_hex<const N: usize>() -> io::Result<String> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests;
