//! The data folder: only its owner can look inside.
//!
//! It holds everything infold knows, and the token that lets a program in. So the folder is 0700
//! and what is made in it is 0600 from the first byte; a folder that others can enter is refused
//! instead of being quietly put right, because somebody may have read it already.

use std::fs::{self, DirBuilder, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::failure::Refused;
use crate::settings::InForce;

/// The database's file name in the data folder.
pub const DATABASE: &str = "infold.db";

/// A data folder that exists, and that nobody but its owner can access.
#[derive(Debug, Clone)]
pub struct DataFolder {
    path: PathBuf,
}

/// The path of the data folder, whether or not it exists.
pub fn location(in_force: &InForce) -> Result<PathBuf, Refused> {
    in_force
        .data_folder()
        .ok_or_else(|| Refused::new("no data folder: HOME is not set").hint("set --data DIR or INFOLD_DATA"))
}

impl DataFolder {
    /// Opens the folder, and creates it if it does not exist.
    pub fn create(path: PathBuf) -> anyhow::Result<Self> {
        // Every file that is created from here on, by whichever library, is for its owner alone.
        rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&path)
            .with_context(|| format!("cannot create the data folder {}", path.display()))?;
        let metadata = fs::metadata(&path).with_context(|| format!("data folder {}", path.display()))?;
        safe_to_use(&path, &metadata)?;
        Ok(Self { path })
    }

    /// Opens the folder; `None` if it does not exist.
    pub fn existing(path: PathBuf) -> anyhow::Result<Option<Self>> {
        match fs::metadata(&path) {
            Ok(_) => Self::create(path).map(Some),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
            Err(error) => Err(error).with_context(|| format!("data folder {}", path.display())),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of the database, whether or not it exists.
    pub fn database(&self) -> PathBuf {
        self.path.join(DATABASE)
    }
}

/// Refuses a path that is not a folder, that belongs to another user, or that others can access.
pub fn safe_to_use(path: &Path, metadata: &Metadata) -> Result<(), Refused> {
    let shown = path.display();
    if !metadata.is_dir() {
        return Err(Refused::new(format!("data folder {shown} is not a folder"))
            .hint("choose another with --data DIR or INFOLD_DATA"));
    }
    let (owner, ours) = (metadata.uid(), rustix::process::geteuid().as_raw());
    if owner != ours {
        return Err(Refused::new(format!("data folder {shown} belongs to another user (uid {owner}; you are {ours})"))
            .hint("run infold as its owner, or choose another folder with --data DIR"));
    }
    let mode = metadata.mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(Refused::new(format!("other users can access the data folder {shown} (mode {mode:04o})"))
            .hint(format!("chmod 700 {}", quoted(path))));
    }
    Ok(())
}

/// The path as it is typed in a shell, in quotes if it needs them.
pub fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@:,".contains(c);
    if text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests;
