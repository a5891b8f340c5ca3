//! What happens, as it happens. A reader says after which event to go on and gets the ones since;
//! where there are none it waits, and looks again when this process has recorded something or, for
//! what other processes record, after a moment.

use std::time::Duration;

use infold_core::{Principal, SessionId};
use infold_store::{FeedQuery, Recorded};
use tokio::sync::watch;

use crate::{Engine, Error};

/// How long to wait before looking for what other processes recorded.
const LOOK_AGAIN: Duration = Duration::from_millis(250);
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
    ) -> Result<Vec<Recorded>, Error> {
        let mut bell = self.inner.feed.0.subscribe();
        let query = FeedQuery { owner: who.owner.clone(), session, after, limit: EVENTS_MAX };
        loop {
            bell.mark_unchanged();
            let events = self.inner.store.events(query.clone()).await?;
            if !events.is_empty() {
                return Ok(events);
            }
            // Either the bell rings or the time is over; both mean the same.
            let _ = tokio::time::timeout(LOOK_AGAIN, bell.changed()).await;
        }
    }
}
