//! Reads a system-call trace of a program: what it did to the files below one folder, when it asked the kernel to
//! make that durable, and what it sent to others meanwhile.
//!
//! The trace is what `strace` writes when called with [`Trace::command`]. It records a call before the kernel
//! begins it, and the call's result before the program sees it. So when the program waits for a sync and then
//! answers somebody, the sync's end comes before the answer's beginning in the trace. That order is all that
//! the power-loss test relies on.
//!
//! The folder must be empty or missing when the trace begins. Calls that move data in other ways are an error, so that
//! nothing is missed.

mod line;
mod names;
mod reader;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::io::BufRead;
use std::path::Path;

use anyhow::{Context, Result};

use line::Lines;
use reader::TraceReader;

pub(crate) use names::{FileNames, Named, folder_of};

/// The system calls that change files, make them durable, or send something to others.
const CALLS: &str = "openat,open,creat,close,pwrite64,pwritev,pwritev2,write,writev,sendto,sendmsg,ftruncate,truncate,\
                     fallocate,copy_file_range,sendfile,splice,lseek,fsync,fdatasync,sync_file_range,unlink,unlinkat,\
                     rename,renameat,renameat2,link,linkat,mkdir,mkdirat,rmdir";

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

/// One change, sync or message of a program. FileNames are paths from the traced folder, whose own is empty.
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
    /// Made the names in a folder durable.
    SyncFolder {
        /// The folder that was synced.
        name: String,
    },
    /// Made a folder.
    MakeFolder {
        /// The new folder's name.
        name: String,
    },
    /// Gave a file a name, which makes it if it is new.
    Create {
        /// The new name.
        name: String,
        /// The file that got the name.
        file: FileNumber,
    },
    /// Took a name away, of a file or of an empty folder.
    Unlink {
        /// The name that was removed.
        name: String,
    },
    /// Gave a file or a folder another name, which may have been another one's.
    Rename {
        /// The name that it had before.
        from: String,
        /// The name that it has now.
        to: String,
    },
    /// Sent bytes to another process.
    Send {
        /// The bytes that were sent.
        bytes: Vec<u8>,
    },
}

/// What a program did below one folder, in order.
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

    /// Reads a trace of what was done below `folder`.
    pub fn read(trace: impl BufRead, folder: &Path) -> Result<Self> {
        let mut reader = TraceReader::new(folder);
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
