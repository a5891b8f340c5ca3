//! A change of a file that is worked out and not made yet: what a person is shown before, and what is written then.

use super::change::FileChange;
use super::fence::{Fence, FencedPath, OldFile};
use super::output::FileTexts;
use super::{ToolOutput, fence};

/// A change that is worked out.
pub(super) struct PlannedChange {
    /// The file.
    pub(super) place: FencedPath,
    /// What is there now, if there is a file.
    pub(super) old: Option<OldFile>,
    /// What it will hold.
    pub(super) after: String,
    /// What is said once it is made.
    pub(super) words: String,
}

impl PlannedChange {
    /// The file before and after.
    pub(super) fn texts(&self) -> FileTexts {
        FileTexts {
            path: self.place.shown().to_owned(),
            before: self.old.as_ref().map(|old| String::from_utf8_lossy(&old.bytes).into_owned()),
            after: self.after.clone(),
        }
    }

    /// Makes the change. The caller holds the fence's lock since it was worked out.
    pub(super) fn make(self, fence: &Fence) -> Result<ToolOutput, String> {
        let written = fence.replace(&self.place, self.old.as_ref(), self.after.as_bytes());
        let mode = written.map_err(|error: fence::FenceError| error.to_string())?;
        let before = self.old.as_ref().map(|old| (old.bytes.as_slice(), old.mode));
        let change = FileChange::new(self.place.shown(), before, Some((self.after.as_bytes(), mode)));
        let texts = self.texts();
        Ok(ToolOutput::changed(self.words, change, texts))
    }
}
