//! Changes of files, each with the way back.
//!
//! A change keeps what is needed to undo it and no more: the lines that were taken out, and where the others are in the new
//! file. What must hold: whoever stores a change scrubs the texts in it first. If that changes one, the way back leads to
//! another file than the one that was there; the digest shows it, and the change is not undone.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use similar::{Algorithm, DiffOp, TextDiff, capture_diff_slices};

/// Lines around a difference that a conflict shows.
const CONTEXT_LINES: usize = 3;
/// Lines of a file up to which the shortest way back is looked for. Above, all old lines between the first and the last
/// difference are kept.
const COMPARED_LINES_MAX: usize = 20_000;

/// A file that a tool changed, made or deleted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// The path, from the working folder on, or whole in another root.
    pub path: String,
    /// What was there before.
    pub before: FileState,
    /// What is there now.
    pub after: FileState,
    /// How to make the old file of the new one.
    pub way_back: WayBack,
}

/// What is known of a file without its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum FileState {
    /// There was no file.
    Absent,
    /// There was one.
    Present {
        /// BLAKE3 of what it held, in hex.
        digest: String,
        /// Its rights.
        mode: u32,
    },
}

/// How to make the old file of the new one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum WayBack {
    /// There was no file: take the new one away.
    Remove,
    /// Put the old file together.
    Steps {
        /// In the order of the old file's lines.
        steps: Vec<BackStep>,
    },
    /// The old file was no text, and is not kept.
    Lost,
}

/// One step on the way back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum BackStep {
    /// Lines that are in the new file as well.
    Copy {
        /// The first of them in the new file, counted from 0.
        from_line: usize,
        /// How many.
        lines: usize,
    },
    /// Lines that are only in the old file.
    Insert {
        /// The lines, with their ends.
        text: String,
    },
}

/// Why a change cannot be undone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Conflict {
    /// The file has been changed since.
    #[error("{path} has been changed since: undo that first, or take over what you want of this:\n{diff}")]
    ChangedSince {
        /// The file.
        path: String,
        /// What going back would do to the file as it is, as a unified diff. It is made of line numbers that may not fit
        /// any more.
        diff: String,
    },
    /// What was kept does not lead back to the file that was there: it held a secret, or was no text.
    #[error("{path} cannot be put back as it was: it held what infold does not keep, a secret or no text")]
    NotKept {
        /// The file.
        path: String,
    },
}

impl FileChange {
    /// A change from one content to another, each with its rights; `None` is no file.
    pub fn new(path: &str, before: Option<(&[u8], u32)>, after: Option<(&[u8], u32)>) -> Self {
        let new = after.map_or(&[][..], |(bytes, _)| bytes);
        let way_back = match before {
            None => WayBack::Remove,
            Some((old, _)) => match std::str::from_utf8(old) {
                Ok(old) => WayBack::Steps { steps: steps(old, new) },
                Err(_) => WayBack::Lost,
            },
        };
        Self { path: path.to_owned(), before: FileState::of(before), after: FileState::of(after), way_back }
    }
}

impl FileState {
    fn of(file: Option<(&[u8], u32)>) -> Self {
        match file {
            None => Self::Absent,
            Some((bytes, mode)) => Self::Present { digest: blake3::hash(bytes).to_hex().to_string(), mode },
        }
    }

    /// Whether a file with this content is meant; `None` is no file. Rights do not matter.
    pub(super) fn is(&self, bytes: Option<&[u8]>) -> bool {
        match (self, bytes) {
            (Self::Absent, None) => true,
            (Self::Present { digest, .. }, Some(bytes)) => blake3::hash(bytes).to_hex().as_str() == digest,
            (Self::Absent, Some(_)) | (Self::Present { .. }, None) => false,
        }
    }
}

/// What a file held before a change, made of what it holds now; `None` is no file.
///
/// # Errors
///
/// If the file is not the one that the change left behind, or the old one cannot be made.
pub fn restore(current: Option<&[u8]>, change: &FileChange) -> Result<Option<Vec<u8>>, Conflict> {
    let old = match &change.way_back {
        WayBack::Remove => None,
        WayBack::Steps { steps } => Some(put_together(current.unwrap_or_default(), steps)),
        WayBack::Lost => return Err(Conflict::NotKept { path: change.path.clone() }),
    };
    if !change.after.is(current) {
        let diff = diff(&change.path, current.unwrap_or_default(), old.as_deref().unwrap_or_default());
        return Err(Conflict::ChangedSince { path: change.path.clone(), diff });
    }
    if !change.before.is(old.as_deref()) {
        return Err(Conflict::NotKept { path: change.path.clone() });
    }
    Ok(old)
}

fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').collect()
}

/// The steps from the new file back to the old one.
fn steps(old: &str, new: &[u8]) -> Vec<BackStep> {
    let (old, new) = (lines(old.as_bytes()), lines(new));
    let same = |(one, other): &(&&[u8], &&[u8])| one == other;
    let front = old.iter().zip(&new).take_while(same).count();
    let back = old[front..].iter().rev().zip(new[front..].iter().rev()).take_while(same).count();
    let (old_middle, new_middle) = (&old[front..old.len() - back], &new[front..new.len() - back]);
    let mut steps = vec![BackStep::Copy { from_line: 0, lines: front }];
    if old_middle.len().max(new_middle.len()) > COMPARED_LINES_MAX {
        steps.push(inserted(old_middle));
    } else {
        for op in capture_diff_slices(Algorithm::Myers, new_middle, old_middle) {
            match op {
                DiffOp::Equal { old_index, len, .. } => {
                    steps.push(BackStep::Copy { from_line: front + old_index, lines: len });
                }
                DiffOp::Insert { new_index, new_len, .. } | DiffOp::Replace { new_index, new_len, .. } => {
                    steps.push(inserted(&old_middle[new_index..new_index + new_len]));
                }
                DiffOp::Delete { .. } => {}
            }
        }
    }
    steps.push(BackStep::Copy { from_line: new.len() - back, lines: back });
    steps.retain(|step| !matches!(step, BackStep::Copy { lines: 0, .. }));
    steps
}

fn inserted(lines: &[&[u8]]) -> BackStep {
    BackStep::Insert { text: String::from_utf8_lossy(&lines.concat()).into_owned() }
}

fn put_together(current: &[u8], steps: &[BackStep]) -> Vec<u8> {
    let current = lines(current);
    let mut old = Vec::new();
    for step in steps {
        match step {
            BackStep::Copy { from_line, lines } => {
                let copied = current.iter().skip(*from_line).take(*lines);
                copied.for_each(|line| old.extend_from_slice(line));
            }
            BackStep::Insert { text } => old.extend_from_slice(text.as_bytes()),
        }
    }
    old
}

fn diff(path: &str, current: &[u8], old: &[u8]) -> String {
    let (current, old) = (String::from_utf8_lossy(current), String::from_utf8_lossy(old));
    let diff = TextDiff::from_lines(&*current, &*old);
    let (now, then) = (format!("{path} (now)"), format!("{path} (before)"));
    diff.unified_diff().context_radius(CONTEXT_LINES).header(&now, &then).to_string()
}
