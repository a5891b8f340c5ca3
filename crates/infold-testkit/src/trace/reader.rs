//! Follows a program's calls: which descriptor is which file, and which name belongs to it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use super::line::TracedCall;
use super::names::{FileNames, Named, moved};
use super::{Action, FileNumber, Step};

/// What a file descriptor refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Handle {
    File(OpenFile),
    Folder { name: String },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct OpenFile {
    file: FileNumber,
    /// Where the next write without an offset goes; `None` where reads, which are not traced, may have moved it.
    position: Option<usize>,
    /// Whether every write is synced before it returns.
    synced: bool,
}

#[derive(Debug)]
pub(super) struct TraceReader {
    folder: PathBuf,
    handles: HashMap<i64, Handle>,
    names: FileNames,
    pub(super) files: usize,
    pub(super) steps: Vec<Step>,
}

impl TraceReader {
    pub(super) fn new(folder: &Path) -> Self {
        let (handles, names) = (HashMap::new(), FileNames::default());
        Self { folder: folder.to_owned(), handles, names, files: 0, steps: Vec::new() }
    }

    pub(super) fn take(&mut self, call: &TracedCall) -> Result<()> {
        match call.name.as_str() {
            "close" => {
                self.handles.remove(&call.descriptor());
            }
            _ if call.result < 0 => {}
            "openat" | "open" | "creat" => self.open(call)?,
            "write" | "pwrite64" | "writev" => self.write(call)?,
            "sendto" | "sendmsg" => self.push(call, Action::Send { bytes: call.bytes()? }),
            "lseek" => {
                if let Some(Handle::File(open)) = self.handles.get_mut(&call.descriptor()) {
                    open.position = Some(usize::try_from(call.result)?);
                }
            }
            "ftruncate" => {
                if let Some(Handle::File(OpenFile { file, .. })) = self.handle(call) {
                    let length = call.number(1)?;
                    self.push(call, Action::Truncate { file, length });
                }
            }
            "fsync" | "fdatasync" => match self.handle(call) {
                Some(Handle::File(OpenFile { file, .. })) => self.push(call, Action::SyncFile { file }),
                Some(Handle::Folder { name }) => self.push(call, Action::SyncFolder { name }),
                None => {}
            },
            "mkdir" | "mkdirat" => self.make_folder(call)?,
            "unlink" | "unlinkat" | "rmdir" => self.unlink(call)?,
            "rename" | "renameat" | "renameat2" => self.rename(call)?,
            "link" | "linkat" => self.link(call)?,
            "truncate" => ensure!(self.name_inside(call, 0)?.is_none(), "truncate in the folder is not understood"),
            // This only hints at writing earlier and makes nothing durable. Any other call would matter.
            "sync_file_range" => {}
            other if self.handle(call).is_some() => bail!("{other} on a file of the folder is not understood"),
            _ => {}
        }
        Ok(())
    }

    fn handle(&self, call: &TracedCall) -> Option<Handle> {
        self.handles.get(&call.descriptor()).cloned()
    }

    fn push(&mut self, call: &TracedCall, action: Action) {
        self.names.change(&action);
        self.steps.push(Step { began: call.began, ended: call.ended, action });
    }

    fn open(&mut self, call: &TracedCall) -> Result<()> {
        let Some(name) = self.name_inside(call, 0)? else { return Ok(()) };
        let has = |flag: &str| call.text.contains(flag);
        for flag in ["O_APPEND", "O_TMPFILE"] {
            ensure!(!has(flag), "{name:?} is opened with {flag}, which is not understood");
        }
        let known = match self.names.get(&name) {
            _ if name.is_empty() => Some(Named::Folder),
            known => known,
        };
        let file = match known {
            Some(Named::Folder) => {
                self.handles.insert(call.result, Handle::Folder { name });
                return Ok(());
            }
            Some(Named::File(file)) => file,
            None if !has("O_CREAT") => bail!("{name} was there before it was made"),
            None => {
                let file = self.files;
                self.files += 1;
                self.push(call, Action::Create { name, file });
                file
            }
        };
        if has("O_TRUNC") && known.is_some() {
            self.push(call, Action::Truncate { file, length: 0 });
        }
        let unread = known.is_none() || has("O_TRUNC") || has("O_WRONLY");
        let open = OpenFile { file, position: unread.then_some(0), synced: has("O_SYNC") || has("O_DSYNC") };
        self.handles.insert(call.result, Handle::File(open));
        Ok(())
    }

