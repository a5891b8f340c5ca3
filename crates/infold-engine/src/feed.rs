//! The feed of events. A reader says after which event it goes on, and gets the ones since; if there are none, it waits
//! for the bell. This process rings the bell when it has recorded something. One task looks for what other processes
//! record, for all readers.

use std::time::Duration;

use infold_core::{Principal, SessionId};
use infold_store::{FeedQuery, RecordedEvent};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{Engine, Error};

/// How often to look for events of other processes, while somebody waits.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// How many events one answer holds.
const EVENTS_MAX: usize = 256;

/// Wakes the readers of the feed when something was recorded.
pub(crate) struct Bell(watch::Sender<u64>);

impl Default for Bell {
    fn default() -> Self {
        Self(watch::channel(0).0)
    }
}

impl Bell {
    pub(crate) fn ring(&self) {
        self.0.send_modify(|rings| *rings = rings.wrapping_add(1));
    }
}

impl Engine {
    /// The id of the newest event. Readers that want only new events go on from here.
    pub async fn newest_event(&self) -> Result<u64, Error> {
        Ok(self.inner.store.newest_event().await?)
    }

    /// Returns the caller's events after a position in the feed. Waits until there is at least one.
    pub async fn events_after(
        &self,
        who: &Principal,
        session: Option<SessionId>,
        after: u64,
    ) -> Result<Vec<RecordedEvent>, Error> {
        let mut bell = self.inner.feed.0.subscribe();
        let query = FeedQuery { owner: who.owner.clone(), session, after, limit: EVENTS_MAX };
        loop {
            bell.mark_unchanged();
            let events = self.inner.store.events(query.clone()).await?;
            if !events.is_empty() {
                return Ok(events);
            }
            // The bell lives as long as the engine, and this call holds the engine.
            let _ = bell.changed().await;
        }
    }

    /// Rings the bell when other processes record something. Runs until it is cancelled.
    pub(crate) async fn watch_others(&self, cancel: &CancellationToken) {
        let mut newest = 0;
        while cancel.run_until_cancelled(tokio::time::sleep(LOOK_EVERY)).await.is_some() {
            if self.inner.feed.0.receiver_count() == 0 {
                continue;
            }
            // If a look fails, the next one is made as usual; readers see the error in their own reads.
            let found = self.inner.store.newest_event().await.unwrap_or(newest);
            if found != newest {
                newest = found;
                self.inner.feed.ring();
            }
        }
    }
}
