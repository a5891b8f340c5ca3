//! Records of what was changed in each agent's files. They stay in the data folder until it is undone.

use std::fs::{self, DirBuilder};
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::{Deserialize, Serialize};

use super::change::{Done, Syntax};
use super::patch::Patch;
use crate::data_folder::DataFolder;
use crate::failure::Refused;
use crate::run::Agent;
use crate::whole_file::{self, IfThere};

/// The folder for records, in the data folder.
const FOLDER: &str = "connections";
/// The version of the records' format. Records of another version are refused.
const VERSION: u32 = 1;

/// What was changed for an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    version: u32,
    agent: String,
    pub files: Vec<ChangedFile>,
}

/// What was changed in a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChangedFile {
    /// The real path, behind all links.
    pub path: PathBuf,
    pub form: Syntax,
    /// Restores the file byte for byte, as long as nobody else has changed it.
    pub patch: Patch,
    /// The single changes, which are undone one by one if somebody else has changed the file.
    pub done: Vec<Done>,
}

impl Record {
    pub fn new(agent: Agent) -> Self {
        Self { version: VERSION, agent: agent.program().to_owned(), files: Vec::new() }
    }

    /// The path of an agent's record, whether or not there is one.
    pub fn path(data: &Path, agent: Agent) -> PathBuf {
        data.join(FOLDER).join(format!("{}.json", agent.program()))
    }

    /// Reads a record; `None` if there is none, which means that the agent is not connected.
    pub fn read(path: &Path) -> anyhow::Result<Option<Self>> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
        };
        let record: Result<Self, _> = serde_json::from_str(&text);
        match record {
            Ok(record) if record.version == VERSION => Ok(Some(record)),
            Ok(_) | Err(_) => Err(Refused::new(format!("{} was written by another version of infold", path.display()))
                .hint("disconnect with that version")
                .into()),
        }
    }

    /// What was changed in the file with this real path.
    pub fn file(&self, path: &Path) -> Option<&ChangedFile> {
        self.files.iter().find(|file| file.path == path)
    }

    pub fn write(&self, data: &DataFolder, path: &Path) -> anyhow::Result<()> {
        let folder = data.path().join(FOLDER);
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&folder);
        made.with_context(|| format!("cannot create {}", folder.display()))?;
        let text = serde_json::to_string_pretty(self)?;
        whole_file::write(path, IfThere::Replace, |file| Ok(file.write_all(text.as_bytes())?))
    }

    pub fn remove(path: &Path) -> anyhow::Result<()> {
        fs::remove_file(path).with_context(|| format!("cannot remove {}", path.display()))
    }
}
