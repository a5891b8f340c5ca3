//! An agent's settings file, read whole and written whole.

use std::fs::{self, DirBuilder, Permissions};
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::failure::Refused;
use crate::running::read_text;
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

impl SettingsFile {
    /// Reads it.
    pub fn read(path: &Path) -> Result<Self, Refused> {
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let text = read_text(&path)?;
        let permissions = fs::metadata(&path).ok().map(|metadata| metadata.permissions());
        Ok(Self { path, text, permissions })
    }

    /// Puts a new text in its place, with the rights that it had.
    pub fn write(&self, text: &str) -> anyhow::Result<()> {
        let cannot = || format!("{} cannot be written", self.path.display());
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
        fs::remove_file(&self.path).with_context(|| format!("{} cannot be removed", self.path.display()))
    }
}
