//! The gateway's operations: which tools of other servers may be used, whose a call of one is, what is shown of its
//! result, and what calls add up to. Speaking to the servers is a surface's work.
//!
//! What must hold: only scrubbed text reaches the disk, also of definitions; a call is counted in one thread at most, and
//! there once; a store that fails costs figures, and never a result.

mod figures;
mod held;
mod metrics;
mod named;
mod overview;
mod pins;
mod place;
mod relayed;
mod take_in;

#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use infold_core::gateway::ServerKey;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::Engine;

pub use figures::{ServerCall, ServerFigures, ServerNote};
pub use named::{NamedTools, ServerTool};
pub use overview::{ConfiguredServer, ServerOverview, ServerUse};
pub use pins::{PinnedDefinition, ServerTools, WaitingTool, WithheldTool};
pub use relayed::{CallPlace, Metered, RelayedCall, RelayedResult, RelayedShown};
pub use take_in::BegunCall;

pub(crate) use held::TakenCalls;
pub(crate) use metrics::GatewayMetrics;

/// How long figures and counted calls wait in memory for others that are written with them.
const GATHER: Duration = Duration::from_secs(1);

/// What the gateway holds in memory.
#[derive(Default)]
pub(crate) struct GatewayState {
    figures: figures::WaitingFigures,
    held: Arc<Mutex<held::HeldCalls>>,
    known: Mutex<held::KnownSessions>,
    /// The servers that were called.
    called: Mutex<HashSet<ServerKey>>,
    /// How many decisions this process has recorded: what was read before the last one may be out of date.
    recorded: AtomicU64,
    came: Notify,
}

impl GatewayState {
    /// Notes that a decision was recorded.
    pub(crate) fn note_recorded(&self) {
        self.recorded.fetch_add(1, Ordering::SeqCst);
    }
}

impl Engine {
    /// Writes what the gateway still holds in memory. Whoever shuts the program down calls this last.
    pub async fn flush_gateway(&self) {
        self.flush_held_calls().await;
        self.flush_server_calls().await;
    }

    /// Writes what the gateway holds as it comes. Runs until it is cancelled.
    pub(crate) async fn write_gateway(&self, cancel: &CancellationToken) {
        while cancel.run_until_cancelled(self.inner.gateway.came.notified()).await.is_some() {
            // After a cancellation it is still written, only without waiting for more.
            let _ = cancel.run_until_cancelled(tokio::time::sleep(GATHER)).await;
            self.flush_gateway().await;
        }
        self.flush_gateway().await;
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
