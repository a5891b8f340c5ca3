//! A disk that can lose power: what was synced is there afterwards, and anything can have happened to the rest.
//!
//! [`Disk`] plays a [`Trace`] up to a point. What a finished sync covers is durable; each later write
//! may have been lost, kept, or torn between sectors, in any combination. FileNames behave as on a journalling
//! file system: of the changes that were not synced, the first few are kept, in their order.
//!
//! Which syncs cover a name is the file system's to say. [`Disk::new`] takes the least that any of them promises: names
//! are durable when their folder was synced. [`Disk::with_journal`] takes what ext4 and XFS do: changes of names are in a
//! journal in their order, and a sync of any file or folder writes the journal up to there. So a synced file has its
//! name, and the folders above it have theirs.

use std::fs::{DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use anyhow::{Context, Result};

use crate::Rng;
use crate::trace::{Action, FileNames, FileNumber, Named, Step, Trace, folder_of};

#[cfg(test)]
mod tests;

/// The size of a sector, which a disk writes as a whole or not at all.
const SECTOR_BYTES: usize = 512;

/// The suffix of a file that SQLite makes again after a crash, so that its content does not matter.
const SHARED_MEMORY_SUFFIX: &str = "-shm";

/// The state of a disk at one moment of a trace.
#[derive(Debug)]
pub struct Disk<'a> {
    /// All steps, in the order in which they ended.
    steps: &'a [Step],
    /// The first step that has not ended yet.
    next: usize,
    files: Vec<FileState<'a>>,
    /// FileNames that survive any power loss.
    names: FileNames,
    /// Changes of names that were not synced.
    names_pending: Vec<&'a Step>,
    names_synced: NamesSynced,
}

/// Which syncs make a change of names durable.
#[derive(Debug, Clone, Copy)]
enum NamesSynced {
    /// Those of the folder that it was in.
    WithTheirFolder,
    /// All.
    WithAnything,
}

#[derive(Debug, Clone, Default)]
struct FileState<'a> {
    durable: Vec<u8>,
    pending: Vec<&'a Step>,
}

/// What a power loss does to writes that were not synced.
#[derive(Debug, Clone, Copy)]
enum PowerLoss {
    /// All of them are lost.
    LoseAll,
    /// All of them are kept.
    KeepAll,
    /// The first `count` of them are kept, the rest are lost.
    KeepFirst { count: usize },
    /// Each of them is lost, kept or torn at random.
    Mixed,
}

impl<'a> Disk<'a> {
    /// A disk before the program did anything, on which names are durable when their folder was synced.
    pub fn new(trace: &'a Trace) -> Self {
        Self::before(trace, NamesSynced::WithTheirFolder)
    }

    /// A disk before the program did anything, on which a sync of anything makes all earlier names durable.
    pub fn with_journal(trace: &'a Trace) -> Self {
        Self::before(trace, NamesSynced::WithAnything)
    }

    fn before(trace: &'a Trace, names_synced: NamesSynced) -> Self {
        Self {
            steps: &trace.steps,
            next: 0,
            files: vec![FileState::default(); trace.files],
            names: FileNames::default(),
            names_pending: Vec::new(),
            names_synced,
        }
    }

    /// Plays the trace up to just before line `cut`.
    pub fn advance(&mut self, cut: usize) {
        let steps = self.steps;
        while let Some(step) = steps.get(self.next).filter(|step| step.ended < cut) {
            self.take(step);
            self.next += 1;
        }
    }

    /// Makes everything durable that the trace was played up to, as the kernel does by itself after a while.
    pub fn write_back(&mut self) {
        let all = usize::MAX;
        self.files.iter_mut().for_each(|file| file.make_durable(all));
        self.names_pending.drain(..).for_each(|step| self.names.change(&step.action));
    }

    /// Plays a step that has ended. A sync makes durable what had ended when the sync began.
    fn take(&mut self, step: &'a Step) {
        match &step.action {
            Action::Write { file, .. } | Action::Truncate { file, .. } => self.files[*file].pending.push(step),
            Action::Create { .. } | Action::MakeFolder { .. } | Action::Unlink { .. } | Action::Rename { .. } => {
                self.names_pending.push(step);
            }
            Action::SyncFile { file } => {
                self.files[*file].make_durable(step.began);
                self.make_names_durable(step.began, None);
            }
            Action::SyncFolder { name } => self.make_names_durable(step.began, Some(name)),
            Action::Send { .. } => {}
        }
    }

    /// Makes changes of names durable that had ended before line `before`, when a file or a folder was synced. No rename
    /// overtakes another change, and none overtakes a rename: both may speak of the same file by different names.
    fn make_names_durable(&mut self, before: usize, folder: Option<&str>) {
        let names = &mut self.names;
        let rule = self.names_synced;
        let (mut some_wait, mut a_rename_waits) = (false, false);
        self.names_pending.retain(|step| {
            let is_rename = matches!(step.action, Action::Rename { .. });
            let overtakes = a_rename_waits || is_rename && some_wait;
            let synced = match rule {
                NamesSynced::WithTheirFolder => folder.is_some_and(|folder| is_in(&step.action, folder)),
                NamesSynced::WithAnything => true,
            };
            let covered = !overtakes && synced && step.ended < before;
            if covered {
                names.change(&step.action);
            } else {
                some_wait = true;
                a_rename_waits |= is_rename;
            }
            !covered
        });
    }

