//! What happens, as it happens. A reader says after which event to go on and gets the ones since;
//! where there are none it waits for the bell. This process rings it when it has recorded something;
//! what other processes record, one look for all readers finds.

use std::time::Duration;

use infold_core::{Principal, SessionId};
use infold_store::{FeedQuery, RecordedEvent};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{Engine, Error};

/// How often to look for what other processes recorded, while somebody waits.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Events in one answer.
const EVENTS_MAX: usize = 256;

/// Rings when this process has recorded something.
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
    /// The newest place in the feed: readers that want only what comes go on from here.
    pub async fn newest_event(&self) -> Result<u64, Error> {
        Ok(self.inner.store.newest_event().await?)
    }

    /// The caller's events after a place in the feed. Waits until there is at least one.
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
            // The bell lives as long as the engine that is asked.
            let _ = bell.changed().await;
        }
    }

    /// Rings the bell for what other processes record. Runs until it is cancelled.
    pub(crate) async fn watch_others(&self, cancel: &CancellationToken) {
        let mut newest = 0;
        while cancel.run_until_cancelled(tokio::time::sleep(LOOK_EVERY)).await.is_some() {
            if self.inner.feed.0.receiver_count() == 0 {
                continue;
            }
            // A look that fails is made again; readers then learn what is wrong from their own.
            let found = self.inner.store.newest_event().await.unwrap_or(newest);
            if found != newest {
                newest = found;
                self.inner.feed.ring();
            }
        }
    }
}
