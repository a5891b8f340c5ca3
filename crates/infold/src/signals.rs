//! SIGTERM and Ctrl-C: the first asks for an orderly end, the second for one at once.

use anyhow::Context;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Signals that ask this process to stop. They are caught from the moment this is made.
pub struct Stops {
    terminate: Signal,
    interrupt: Signal,
}

impl Stops {
    /// Starts to catch SIGTERM and Ctrl-C.
    pub fn catch() -> anyhow::Result<Self> {
        let catch = |kind| signal(kind).context("cannot handle signals");
        Ok(Self { terminate: catch(SignalKind::terminate())?, interrupt: catch(SignalKind::interrupt())? })
    }

    /// Waits for the next of these signals.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
