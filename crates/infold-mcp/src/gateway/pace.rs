//! How fast a server may send what nobody asked for. Beyond that it is read more slowly, so that a flood costs its sender
//! time and the others nothing.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// Bytes that are read in a second.
const BYTES_PER_SECOND: usize = 32 << 20;
/// What a message costs beside its bytes, so that very short ones are slowed down too.
const MESSAGE_BYTES: usize = 16 << 10;
const SECOND: Duration = Duration::from_secs(1);

/// What was spent in the current second.
pub(super) struct Pace {
    since: Instant,
    bytes: usize,
}

impl Pace {
    pub(super) fn new() -> Self {
        Self { since: Instant::now(), bytes: 0 }
    }

    /// Counts bytes that nobody asked for, and waits if there were too many in this second.
    pub(super) async fn bytes(&mut self, bytes: usize) {
        if self.since.elapsed() >= SECOND {
            *self = Self::new();
        }
        self.bytes += bytes;
        if self.bytes > BYTES_PER_SECOND {
            sleep_until(self.since + SECOND).await;
            *self = Self::new();
        }
    }

    /// Counts a message that nobody asked for.
    pub(super) async fn message(&mut self, bytes: usize) {
        self.bytes(bytes + MESSAGE_BYTES).await;
    }
}
