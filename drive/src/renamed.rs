//! Settings that had other names in older programs, which newer ones are compared with.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

/// The old name of a setting, and the one now.
const RENAMED: [(&str, &str); 3] = [
    ("proxy.windows", "windows.models"),
    ("proxy.window_tokens", "windows.default_tokens"),
    ("replay.prices", "prices.models"),
];

/// The settings of a program, as it lists them.
#[derive(Debug, Clone)]
pub struct SettingNames(String);

impl SettingNames {
    /// Asks a program for its settings.
    pub fn of(program: &Path) -> Result<Self> {
        let listed = Command::new(program).args(["settings", "--json"]).output();
        let listed = listed.with_context(|| format!("{} cannot be run", program.display()))?;
        Ok(Self(String::from_utf8_lossy(&listed.stdout).into_owned()))
    }

    /// The name that the program has for a setting.
    pub fn name<'n>(&self, name: &'n str) -> &'n str {
        let old = RENAMED.iter().find(|(_, new)| *new == name).map(|(old, _)| *old);
        old.filter(|old| self.0.contains(&format!("\"{old}\""))).unwrap_or(name)
    }
}
