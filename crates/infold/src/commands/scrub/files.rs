//! The files that a report is about: those that are named, and all in the folders that are named.
//!
//! What git keeps of itself is left out, and links in folders are counted and not followed; everything else is searched, also what git ignores,
//! because that is where secrets are.

use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::Refused;

/// Most folders one inside of another.
const DEPTH_MAX: usize = 64;
/// Most files of one report.
const FILES_MAX: usize = 1_000_000;
/// The folder in which git keeps what it packs.
const GIT_FOLDER: &str = ".git";

/// What is named, and what is in the folders that are.
#[derive(Default)]
pub struct FileList {
    /// The files, in the order in which folders name them.
    pub files: Vec<PathBuf>,
    /// How many links folders have.
    pub links: u64,
}

/// Lists the files.
pub fn list(paths: &[PathBuf]) -> anyhow::Result<FileList> {
    let mut list = FileList::default();
    for path in paths {
        let data =
            fs::metadata(path).map_err(|error| Refused::new(format!("{} cannot be read: {error}", path.display())))?;
        if data.is_dir() {
            add_folder(path, 0, &mut list)?;
        } else {
            list.files.push(path.clone());
        }
    }
    Ok(list)
}

fn add_folder(folder: &Path, depth: usize, list: &mut FileList) -> anyhow::Result<()> {
    let refused = |reason: String| Refused::new(format!("{} cannot be searched: {reason}", folder.display()));
    if depth > DEPTH_MAX {
        return Err(refused(format!("it is more than {DEPTH_MAX} folders deep")).into());
    }
    let entries = fs::read_dir(folder).map_err(|error| refused(error.to_string()))?;
    let mut entries: Vec<fs::DirEntry> =
        entries.collect::<Result<_, _>>().map_err(|error| refused(error.to_string()))?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let kind = entry.file_type().map_err(|error| refused(error.to_string()))?;
        if kind.is_dir() && entry.file_name() != GIT_FOLDER {
            add_folder(&entry.path(), depth + 1, list)?;
        } else if kind.is_symlink() {
            list.links += 1;
        } else if kind.is_file() {
            if list.files.len() == FILES_MAX {
                return Err(refused(format!("there are more than {FILES_MAX} files")).into());
            }
            list.files.push(entry.path());
        }
    }
    Ok(())
}
