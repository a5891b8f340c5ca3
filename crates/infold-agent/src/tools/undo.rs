//! Undoes a change of a file, if the file is still the one that the change left behind.

#[cfg(test)]
mod tests;

use super::Workplace;
use super::change::{Conflict, FileChange, restore};
use super::fence::FenceError;

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

/// Puts a file back as it was before a change.
///
/// # Errors
///
/// If it has been changed since, or cannot be put back.
pub fn undo(change: &FileChange, workplace: &Workplace) -> Result<(), UndoError> {
    let fence = &workplace.fence;
    let place = fence.place(&change.path)?;
    let _alone = fence.changing();
    let current = fence.old_file(&place, workplace.limits.file_bytes_max)?;

    let before = restore(current.as_ref().map(|file| file.bytes.as_slice()), change)?;

    match before {
        Some(bytes) => fence.replace(&place, current.as_ref(), &bytes).map(|_rights| ())?,
        None => fence.remove(&place)?,
    }
    Ok(())
}
