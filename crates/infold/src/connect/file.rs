//! An agent's settings file, read whole and written whole.

use std::fs::{self, DirBuilder, Permissions};
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::failure::Refused;
use crate::run::read_text;
use crate::whole_file::{self, IfThere};

/// An agent's settings file, as it was when it was read.
#[derive(Debug, Clone)]
pub struct SettingsFile {
    /// The real path, behind all links: people keep such files in other folders and link to them.
    pub path: PathBuf,
    /// Its text; `None` if it does not exist.
    pub text: Option<String>,
    permissions: Option<Permissions>,
}

/// Longest chain of links that is followed.
const LINKS_MAX: usize = 40;

/// Follows links to the real path of a file, even if the file does not exist yet. So a file has the same path before
/// and after it is written, and is found again in the record.
pub fn behind_links(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        if let Ok(found) = fs::canonicalize(&path) {
            return found;
        }
        let folder = path.parent().map(Path::to_owned).unwrap_or_default();
        match fs::read_link(&path) {
            // A relative target is relative to the folder of the link.
            Ok(target) => path = folder.join(target),
            Err(_) => break,
        }
    }
    match (path.parent().map(fs::canonicalize), path.file_name()) {
        (Some(Ok(folder)), Some(name)) => folder.join(name),
        _ => path,
    }
}

impl SettingsFile {
    /// Reads the file behind `path`. One that does not exist is not an error.
    pub fn read(path: &Path) -> Result<Self, Refused> {
        let path = behind_links(path);
        let text = read_text(&path)?;
        let permissions = fs::metadata(&path).ok().map(|metadata| metadata.permissions());
        Ok(Self { path, text, permissions })
    }

    /// Replaces the file's text, and keeps its permissions.
    pub fn write(&self, text: &str) -> anyhow::Result<()> {
        let cannot = || format!("cannot write {}", self.path.display());
        if let Some(folder) = self.path.parent() {
            DirBuilder::new().recursive(true).create(folder).with_context(cannot)?;
        }
        whole_file::write(&self.path, IfThere::Replace, |file| Ok(file.write_all(text.as_bytes())?))?;
        match &self.permissions {
            Some(permissions) => fs::set_permissions(&self.path, permissions.clone()).with_context(cannot),
            None => Ok(()),
        }
    }

    pub fn remove(&self) -> anyhow::Result<()> {
        fs::remove_file(&self.path).with_context(|| format!("cannot remove {}", self.path.display()))
    }
}