    /// Records a write to a file of the folder, or to another process. Not recorded are the standard streams, which
    /// carry logs, and writes at an offset to other descriptors, which are files outside of the folder.
    fn write(&mut self, call: &TracedCall) -> Result<()> {
        let written = usize::try_from(call.result)?;
        let Some(Handle::File(open)) = self.handle(call) else {
            if call.descriptor() > 2 && call.name != "pwrite64" {
                self.push(call, Action::Send { bytes: call.bytes()? });
            }
            return Ok(());
        };
        let mut bytes = call.bytes()?;
        bytes.truncate(written);
        let offset = match call.name.as_str() {
            "pwrite64" => call.number(3)?,
            _ => {
                let offset = open.position.context("a file is written where reads may have gone before")?;
                let position = Some(offset + written);
                self.handles.insert(call.descriptor(), Handle::File(OpenFile { position, ..open }));
                offset
            }
        };
        self.push(call, Action::Write { file: open.file, offset, bytes });
        if open.synced {
            // It ends with the write and covers it: a sync covers what ended before it began.
            let (began, ended) = (call.ended + 1, call.ended);
            self.steps.push(Step { began, ended, action: Action::SyncFile { file: open.file } });
        }
        Ok(())
    }

    fn make_folder(&mut self, call: &TracedCall) -> Result<()> {
        if let Some(name) = self.name_inside(call, 0)?.filter(|name| !name.is_empty()) {
            self.push(call, Action::MakeFolder { name });
        }
        Ok(())
    }

    fn unlink(&mut self, call: &TracedCall) -> Result<()> {
        if let Some(name) = self.name_inside(call, 0)? {
            self.push(call, Action::Unlink { name });
        }
        Ok(())
    }

    fn link(&mut self, call: &TracedCall) -> Result<()> {
        let (Some(from), Some(name)) = self.both_names(call)? else { return Ok(()) };
        let Some(Named::File(file)) = self.names.get(&from) else { bail!("a file was linked before it was made") };
        self.push(call, Action::Create { name, file });
        Ok(())
    }

    fn rename(&mut self, call: &TracedCall) -> Result<()> {
        ensure!(!call.text.contains("RENAME_EXCHANGE"), "exchanged names are not understood");
        let (Some(from), Some(to)) = self.both_names(call)? else { return Ok(()) };
        ensure!(self.names.get(&from).is_some(), "{from} was renamed before it was made");
        for handle in self.handles.values_mut() {
            match handle {
                Handle::Folder { name } => *name = moved(name, &from, &to).unwrap_or_else(|| name.clone()),
                Handle::File(_) => {}
            }
        }
        self.push(call, Action::Rename { from, to });
        Ok(())
    }

    /// The two names of a call that gives something another one. Both are in the folder, or both are not.
    fn both_names(&self, call: &TracedCall) -> Result<(Option<String>, Option<String>)> {
        let names = (self.name_inside(call, 0)?, self.name_inside(call, 1)?);
        ensure!(names.0.is_some() == names.1.is_some(), "{} into the folder or out of it is not understood", call.name);
        Ok(names)
    }

    /// One of the call's paths, as seen from the folder; `None` for a path outside of it.
    fn name_inside(&self, call: &TracedCall, index: usize) -> Result<Option<String>> {
        let (below, path) = call.path(index)?;
        let path = match below.and_then(|descriptor| self.handles.get(&descriptor)) {
            Some(Handle::Folder { name }) => self.folder.join(name).join(path),
            Some(Handle::File(_)) => bail!("{path} is looked for below a file"),
            None => PathBuf::from(path),
        };
        let Ok(rest) = path.strip_prefix(&self.folder) else { return Ok(None) };
        ensure!(rest.components().all(|part| part.as_os_str() != ".."), "{} is not understood", path.display());
        Ok(Some(rest.to_string_lossy().into_owned()))
    }
}
