//! What commands may do: the sandbox, and how good it is on this machine.
//!
//! The kernel confines a process that asks for it, and everything that the process starts. Only the process itself can ask.
//! So a command is started by a step of infold's own (`infold confine`), which calls [`restrict`] and then becomes the
//! command. Two means are used: Landlock, which decides over files, connections and signals, and a filter of system calls,
//! which takes away what no build or test needs. Neither covers rights and owners of files: a command can still change those
//! of the user's files elsewhere, and not what is in them. Where the kernel has no Landlock that is good enough,
//! [`bubblewrap`] decides over files, if it works.
//!
//! What must hold: the level is tried and said, and never quietly lower. A command that would get less than what was said
//! is not run.

mod bubblewrap;
mod filter;
mod rights;
mod rules;
mod trial;

#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use trial::{SandboxTrial, try_out};

/// The version of Landlock from which on nothing can be written outside: before, files could be emptied.
const LANDLOCK_FULL: i32 = 3;
/// The version of Landlock from which on signals stay inside.
const LANDLOCK_SIGNALS: i32 = 6;

/// What the user wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SandboxWish {
    /// No command without it.
    Required,
    /// As good as this machine can.
    Best,
    /// The same, with bubblewrap before Landlock.
    Bubblewrap,
    /// None.
    Off,
}

/// Whether commands may reach the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NetworkAccess {
    /// They may.
    Open,
    /// They may not.
    Closed,
}

/// What a command may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confinement {
    /// Folders and files that it may write, the working folder first.
    pub writable: Vec<PathBuf>,
    /// Folders and files that it may not read. They do not lie in a folder that it may write.
    pub hidden: Vec<PathBuf>,
    /// Whether it may reach the network.
    pub network: NetworkAccess,
}

impl Confinement {
    /// What a command begins with that is confined like this: the steps before the command itself.
    pub fn steps(&self, program: &Path, level: SandboxLevel) -> Vec<OsString> {
        if level == SandboxLevel::NONE {
            return Vec::new();
        }
        let mut steps = if level.has_bubblewrap { bubblewrap::steps(self) } else { Vec::new() };
        steps.push(program.into());
        steps.extend(self.arguments(level));
        steps.push("--".into());
        steps
    }

    /// The arguments of `infold confine` that ask for this, and for at least the level that was said.
    pub fn arguments(&self, level: SandboxLevel) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = vec!["confine".into()];
        self.writable.iter().for_each(|path| arguments.extend(["--folder".into(), path.into()]));
        self.hidden.iter().for_each(|path| arguments.extend(["--hide".into(), path.into()]));
        match self.network {
            NetworkAccess::Open => arguments.push("--network".into()),
            NetworkAccess::Closed => {}
        }
        arguments.extend(level.has_bubblewrap.then(|| "--without-landlock".into()));
        arguments.extend(["--landlock-min".into(), level.landlock_abi.to_string().into()]);
        arguments.extend(level.has_filter.then(|| "--filter-required".into()));
        arguments
    }
}

/// How well commands are confined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxLevel {
    /// The version of Landlock that is in force; 0 if none is.
    pub landlock_abi: i32,
    /// Whether bubblewrap is around commands.
    #[serde(default)]
    pub has_bubblewrap: bool,
    /// Whether the filter of system calls is in force.
    pub has_filter: bool,
    /// Whether commands can reach the network.
    pub network: NetworkAccess,
}

impl SandboxLevel {
    /// No sandbox at all.
    pub const NONE: Self =
        Self { landlock_abi: 0, has_bubblewrap: false, has_filter: false, network: NetworkAccess::Open };

    /// Whether commands can neither write outside of their folders nor get around that.
    pub fn is_full(self) -> bool {
        self.keeps_writes() && self.has_filter
    }

    /// Whether commands can write only in their folders.
    fn keeps_writes(self) -> bool {
        self.landlock_abi >= LANDLOCK_FULL || self.has_bubblewrap
    }

    /// The level in words.
    pub fn describe(self) -> String {
        if self == Self::NONE {
            return "commands are not confined: they can do whatever you can".to_owned();
        }
        let files = match self.landlock_abi {
            _ if self.has_bubblewrap => {
                "they can write only in their folders (bubblewrap), but can send signals to other processes".to_owned()
            }
            0 => "they can write wherever you can (this kernel has no Landlock)".to_owned(),
            abi if abi < LANDLOCK_FULL => {
                format!("they can write only in their folders, but empty files elsewhere (Landlock {abi})")
            }
            abi if abi < LANDLOCK_SIGNALS => format!(
                "they can write only in their folders (Landlock {abi}), but can send signals to other processes"
            ),
            abi => format!("they can write only in their folders (Landlock {abi})"),
        };
        let calls = if self.has_filter {
            "dangerous system calls are refused"
        } else {
            "no system call is refused (this kernel cannot filter them)"
        };
        let network = match self.network {
            NetworkAccess::Open => "the network is open",
            NetworkAccess::Closed => "the network is closed",
        };
        format!("commands are confined: {files}; {calls}; {network}")
    }
}

/// Why a process could not be confined.
#[derive(Debug, thiserror::Error)]
pub enum ConfineError {
    /// A hidden path lies where commands may write.
    #[error("{hidden} is to be hidden, but lies in {folder}, which commands may write: work in another folder")]
    HiddenInside {
        /// What is to be hidden.
        hidden: String,
        /// The folder around it.
        folder: String,
    },
    /// A folder has too many entries to leave one of them out.
    #[error("{0} has too many entries to hide one of them: hide the whole folder")]
    TooManyEntries(String),
    /// A folder that commands may write cannot be opened.
    #[error("{path}: {why}")]
    NoFolder {
        /// The folder.
        path: String,
        /// What the system said.
        why: String,
    },
    /// The kernel refused.
    #[error("the kernel refused the confinement: {0}")]
    Kernel(String),
}

/// Who decides over files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileRules {
    /// Landlock, as far as the kernel has it.
    Landlock,
    /// Whoever started this process: it is inside of bubblewrap.
    Elsewhere,
}

/// Confines the thread that calls it, and everything that it starts, for ever. Whoever calls it then becomes the command.
/// What the kernel cannot do is left out; the level says what is in force.
///
/// # Errors
///
/// If what was asked for makes no sense here, or the kernel refuses it.
pub fn restrict(confinement: &Confinement, files: FileRules) -> Result<SandboxLevel, ConfineError> {
    rights::give_up();
    let landlock_abi = match files {
        FileRules::Landlock => rules::apply(confinement)?,
        FileRules::Elsewhere => 0,
    };
    let has_filter = filter::apply(confinement.network)?;
    let network = match confinement.network {
        NetworkAccess::Closed if has_filter => NetworkAccess::Closed,
        NetworkAccess::Closed | NetworkAccess::Open => NetworkAccess::Open,
    };
    Ok(SandboxLevel { landlock_abi, has_bubblewrap: false, has_filter, network })
}
