//! Undoes changes of files, if each file is still the one that its last change left behind: all of them, or none.

#[cfg(test)]
mod tests;

use super::change::{Conflict, FileChange, restore};
use super::fence::{Fence, FenceError, FencedPath, OldFile};

/// Why a change was not undone. Nothing has changed then.
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    /// The file is another one by now, or the old one was not kept.
    #[error(transparent)]
    Conflict(#[from] Conflict),
    /// The file cannot be read or written.
    #[error(transparent)]
    Fence(#[from] FenceError),
}

/// A file as it is, and as it was before all of its changes.
struct FileBack {
    place: FencedPath,
    current: Option<OldFile>,
    before: Option<Vec<u8>>,
}

/// Puts files back as they were before these changes, which are given from the newest to the oldest. All of it is made in
/// memory first, so that nothing is written unless everything can be undone. A file that is already as it was stays so,
/// which lets an undo that broke off be done again. Returns the paths of the files that were put back.
///
/// # Errors
///
/// If files have been changed since, or cannot be put back: each with its reason.
pub fn undo_all(
    newest_first: &[FileChange],
    fence: &Fence,
    file_bytes_max: u64,
) -> Result<Vec<String>, Vec<UndoError>> {
    let _alone = fence.changing();
    let (mut files, mut problems) = (Vec::new(), Vec::new());
    for path in paths(newest_first) {
        let changes: Vec<&FileChange> = newest_first.iter().filter(|change| change.path == path).collect();
        match file_back(path, &changes, fence, file_bytes_max) {
            Ok(file) => files.extend(file),
            Err(problem) => problems.push(problem),
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let mut done = Vec::new();
    for file in files {
        let written = match &file.before {
            Some(bytes) => fence.replace(&file.place, file.current.as_ref(), bytes).map(|_rights| ()),
            None => fence.remove(&file.place),
        };
        written.map_err(|error| vec![error.into()])?;
        done.push(file.place.shown().to_owned());
    }
    Ok(done)
}

/// The paths that were changed, each once.
fn paths(changes: &[FileChange]) -> Vec<&str> {
    let mut paths: Vec<&str> = Vec::new();
    for change in changes {
        if !paths.contains(&change.path.as_str()) {
            paths.push(&change.path);
        }
    }
    paths
}

/// What one file was before its changes; `None` if it is that already.
fn file_back(
    path: &str,
    newest_first: &[&FileChange],
    fence: &Fence,
    file_bytes_max: u64,
) -> Result<Option<FileBack>, UndoError> {
    let place = fence.place(path)?;
    fence.may_write(&place)?;
    let current = fence.old_file(&place, file_bytes_max)?;
    let mut before = current.as_ref().map(|file| file.bytes.clone());
    let is_as_it_was = newest_first.last().is_some_and(|oldest| oldest.before.is(before.as_deref()));
    let is_as_it_was_left = newest_first.first().is_some_and(|newest| newest.after.is(before.as_deref()));
    if is_as_it_was && !is_as_it_was_left {
        return Ok(None);
    }
    for change in newest_first {
        before = restore(before.as_deref(), change)?;
    }
    Ok(Some(FileBack { place, current, before }))
}
