//! An agent's settings file, read whole and written whole.

use std::fs::{self, DirBuilder, Permissions};
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::failure::Refused;
use crate::run::read_text;
use crate::whole_file::{self, IfThere};

/// A settings file.
#[derive(Debug, Clone)]
pub struct SettingsFile {
    /// Where it lies, behind all links: people keep such files elsewhere and link to them.
    pub path: PathBuf,
    /// What is in it; `None` if it is not there.
    pub text: Option<String>,
    permissions: Option<Permissions>,
}

/// Most links that lead from one to the next.
const LINKS_MAX: usize = 40;

/// Where a file lies, or would lie: a link to a file that is not there yet is a link all the same, and so is a folder
/// on the way. The same file has the same path before and after it is written, by which it is found again.
fn behind_links(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        if let Ok(found) = fs::canonicalize(&path) {
            return found;
        }
        let folder = path.parent().map(Path::to_owned).unwrap_or_default();
        match fs::read_link(&path) {
            // A relative one counts from the folder that it lies in.
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
    /// Reads it.
    pub fn read(path: &Path) -> Result<Self, Refused> {
        let path = behind_links(path);
        let text = read_text(&path)?;
        let permissions = fs::metadata(&path).ok().map(|metadata| metadata.permissions());
        Ok(Self { path, text, permissions })
    }

    /// Puts a new text in its place, with the rights that it had.
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

    /// Takes it away.
    pub fn remove(&self) -> anyhow::Result<()> {
        fs::remove_file(&self.path).with_context(|| format!("cannot remove {}", self.path.display()))
    }
}