    /// Writes the folder into `folder` as it may look when the power fails just before line `cut`, to
    /// which the disk must have been advanced.
    pub fn lose_power(&self, cut: usize, rng: &mut Rng, folder: &Path) -> Result<()> {
        let under_way: Vec<&Step> = self.steps[self.next..].iter().filter(|step| step.began < cut).collect();
        let mut names = self.names.clone();
        let mut changes: Vec<&Step> = self.names_pending.clone();
        changes.extend(under_way.iter().filter(|step| changes_names(step)));
        let kept = rng.below(changes.len() + 1);
        changes[..kept].iter().for_each(|step| names.change(&step.action));

        write_image(&names, folder, |file| {
            let state = &self.files[file];
            let mut pending = state.pending.clone();
            pending.extend(under_way.iter().filter(|step| changes_file(step, file)));
            let mut content = state.durable.clone();
            survive(&mut content, &pending, rng);
            content
        })
    }

    /// Writes the folder into `folder` as it looks if nothing is left but what was synced.
    pub fn lose_all_unsynced(&self, folder: &Path) -> Result<()> {
        write_image(&self.names, folder, |file| self.files[file].durable.clone())
    }
}

/// Makes the files and folders that have names. What is in a folder that was lost is lost with it.
fn write_image(names: &FileNames, folder: &Path, mut content: impl FnMut(FileNumber) -> Vec<u8>) -> Result<()> {
    for (name, named) in names.iter().filter(|(name, _)| !name.ends_with(SHARED_MEMORY_SUFFIX)) {
        let path = folder.join(name);
        match named {
            _ if !folder.join(folder_of(name)).is_dir() => {}
            Named::File(file) => write_private(&path, &content(file))?,
            Named::Folder => make_private(&path)?,
        }
    }
    Ok(())
}

impl FileState<'_> {
    /// Makes durable what had ended before line `before`.
    fn make_durable(&mut self, before: usize) {
        let durable = &mut self.durable;
        self.pending.retain(|step| {
            let covered = step.ended < before;
            if covered {
                apply(durable, &step.action, |_| true);
            }
            !covered
        });
    }
}

/// Whether an action changes names in this folder and in no other.
fn is_in(action: &Action, folder: &str) -> bool {
    match action {
        Action::Create { name, .. } | Action::MakeFolder { name } | Action::Unlink { name } => {
            folder_of(name) == folder
        }
        Action::Rename { from, to } => folder_of(from) == folder && folder_of(to) == folder,
        _ => false,
    }
}

fn changes_names(step: &Step) -> bool {
    matches!(
        step.action,
        Action::Create { .. } | Action::MakeFolder { .. } | Action::Unlink { .. } | Action::Rename { .. }
    )
}

fn changes_file(step: &Step, wanted: FileNumber) -> bool {
    match &step.action {
        Action::Write { file, .. } | Action::Truncate { file, .. } => *file == wanted,
        _ => false,
    }
}

/// Applies to `content` those of the pending changes that a random power loss leaves.
fn survive(content: &mut Vec<u8>, pending: &[&Step], rng: &mut Rng) {
    let loss = match rng.below(10) {
        0 => PowerLoss::LoseAll,
        1 => PowerLoss::KeepAll,
        2 | 3 => PowerLoss::KeepFirst { count: rng.below(pending.len() + 1) },
        _ => PowerLoss::Mixed,
    };
    for (index, step) in pending.iter().enumerate() {
        match loss {
            PowerLoss::LoseAll => {}
            PowerLoss::KeepAll => apply(content, &step.action, |_| true),
            PowerLoss::KeepFirst { count } if index < count => apply(content, &step.action, |_| true),
            PowerLoss::KeepFirst { .. } => {}
            PowerLoss::Mixed => match rng.below(3) {
                0 => {}
                1 => apply(content, &step.action, |_| true),
                _ => apply(content, &step.action, |_| rng.chance(50)),
            },
        }
    }
}

/// Applies a change to `content`, in those sectors for which `survives` is true.
fn apply(content: &mut Vec<u8>, action: &Action, mut survives: impl FnMut(usize) -> bool) {
    match action {
        Action::Truncate { length, .. } if survives(0) => content.resize(*length, 0),
        Action::Write { offset, bytes, .. } => {
            let end = offset + bytes.len();
            let mut at = *offset;
            while at < end {
                let sector_end = (at / SECTOR_BYTES + 1) * SECTOR_BYTES;
                let until = sector_end.min(end);
                if survives(at / SECTOR_BYTES) {
                    put(content, at, &bytes[at - offset..until - offset]);
                }
                at = until;
            }
        }
        _ => {}
    }
}

fn put(content: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    let end = at + bytes.len();
    if content.len() < end {
        content.resize(end, 0);
    }
    content[at..end].copy_from_slice(bytes);
}

/// Makes a folder that only its owner can open.
fn make_private(path: &Path) -> Result<()> {
    DirBuilder::new().mode(0o700).create(path).with_context(|| format!("cannot make {}", path.display()))
}

/// Writes a file that only its owner can read, like the program's own files.
fn write_private(path: &Path, content: &[u8]) -> Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
        .with_context(|| format!("cannot make {}", path.display()))?;
    file.write_all(content).with_context(|| format!("cannot write {}", path.display()))
}
