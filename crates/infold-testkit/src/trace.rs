//! Reads a system-call trace of a program into what it did to the files of one folder, when it asked
//! the kernel to make that durable, and what it told the world meanwhile.
//!
//! The trace is what `strace` writes when called as [`Trace::command`] says. It notes a call before
//! the kernel begins it and its result before the program sees it. So when the program waits for a
//! sync and then answers somebody, the sync's end stands before the answer's beginning in the trace:
//! that order is all that the power-loss test builds on.
//!
//! Files below sub-folders, and calls that move data in other ways, are refused rather than missed.

mod line;

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::BufRead;
use std::path::Path;

use anyhow::{Context, Result, bail};

use line::{Call, Lines};

#[cfg(test)]
mod tests;

/// The calls that change files, make them durable, or tell the world something.
const CALLS: &str = "openat,open,creat,close,pwrite64,pwritev,pwritev2,write,writev,sendto,sendmsg,ftruncate,truncate,\
                     fallocate,copy_file_range,fsync,fdatasync,sync_file_range,unlink,unlinkat,rename,renameat,\
                     renameat2,link,linkat,mkdir,mkdirat";

/// Longest string that is written out in full.
const STRING_BYTES_MAX: usize = 16 << 20;

/// A file, by the order in which it was first seen. A name may stand for different files over time.
pub type FileNumber = usize;

/// One thing that the program did, with the lines of the trace where it began and ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The line where the call was made.
    pub began: usize,
    /// The line where it returned.
    pub ended: usize,
    /// What it did.
    pub action: Action,
}

/// What a step did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Wrote bytes to a file.
    Write {
        /// The file.
        file: FileNumber,
        /// Where in it.
        offset: usize,
        /// What.
        bytes: Vec<u8>,
    },
    /// Set a file's length.
    Truncate {
        /// The file.
        file: FileNumber,
        /// Its new length.
        length: usize,
    },
    /// Made what was written to a file durable.
    SyncFile {
        /// The file.
        file: FileNumber,
    },
    /// Made the folder's names durable.
    SyncFolder,
    /// Gave a file a name, which makes it if it is new.
    Create {
        /// The name.
        name: String,
        /// The file.
        file: FileNumber,
    },
    /// Took a name away.
    Unlink {
        /// The name.
        name: String,
    },
    /// Gave a file another name, which may have been another file's.
    Rename {
        /// The old name.
        from: String,
        /// The new name.
        to: String,
    },
    /// Sent bytes to somebody outside.
    Send {
        /// What.
        bytes: Vec<u8>,
    },
}

/// What a program did to one folder, in order.
#[derive(Debug, Default)]
pub struct Trace {
    /// Everything it did, in the order in which the calls returned.
    pub steps: Vec<Step>,
    /// How many files there were in all.
    pub files: usize,
    /// How many lines the trace has.
    pub lines: usize,
}

impl Trace {
    /// The beginning of a command line that runs a program and traces it into `output`.
    pub fn command(output: &Path) -> Vec<OsString> {
        let flags =
            ["strace", "--follow-forks", "--seccomp-bpf", "--quiet=all", "--strings-in-hex=all", "--signal=none"];
        let mut command: Vec<OsString> = flags.map(Into::into).to_vec();
        command.push(format!("--string-limit={STRING_BYTES_MAX}").into());
        command.push(format!("--trace={CALLS}").into());
        command.push("--output".into());
        command.push(output.into());
        command
    }

    /// Reads a trace of what was done to `folder`.
    pub fn read(trace: impl BufRead, folder: &Path) -> Result<Self> {
        let mut reader = Reader { folder: folder.to_path_buf(), ..Reader::default() };
        let mut lines = Lines::default();
        let mut count = 0;
        for line in trace.lines() {
            let line = line.context("cannot read the trace")?;
            count += 1;
            if let Some(call) = lines.take(&line, count)? {
                reader.take(&call).with_context(|| format!("in line {count} of the trace ({})", call.name))?;
            }
        }
        Ok(Self { steps: reader.steps, files: reader.files, lines: count })
    }
}

/// What a file descriptor stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Handle {
    File { file: FileNumber, position: usize },
    Folder,
}

#[derive(Debug, Default)]
struct Reader {
    folder: std::path::PathBuf,
    handles: HashMap<i64, Handle>,
    names: HashMap<String, FileNumber>,
    files: usize,
    steps: Vec<Step>,
}

