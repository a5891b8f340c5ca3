//! Finds and reads the rule files that count in a folder: those of the folder and of the folders above it, up to the root
//! of its repository, and the user's own.
//!
//! They are read when a lesson is about to be kept, never when a branch opens. Nothing of them is stored or shown; all
//! that a file can do is to keep a lesson from being learnt. So a hostile repository can only keep infold from learning
//! in that repository. Lines that include other files are not followed.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use infold_core::memory::{Lesson, RuleFile, WorkPlace, rule_file_saying};
use infold_core::{Owner, Principal};

use super::repository::root_of;
use crate::Engine;

/// Rule files of a folder, as clients name them.
const NAMES: [&str; 7] = [
    "CLAUDE.md",
    ".claude/CLAUDE.md",
    "CLAUDE.local.md",
    "AGENTS.md",
    "GEMINI.md",
    ".github/copilot-instructions.md",
    ".cursorrules",
];
/// The user's own rule files, in the home folder.
const OWN_NAMES: [&str; 4] =
    [".claude/CLAUDE.md", ".codex/AGENTS.md", ".config/opencode/AGENTS.md", ".gemini/GEMINI.md"];
/// Folders that are looked into.
const FOLDERS_MAX: usize = 16;
/// How much of a file is read.
const FILE_BYTES_MAX: u64 = 128 << 10;
/// Files that are remembered as they were read.
const REMEMBERED_MAX: usize = 64;

/// Rule files as they were read last.
#[derive(Default)]
pub(crate) struct ReadRuleFiles {
    files: Mutex<HashMap<PathBuf, ReadRuleFile>>,
}

struct ReadRuleFile {
    modified: SystemTime,
    bytes: u64,
    file: Arc<RuleFile>,
}

impl Engine {
    /// The name of a rule file that says already what a lesson says. Folders of other principals are on other machines, and
    /// their rule files are not known.
    pub(super) async fn rule_file_with(&self, owner: &Owner, place: &WorkPlace, lesson: &Lesson) -> Option<String> {
        if *owner != Owner::local() {
            return None;
        }
        let (engine, lesson) = (self.clone(), lesson.clone());
        let folder = place.folder.as_ref().map(|folder| PathBuf::from(folder.as_str()));
        let look = move || {
            let home = engine.inner.settings.home.as_deref();
            let files = engine.inner.learning.rule_files.read(folder.as_deref(), home);
            rule_file_saying(&lesson, files.iter().map(Arc::as_ref)).map(|file| file.name.clone())
        };
        tokio::task::spawn_blocking(look).await.ok().flatten()
    }

    /// The same in a project as people name it, by its key or by the path of a folder.
    pub(super) async fn rule_file_in(&self, who: &Principal, project: Option<&str>, lesson: &Lesson) -> Option<String> {
        let folder = project.filter(|name| name.starts_with('/')).unwrap_or_default();
        let place = self.place_in(who, PathBuf::from(folder)).await;
        self.rule_file_with(&who.owner, &place, lesson).await
    }
}

impl ReadRuleFiles {
    /// The rule files that count in a folder.
    fn read(&self, folder: Option<&Path>, home: Option<&Path>) -> Vec<Arc<RuleFile>> {
        let mut files = Vec::new();
        if let Some(folder) = folder {
            let root = root_of(folder).unwrap_or(folder);
            let inside = root.canonicalize().unwrap_or_else(|_| root.to_owned());
            for above in folder.ancestors().take(FOLDERS_MAX).take_while(|above| above.starts_with(root)) {
                files.extend(NAMES.iter().filter_map(|name| self.file(name, &above.join(name), &inside)));
            }
        }
        if let Some(home) = home {
            // What the user has linked to from the home folder may lie anywhere.
            files.extend(OWN_NAMES.iter().filter_map(|name| self.file(name, &home.join(name), Path::new("/"))));
        }
        files
    }

    /// A rule file, as it is on disk now; `None` if there is none, or if it is no plain file below the folder `inside`.
    fn file(&self, name: &str, path: &Path, inside: &Path) -> Option<Arc<RuleFile>> {
        let path = path.canonicalize().ok().filter(|path| path.starts_with(inside))?;
        let metadata = path.metadata().ok().filter(std::fs::Metadata::is_file)?;
        let (modified, bytes) = (metadata.modified().ok()?, metadata.len());
        let mut known = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(read) = known.get(&path).filter(|read| read.modified == modified && read.bytes == bytes) {
            return Some(read.file.clone());
        }
        let mut text = Vec::new();
        File::open(&path).ok()?.take(FILE_BYTES_MAX).read_to_end(&mut text).ok()?;
        let file = Arc::new(RuleFile::new(name.to_owned(), &String::from_utf8_lossy(&text)));
        if known.len() >= REMEMBERED_MAX {
            known.clear();
        }
        known.insert(path, ReadRuleFile { modified, bytes, file: file.clone() });
        Some(file)
    }
}
