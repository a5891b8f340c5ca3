//! Secrets to plant, and a search for the places where they turn up.
//!
//! Bodies are made when a test runs, so that nothing in this file looks like a token to anybody's
//! scanner, our own included.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use infold_testkit::{Daemon, Rng};

use super::Database;

/// Letters of a secret that are looked for: enough that no other text has them by chance.
const CORE_CHARS: usize = 14;

/// Something that must not turn up anywhere.
#[derive(Debug, Clone)]
pub struct Secret {
    /// The kind of secret, in words for messages.
    pub kind: &'static str,
    pub text: String,
    /// A part from its middle, by which it is found even if its ends were cut off.
    core: String,
}

/// One secret of each of several kinds; others for each `seed`.
pub fn secrets(seed: u64) -> Vec<Secret> {
    const ALNUM: &str = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";
    const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let mut rng = Rng::new(seed);
    let mut body = |letters: &str, length: usize| -> String {
        let letters: Vec<char> = letters.chars().collect();
        (0..length).map(|_| letters[rng.below(letters.len())]).collect()
    };
    let github = format!("{}{}", "ghp_", body(ALNUM, 36));
    let anthropic = format!("{}{}AA", "sk-ant-api03-", body(ALNUM, 93));
    let aws = format!("{}{}", "AKIA", body(UPPER, 16));
    let npm = format!("{}{}", "npm_", body(ALNUM, 36));
    let stripe = format!("{}{}", "sk_live_", body(ALNUM, 24));
    let rows: Vec<String> = (0..8).map(|_| body(ALNUM, 64)).collect();
    let key =
        format!("-----{0}-----\n{1}\n-----{2}-----", "BEGIN RSA PRIVATE KEY", rows.join("\n"), "END RSA PRIVATE KEY");
    let kinds = [
        ("github", github),
        ("anthropic", anthropic),
        ("aws", aws),
        ("npm", npm),
        ("stripe", stripe),
        ("private key", key),
    ];
    kinds.into_iter().map(|(kind, text)| Secret { kind, core: core(&text), text }).collect()
}

/// The middle of a text. That of a private key lies in one of its rows.
fn core(text: &str) -> String {
    let row = text.lines().nth(text.lines().count() / 2).unwrap_or(text);
    let from = (row.len() - CORE_CHARS) / 2;
    row[from..from + CORE_CHARS].to_owned()
}

impl Secret {
    /// Whether `text` has the middle part of this secret.
    pub fn is_in(&self, text: &str) -> bool {
        text.contains(&self.core)
    }

    /// The part from its middle that is looked for.
    pub fn core(&self) -> &str {
        &self.core
    }
}

/// Where secrets turn up in what a daemon has left behind: its files, its log, and what its database
/// holds in packed form.
pub fn whereabouts(secrets: &[Secret], daemon: &Daemon) -> Result<Vec<String>> {
    let home = daemon.home();
    let own = home.parent().context("the daemon's home lies in its own folder")?;
    let mut files = files_below(own)?;
    if !daemon.data().starts_with(own) {
        files.extend(files_below(daemon.data())?);
    }
    let mut found = Vec::new();
    for file in &files {
        let bytes = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        let text = String::from_utf8_lossy(&bytes);
        let here = secrets.iter().filter(|secret| secret.is_in(&text));
        found.extend(here.map(|secret| format!("the {} secret in {}", secret.kind, file.display())));
    }
    for (table, rows) in Database::look(daemon.data())?.contents()? {
        let here = secrets.iter().filter(|secret| rows.iter().any(|row| secret.is_in(row)));
        found.extend(here.map(|secret| format!("the {} secret in table {table}", secret.kind)));
    }
    Ok(found)
}

/// All files in a folder and in the folders in it.
pub fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(files_below(&path)?);
        } else if path.is_file() {
            files.push(path);
        }
    }
    Ok(files)
}
