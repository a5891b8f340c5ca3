//! A gate that an agent's tool waits at: `cat GATE` runs until the gate is let go.
//!
//! It is a named pipe, so that both sides wait for each other without looking at a clock.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use tokio::process::Command;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

/// How long a tool may take to reach a gate.
const REACHED_TIMEOUT: Duration = Duration::from_secs(60);

/// A gate in a project, by the path of its pipe.
#[derive(Debug)]
pub struct Gate {
    path: PathBuf,
}

/// A tool that waits at a gate. It goes on when this is dropped.
#[derive(Debug)]
pub struct AtGate {
    _side: File,
}

impl Gate {
    /// Makes a gate of this name in a folder.
    pub async fn new(folder: &Path, name: &str) -> Result<Self> {
        let path = folder.join(name);
        let made = Command::new("mkfifo").arg(&path).status().await.context("cannot run mkfifo")?;
        ensure!(made.success(), "mkfifo failed: {made}");
        Ok(Self { path })
    }

    /// Waits until a tool has reached the gate and waits there.
    pub async fn reached(&self) -> Result<AtGate> {
        let path = self.path.clone();
        let opened = spawn_blocking(move || OpenOptions::new().write(true).open(path));
        match timeout(REACHED_TIMEOUT, opened).await {
            Ok(side) => Ok(AtGate { _side: side?? }),
            Err(_) => {
                // Whoever opens both sides at once waits for nobody, and lets the thread above go on.
                let _ = OpenOptions::new().read(true).write(true).open(&self.path);
                bail!("no tool came to the gate {}", self.path.display())
            }
        }
    }
}
