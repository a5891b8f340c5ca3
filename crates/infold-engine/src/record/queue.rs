//! Rows that wait to be written. They are written together, by the timers or by a call that asks for requests.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use infold_core::Owner;
use infold_core::record::{RequestRecord, SessionLabel};
use infold_store::NewRequest;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::locked;
use crate::Engine;

/// How many rows may wait; further ones are dropped.
const WAITING_MAX: usize = 1_024;
/// How long rows wait for others that are written with them.
const GATHER: Duration = Duration::from_millis(100);
/// How many rows of one session are stored; the oldest are deleted.
const ROWS_PER_SESSION_MAX: u64 = 10_000;

#[derive(Default)]
pub(super) struct Queue {
    waiting: Mutex<VecDeque<NewRequest>>,
    /// Held while rows are written, so that a reader waits for those that are being written.
    writing: tokio::sync::Mutex<()>,
    came: Notify,
    dropped: AtomicU64,
}

impl Engine {
    pub(super) fn enqueue(&self, owner: Owner, record: RequestRecord, label: SessionLabel) {
        let queue = &self.inner.recorder.queue;
        let mut waiting = locked(&queue.waiting);
        if waiting.len() >= WAITING_MAX {
            drop(waiting);
            self.drop_rows(1);
            return;
        }
        waiting.push_back(NewRequest { owner, record: Box::new(record), label });
        drop(waiting);
        queue.came.notify_one();
    }

    /// How many rows were dropped because too many waited, or because they could not be written.
    #[cfg(test)]
    pub(crate) fn requests_dropped(&self) -> u64 {
        self.inner.recorder.queue.dropped.load(Ordering::Relaxed)
    }

    /// Writes the waiting rows. Whoever shuts the program down calls this last.
    pub async fn flush_requests(&self) {
        let queue = &self.inner.recorder.queue;
        let _turn = queue.writing.lock().await;
        let rows: Vec<NewRequest> = locked(&queue.waiting).drain(..).collect();
        if rows.is_empty() {
            return;
        }
        let count = rows.len() as u64;
        let calibrations = self.changed_calibrations();
        if let Err(error) = self.inner.store.insert_requests(rows, calibrations, ROWS_PER_SESSION_MAX).await {
            tracing::warn!(%error, rows = count, "what was recorded of requests could not be written");
            self.drop_rows(count);
        }
    }

    fn drop_rows(&self, count: u64) {
        self.inner.recorder.queue.dropped.fetch_add(count, Ordering::Relaxed);
        self.inner.metrics.requests.dropped(count);
    }

    /// Writes rows as they come. Runs until it is cancelled.
    pub(crate) async fn write_requests(&self, cancel: &CancellationToken) {
        while cancel.run_until_cancelled(self.inner.recorder.queue.came.notified()).await.is_some() {
            // After a cancellation the rows are still written, only without waiting for more.
            let _ = cancel.run_until_cancelled(tokio::time::sleep(GATHER)).await;
            self.flush_requests().await;
        }
        self.flush_requests().await;
    }
}