impl Reader {
    fn take(&mut self, call: &Call) -> Result<()> {
        match call.name.as_str() {
            "close" => {
                self.handles.remove(&call.descriptor());
            }
            _ if call.result < 0 => {}
            "openat" | "open" | "creat" => self.open(call)?,
            "write" | "pwrite64" | "writev" => self.write(call)?,
            "sendto" | "sendmsg" => self.push(call, Action::Send { bytes: call.bytes()? }),
            "ftruncate" => {
                if let Some(Handle::File { file, .. }) = self.handle(call) {
                    let length = call.number(1)?;
                    self.push(call, Action::Truncate { file, length });
                }
            }
            "fsync" | "fdatasync" => match self.handle(call) {
                Some(Handle::File { file, .. }) => self.push(call, Action::SyncFile { file }),
                Some(Handle::Folder) => self.push(call, Action::SyncFolder),
                None => {}
            },
            "unlink" | "unlinkat" => self.unlink(call)?,
            "rename" | "renameat" | "renameat2" => self.rename(call)?,
            "link" | "linkat" => self.link(call)?,
            "mkdir" | "mkdirat" | "truncate" => self.refuse_inside(call)?,
            // Advice and reservations that do not change what a file says; anything else would.
            "sync_file_range" => {}
            other if self.handle(call).is_some() => bail!("{other} on a file of the folder is not understood"),
            _ => {}
        }
        Ok(())
    }

    fn handle(&self, call: &Call) -> Option<Handle> {
        self.handles.get(&call.descriptor()).copied()
    }

    fn push(&mut self, call: &Call, action: Action) {
        self.steps.push(Step { began: call.began, ended: call.ended, action });
    }

    fn open(&mut self, call: &Call) -> Result<()> {
        let path = call.path(0)?;
        if Path::new(&path) == self.folder {
            self.handles.insert(call.result, Handle::Folder);
            return Ok(());
        }
        let Some(name) = self.name_inside(&path)? else { return Ok(()) };
        let known = self.names.get(&name).copied();
        let file = match known {
            Some(file) => file,
            None if !call.text.contains("O_CREAT") => bail!("{name} was there before it was made"),
            None => {
                let file = self.files;
                self.files += 1;
                self.names.insert(name.clone(), file);
                self.push(call, Action::Create { name, file });
                file
            }
        };
        if call.text.contains("O_TRUNC") && known.is_some() {
            self.push(call, Action::Truncate { file, length: 0 });
        }
        if call.text.contains("O_APPEND") {
            bail!("a file of the folder is opened for appending, which is not understood");
        }
        self.handles.insert(call.result, Handle::File { file, position: 0 });
        Ok(())
    }

    /// A write to a file of the folder, or to somebody outside. The standard streams carry logs, which
    /// are nobody's answer, and a write at a position goes to a file elsewhere.
    fn write(&mut self, call: &Call) -> Result<()> {
        let written = usize::try_from(call.result)?;
        let Some(Handle::File { file, position }) = self.handle(call) else {
            if call.descriptor() > 2 && call.name != "pwrite64" {
                self.push(call, Action::Send { bytes: call.bytes()? });
            }
            return Ok(());
        };
        let mut bytes = call.bytes()?;
        bytes.truncate(written);
        let offset = match call.name.as_str() {
            "pwrite64" => call.number(3)?,
            _ => position,
        };
        if call.name != "pwrite64" {
            self.handles.insert(call.descriptor(), Handle::File { file, position: position + written });
        }
        self.push(call, Action::Write { file, offset, bytes });
        Ok(())
    }

    fn unlink(&mut self, call: &Call) -> Result<()> {
        if let Some(name) = self.name_inside(&call.path(0)?)? {
            self.names.remove(&name);
            self.push(call, Action::Unlink { name });
        }
        Ok(())
    }

    fn link(&mut self, call: &Call) -> Result<()> {
        let from = self.name_inside(&call.path(0)?)?;
        let to = self.name_inside(&call.path(1)?)?;
        let (Some(from), Some(name)) = (from, to) else { return Ok(()) };
        let file = *self.names.get(&from).context("a file was linked before it was made")?;
        self.names.insert(name.clone(), file);
        self.push(call, Action::Create { name, file });
        Ok(())
    }

    fn rename(&mut self, call: &Call) -> Result<()> {
        let from = self.name_inside(&call.path(0)?)?;
        let to = self.name_inside(&call.path(1)?)?;
        let (Some(from), Some(to)) = (from, to) else { return Ok(()) };
        let file = self.names.remove(&from).context("a file was renamed before it was made")?;
        self.names.insert(to.clone(), file);
        self.push(call, Action::Rename { from, to });
        Ok(())
    }

    fn refuse_inside(&self, call: &Call) -> Result<()> {
        if self.name_inside(&call.path(0)?)?.is_some() {
            bail!("{} in the folder is not understood", call.name);
        }
        Ok(())
    }

    /// The name of a file that lies in the folder itself; nothing for a path elsewhere.
    fn name_inside(&self, path: &str) -> Result<Option<String>> {
        let Ok(rest) = Path::new(path).strip_prefix(&self.folder) else { return Ok(None) };
        if rest.as_os_str().is_empty() {
            return Ok(None);
        }
        if rest.components().count() != 1 {
            bail!("{path} lies in a sub-folder, which is not understood");
        }
        Ok(Some(rest.to_string_lossy().into_owned()))
    }
}
