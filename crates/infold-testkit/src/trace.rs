//! Reads a system-call trace of a program: what it did to the files of one folder, when it asked the kernel to
//! make that durable, and what it sent to others meanwhile.
//!
//! The trace is what `strace` writes when called with [`Trace::command`]. It records a call before the kernel
//! begins it, and the call's result before the program sees it. So when the program waits for a sync and then
//! answers somebody, the sync's end comes before the answer's beginning in the trace. That order is all that
//! the power-loss test relies on.
//!
//! Files below sub-folders, and calls that move data in other ways, are an error, so that nothing is missed.

mod line;

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::BufRead;
use std::path::Path;

use anyhow::{Context, Result, bail};

use line::{Lines, TracedCall};

#[cfg(test)]
mod tests;

/// The system calls that change files, make them durable, or send something to others.
const CALLS: &str = "openat,open,creat,close,pwrite64,pwritev,pwritev2,write,writev,sendto,sendmsg,ftruncate,truncate,\
                     fallocate,copy_file_range,fsync,fdatasync,sync_file_range,unlink,unlinkat,rename,renameat,\
                     renameat2,link,linkat,mkdir,mkdirat";

/// The longest string that `strace` writes out in full.
const STRING_BYTES_MAX: usize = 16 << 20;

/// A file, numbered in the order in which files were first seen. One name may belong to different files over time.
pub type FileNumber = usize;

/// One thing that the program did, with the lines of the trace where it began and ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The line of the trace where the call began.
    pub began: usize,
    /// The line of the trace where the call returned.
    pub ended: usize,
    /// What the call did, if it succeeded.
    pub action: Action,
}

/// One change, sync or message of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Wrote bytes to a file.
    Write {
        /// The file that was written to.
        file: FileNumber,
        /// The offset in the file, in bytes.
        offset: usize,
        /// The bytes that were written.
        bytes: Vec<u8>,
    },
    /// Set a file's length.
    Truncate {
        /// The file whose length was set.
        file: FileNumber,
        /// The new length, in bytes.
        length: usize,
    },
    /// Made what was written to a file durable.
    SyncFile {
        /// The file that was synced.
        file: FileNumber,
    },
    /// Made the folder's names durable.
    SyncFolder,
    /// Gave a file a name, which makes it if it is new.
    Create {
        /// The new name, in the folder.
        name: String,
        /// The file that got the name.
        file: FileNumber,
    },
    /// Took a name away.
    Unlink {
        /// The name that was removed.
        name: String,
    },
    /// Gave a file another name, which may have been another file's.
    Rename {
        /// The name that the file had before.
        from: String,
        /// The name that the file has now.
        to: String,
    },
    /// Sent bytes to another process.
    Send {
        /// The bytes that were sent.
        bytes: Vec<u8>,
    },
}

/// What a program did to one folder, in order.
#[derive(Debug, Default)]
pub struct Trace {
    /// Everything the program did, in the order in which the calls returned.
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
        let mut reader = TraceReader { folder: folder.to_path_buf(), ..TraceReader::default() };
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

/// What a file descriptor refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Handle {
    File { file: FileNumber, position: usize },
    Folder,
}

#[derive(Debug, Default)]
struct TraceReader {
    folder: std::path::PathBuf,
    handles: HashMap<i64, Handle>,
    names: HashMap<String, FileNumber>,
    files: usize,
    steps: Vec<Step>,
}

impl TraceReader {
    fn take(&mut self, call: &TracedCall) -> Result<()> {
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
            // This only hints at writing earlier and makes nothing durable. Any other call would matter.
            "sync_file_range" => {}
            other if self.handle(call).is_some() => bail!("{other} on a file of the folder is not understood"),
            _ => {}
        }
        Ok(())
    }

    fn handle(&self, call: &TracedCall) -> Option<Handle> {
        self.handles.get(&call.descriptor()).copied()
    }

    fn push(&mut self, call: &TracedCall, action: Action) {
        self.steps.push(Step { began: call.began, ended: call.ended, action });
    }

    fn open(&mut self, call: &TracedCall) -> Result<()> {
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

    /// Records a write to a file of the folder, or to another process. Not recorded are the standard streams, which
    /// carry logs, and writes at an offset to other descriptors, which are files outside of the folder.
    fn write(&mut self, call: &TracedCall) -> Result<()> {
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

    fn unlink(&mut self, call: &TracedCall) -> Result<()> {
        if let Some(name) = self.name_inside(&call.path(0)?)? {
            self.names.remove(&name);
            self.push(call, Action::Unlink { name });
        }
        Ok(())
    }

    fn link(&mut self, call: &TracedCall) -> Result<()> {
        let from = self.name_inside(&call.path(0)?)?;
        let to = self.name_inside(&call.path(1)?)?;
        let (Some(from), Some(name)) = (from, to) else { return Ok(()) };
        let file = *self.names.get(&from).context("a file was linked before it was made")?;
        self.names.insert(name.clone(), file);
        self.push(call, Action::Create { name, file });
        Ok(())
    }

    fn rename(&mut self, call: &TracedCall) -> Result<()> {
        let from = self.name_inside(&call.path(0)?)?;
        let to = self.name_inside(&call.path(1)?)?;
        let (Some(from), Some(to)) = (from, to) else { return Ok(()) };
        let file = self.names.remove(&from).context("a file was renamed before it was made")?;
        self.names.insert(to.clone(), file);
        self.push(call, Action::Rename { from, to });
        Ok(())
    }

    fn refuse_inside(&self, call: &TracedCall) -> Result<()> {
        if self.name_inside(&call.path(0)?)?.is_some() {
            bail!("{} in the folder is not understood", call.name);
        }
        Ok(())
    }

    /// The name of a file in the folder itself; `None` for a path outside of it. A path in a sub-folder is an error.
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
