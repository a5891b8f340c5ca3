//! What a server says that belongs to no call: that its tools or resources have changed, and that it is gone.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use super::Gateway;
use super::host::Host;
use crate::gateway::{LinkEvent, ListKind, ServerLink};

/// The shortest time between two readings of a list that its server says has changed.
const RELIST_PAUSE: Duration = Duration::from_secs(1);

impl Gateway {
    /// Follows what a server says that belongs to no call, until its connection ends.
    pub(super) async fn watch(
        self: Arc<Self>,
        host: Arc<Host>,
        link: Weak<ServerLink>,
        mut events: mpsc::Receiver<LinkEvent>,
    ) {
        let mut relisting = Relisting::new();
        loop {
            let event = tokio::select! {
                event = events.recv() => event,
                () = relisting.due() => {
                    let Some(link) = link.upgrade() else { return };
                    if let Err(error) = self.take_tools(&host, &link).await {
                        host.failed(&error);
                    }
                    relisting.done();
                    continue;
                }
            };
            let (Some(event), Some(link)) = (event, link.upgrade()) else { return };
            match event {
                LinkEvent::ListChanged(ListKind::Tools) => relisting.want(),
                LinkEvent::Ended(why) => host.ended(&link, why),
                LinkEvent::ResourceUpdated(notice) => self.resource_updated(&notice).await,
                LinkEvent::ListChanged(_) | LinkEvent::Log(_) => {}
            }
        }
    }
}

/// When a list is read again that its server says has changed: at once, and then at most once in a while, however often
/// the server says so.
struct Relisting {
    is_wanted: bool,
    not_before: Instant,
}

impl Relisting {
    fn new() -> Self {
        Self { is_wanted: false, not_before: Instant::now() }
    }

    fn want(&mut self) {
        self.is_wanted = true;
    }

    fn done(&mut self) {
        *self = Self { is_wanted: false, not_before: Instant::now() + RELIST_PAUSE };
    }

    /// Waits until the list is to be read.
    async fn due(&self) {
        if !self.is_wanted {
            return std::future::pending().await;
        }
        tokio::time::sleep_until(self.not_before.into()).await;
    }
}
