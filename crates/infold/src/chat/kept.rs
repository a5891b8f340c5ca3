//! What is kept of typing: the draft of each folder, until it is said, and what was said before.
//!
//! What must hold: a draft is on disk soon after it was typed, and is gone once it was said; nobody but the user can read it.
//! What was said before holds no secret.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;

/// Lines of history that are kept.
const HISTORY_MAX: usize = 1_000;
/// Bytes of one line of it.
const HISTORY_BYTES_MAX: usize = 16 << 10;

/// The files.
pub struct KeptTyping {
    draft: PathBuf,
    history: PathBuf,
    saved: String,
}

impl KeptTyping {
    /// Those of a folder.
    pub fn of(data: &Path, folder: &Path) -> anyhow::Result<Self> {
        let place = data.join("chat");
        std::fs::create_dir_all(&place).with_context(|| format!("cannot make {}", place.display()))?;
        let name = blake3::hash(folder.as_os_str().as_encoded_bytes()).to_hex();
        let draft = place.join(format!("draft-{}", &name[..16]));
        Ok(Self { draft, history: place.join("history"), saved: String::new() })
    }

    /// The draft that was left; empty if there is none.
    pub fn draft(&mut self) -> String {
        self.saved = std::fs::read_to_string(&self.draft).unwrap_or_default();
        self.saved.clone()
    }

    /// Keeps a draft.
    pub fn save_draft(&mut self, text: &str) -> anyhow::Result<()> {
        if text == self.saved {
            return Ok(());
        }
        match text.is_empty() {
            true => match std::fs::remove_file(&self.draft) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
                _ => {}
            },
            false => {
                let beside = self.draft.with_extension("new");
                private(&beside)?.write_all(text.as_bytes())?;
                std::fs::rename(&beside, &self.draft)?;
            }
        }
        text.clone_into(&mut self.saved);
        Ok(())
    }

    /// What was said before, the oldest first.
    pub fn history(&self) -> Vec<String> {
        let text = std::fs::read_to_string(&self.history).unwrap_or_default();
        let mut lines: Vec<String> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        lines.split_off(lines.len().saturating_sub(HISTORY_MAX))
    }

    /// Adds what was said, which has to be scrubbed.
    pub fn add_to_history(&self, text: &str) -> anyhow::Result<()> {
        if text.len() > HISTORY_BYTES_MAX {
            return Ok(());
        }
        let mut lines = self.history();
        lines.push(text.to_owned());
        let kept = lines.split_off(lines.len().saturating_sub(HISTORY_MAX));
        let mut whole = String::new();
        for line in kept {
            whole.push_str(&serde_json::to_string(&line)?);
            whole.push('\n');
        }
        let beside = self.history.with_extension("new");
        private(&beside)?.write_all(whole.as_bytes())?;
        Ok(std::fs::rename(&beside, &self.history)?)
    }
}

fn private(path: &Path) -> std::io::Result<std::fs::File> {
    std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}

#[cfg(test)]
mod tests;
