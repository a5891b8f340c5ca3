//! A clock that tests move while daemons run: the time of day of every daemon that was given it, and nobody else's.
//!
//! The program knows nothing of this. A small library in front of the system's own answers when it asks for the time; the
//! linker that builds infold builds the library too.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::{DaemonSetup, TempFolder};

const LIBRARY: &str = include_str!("clock/moved.c");

/// A clock that goes as the machine's does, and as far before or behind it as it was moved.
#[derive(Debug)]
pub struct MovedClock {
    folder: TempFolder,
    moved_by: File,
}

impl MovedClock {
    /// A clock that was not moved yet; `None` where a daemon cannot be given one.
    pub fn new() -> Result<Option<Self>> {
        if !cfg!(target_os = "linux") {
            eprintln!("skipped: clocks can be moved on Linux only");
            return Ok(None);
        }
        let folder = TempFolder::new()?;
        let source = folder.join("moved.c");
        std::fs::write(&source, LIBRARY)?;
        let mut linker = Command::new("cc");
        linker.args(["-shared", "-fPIC", "-O1", "-o"]).arg(folder.join("moved.so")).arg(&source);
        let built = linker.output().context("cannot run cc")?;
        ensure!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        let moved_by = File::create(folder.join("moved-by"))?;
        let clock = Self { folder, moved_by };
        clock.set_hours(0.0)?;
        Ok(Some(clock))
    }

    /// Gives the clock to a daemon.
    pub fn given_to(&self, setup: DaemonSetup) -> DaemonSetup {
        let path = |name: &str| self.folder.join(name).display().to_string();
        setup.env("LD_PRELOAD", &path("moved.so")).env("MOVED_CLOCK", &path("moved-by"))
    }

    /// Sets the clock this many hours before the machine's, or behind it if there are fewer than none.
    pub fn set_hours(&self, hours: f64) -> Result<()> {
        let seconds = (hours * 3600.0) as i64;
        self.moved_by.write_all_at(&seconds.to_ne_bytes(), 0).context("cannot move the clock")
    }
}
