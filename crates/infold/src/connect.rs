//! Connects agents to the daemon permanently, by a few values in their own settings files, and disconnects them.
//!
//! Only the named values change; comments, order and everything else in a file keep their bytes. A record in the data
//! folder says what changes, and is written first. Disconnecting restores each file byte for byte if nobody has touched
//! it since; otherwise it removes only infold's values.
//!
//! Must hold: all files are understood before the first is written.

mod change;
mod file;
mod json;
mod patch;
mod record;
mod targets;
mod toml_text;

use std::path::{Path, PathBuf};

use crate::commands::Invocation;
use crate::data_folder::DataFolder;
use crate::failure::Refused;
use crate::run::Agent;

pub use file::behind_links as real_path;

use change::Change;
use file::SettingsFile;
use patch::Patch;
use record::{ChangedFile, Record};
use targets::targets;

/// One settings file, before and after the change.
#[derive(Debug)]
pub struct PlannedFile {
    pub path: PathBuf,
    /// Its text now; `None` if it does not exist.
    pub before: Option<String>,
    /// Its text after the change; `None` if it is removed.
    pub after: Option<String>,
    file: SettingsFile,
}

impl PlannedFile {
    /// Whether the file changes at all.
    pub fn changes(&self) -> bool {
        self.before != self.after
    }

    /// The change, as a patch for people to read.
    pub fn diff(&self) -> String {
        let name = self.path.display().to_string();
        let (before, after) = (self.before.as_deref().unwrap_or_default(), self.after.as_deref().unwrap_or_default());
        similar::TextDiff::from_lines(before, after).unified_diff().header(&name, &name).to_string()
    }

    fn carry_out(&self) -> anyhow::Result<()> {
        match &self.after {
            Some(text) => self.file.write(text),
            None => self.file.remove(),
        }
    }
}

/// The planned change of all of an agent's files. Nothing is written until it is carried out.
pub struct Plan {
    /// The files, in the order in which they are written.
    pub steps: Vec<PlannedFile>,
    record: Option<Record>,
    record_path: PathBuf,
}

impl Plan {
    /// Makes the change. The record that can undo it is on disk before the first file changes.
    pub fn carry_out(&self, folder: &DataFolder) -> anyhow::Result<()> {
        match &self.record {
            Some(record) => {
                record.write(folder, &self.record_path)?;
                self.steps.iter().filter(|step| step.changes()).try_for_each(PlannedFile::carry_out)
            }
            None => {
                self.steps.iter().filter(|step| step.changes()).try_for_each(PlannedFile::carry_out)?;
                Record::remove(&self.record_path)
            }
        }
    }
}

/// Plans the changes that wire an agent to the daemon at `daemon_url`.
pub fn connect(agent: Agent, daemon_url: &str, invocation: &Invocation, data: &Path) -> anyhow::Result<Plan> {
    let record_path = Record::path(data, agent);
    let earlier = Record::read(&record_path)?;
    let mut steps = Vec::new();
    let mut record = Record::new(agent);
    for target in targets(agent, daemon_url, invocation)? {
        let file = SettingsFile::read(&target.path)?;
        let known = earlier.as_ref().and_then(|record| record.file(&file.path));
        let base = match known {
            Some(known) => undone(known, file.text.as_deref())?,
            None => file.text.clone(),
        };
        let (after, done) =
            change::apply(target.form, base.as_deref().unwrap_or_default(), &target.changes, &file.path)?;
        record.files.push(ChangedFile {
            path: file.path.clone(),
            form: target.form,
            patch: Patch::between(base.as_deref(), &after),
            done,
        });
        steps.push(PlannedFile { path: target.path, before: file.text.clone(), after: Some(after), file });
    }
    Ok(Plan { steps, record: Some(record), record_path })
}

/// Plans how an agent's files become what they were before it was connected.
pub fn disconnect(agent: Agent, data: &Path) -> anyhow::Result<Plan> {
    let record_path = Record::path(data, agent);
    let record = Record::read(&record_path)?.ok_or_else(|| {
        Refused::new(format!("{} is not connected with the data folder {}", agent.name(), data.display()))
            .hint("pass the --data that it was connected with")
    })?;
    let mut steps = Vec::new();
    for known in &record.files {
        let file = SettingsFile::read(&known.path)?;
        let after = undone(known, file.text.as_deref())?;
        steps.push(PlannedFile { path: known.path.clone(), before: file.text.clone(), after, file });
    }
    Ok(Plan { steps, record: None, record_path })
}

/// The agents that have a record in this data folder, and so are connected.
pub fn connected(data: &Path) -> Vec<Agent> {
    Agent::ALL.into_iter().filter(|agent| Record::path(data, *agent).exists()).collect()
}

/// How an agent is connected.
#[derive(Debug)]
pub struct Connection {
    /// Addresses of the daemon that were written into its files.
    pub addresses: Vec<String>,
    /// Files that no longer contain everything that was written into them.
    pub undone: Vec<PathBuf>,
}

/// Looks at how an agent is connected, and whether it still is.
pub fn connection(agent: Agent, data: &Path) -> anyhow::Result<Option<Connection>> {
    let Some(record) = Record::read(&Record::path(data, agent))? else { return Ok(None) };
    let mut connection = Connection { addresses: Vec::new(), undone: Vec::new() };
    for known in &record.files {
        let text = SettingsFile::read(&known.path)?.text.unwrap_or_default();
        let changes = || known.done.iter().map(|done| &done.change);
        if !changes().all(|change| change::is_in(known.form, &text, change)) {
            connection.undone.push(known.path.clone());
        }
        connection.addresses.extend(changes().flat_map(Change::addresses));
    }
    Ok(Some(connection))
}

/// A file's text without infold's changes, but with what others have changed since.
fn undone(known: &ChangedFile, now: Option<&str>) -> Result<Option<String>, Refused> {
    // Somebody has removed the file; there is nothing of infold's in it any more.
    let Some(now) = now else { return Ok(None) };
    match known.patch.reversed(now) {
        Some(before) => Ok(before),
        None => change::undo(known.form, now, &known.done, &known.path).map(Some),
    }
}

#[cfg(test)]
mod tests;
