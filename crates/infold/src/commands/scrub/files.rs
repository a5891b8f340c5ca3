//! The files that a report is about: those that are named, and all in the folders that are named.
//!
//! What git keeps of itself is left out, and links are not followed; everything else is searched, also what git ignores,
//! because that is where secrets are.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::failure::Refused;

/// Most folders one inside of another.
const DEPTH_MAX: usize = 64;
/// Most files of one report.
const FILES_MAX: usize = 1_000_000;
/// The folder in which git keeps what it packs.
const GIT_FOLDER: &str = ".git";

/// The files, in the order in which folders name them.
pub fn list(paths: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        let data =
            fs::metadata(path).map_err(|error| Refused::new(format!("{} cannot be read: {error}", path.display())))?;
        if data.is_dir() {
            add_folder(path, 0, &mut files)?;
        } else {
            files.push(path.clone());
        }
    }
    Ok(files)
}

fn add_folder(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
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
            add_folder(&entry.path(), depth + 1, files)?;
        } else if kind.is_file() {
            if files.len() == FILES_MAX {
                return Err(refused(format!("there are more than {FILES_MAX} files")).into());
            }
            files.push(entry.path());
        }
    }
    Ok(())
}

/// A file's text; `None` if it is no text, or why it cannot be searched.
pub fn read(path: &Path, bytes_max: usize) -> Result<Option<String>, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    file.take(bytes_max as u64 + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() > bytes_max {
        return Err(format!("it is longer than {bytes_max} bytes; raise the bound with --set scrub.max_bytes=N"));
    }
    Ok(String::from_utf8(bytes).ok())
}
