//! The names of files and folders at one moment.

use std::collections::BTreeMap;

use super::{Action, FileNumber};

/// What has a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Named {
    File(FileNumber),
    Folder,
}

/// FileNames, each as its path from the traced folder.
#[derive(Debug, Clone, Default)]
pub(crate) struct FileNames {
    named: BTreeMap<String, Named>,
}

impl FileNames {
    pub(crate) fn get(&self, name: &str) -> Option<Named> {
        self.named.get(name).copied()
    }

    /// All names, with those of folders before what is in them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, Named)> {
        self.named.iter().map(|(name, named)| (name.as_str(), *named))
    }

    /// Does what an action does to names. What it takes for granted may be missing, where changes of names were lost.
    pub(crate) fn change(&mut self, action: &Action) {
        match action {
            Action::Create { name, file } => {
                self.named.insert(name.clone(), Named::File(*file));
            }
            Action::MakeFolder { name } => {
                self.named.insert(name.clone(), Named::Folder);
            }
            Action::Unlink { name } => {
                self.named.remove(name);
            }
            Action::Rename { from, to } => self.rename(from, to),
            Action::Write { .. }
            | Action::Truncate { .. }
            | Action::SyncFile { .. }
            | Action::SyncFolder { .. }
            | Action::Send { .. } => {}
        }
    }

    /// Renames a file, or a folder with everything below it.
    fn rename(&mut self, from: &str, to: &str) {
        let moving: Vec<String> = self.named.keys().filter(|name| moved(name, from, to).is_some()).cloned().collect();
        for name in moving {
            if let (Some(new), Some(named)) = (moved(&name, from, to), self.named.remove(&name)) {
                self.named.insert(new, named);
            }
        }
    }
}

/// The name that `name` has when `from` becomes `to`; `None` if it stays.
pub(super) fn moved(name: &str, from: &str, to: &str) -> Option<String> {
    let rest = name.strip_prefix(from).filter(|rest| rest.is_empty() || rest.starts_with('/'))?;
    Some(format!("{to}{rest}"))
}

/// The name of the folder that a name is in.
pub(crate) fn folder_of(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(folder, _)| folder)
}
