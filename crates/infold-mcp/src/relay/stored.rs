//! What the gateway stores of its servers, and reads again because another process may have changed it: how they are, for
//! people who ask, and which tools the user has approved.

use std::sync::Arc;

use infold_core::gateway::Withholding;
use tokio_util::sync::CancellationToken;

use super::Gateway;
use super::catalogue::Catalogue;
use super::host::Host;

impl Gateway {
    /// As [`Self::ready`], with what the user has approved since, in this process or another.
    pub(crate) async fn renewed(self: &Arc<Self>) -> Arc<Catalogue> {
        Box::pin(self.learn_logged_in()).await;
        let catalogue = self.ready().await;
        for host in self.hosts.iter().filter(|host| host.may_be_learnt()) {
            let (gateway, host) = (self.clone(), host.clone());
            self.tasks.spawn(async move { gateway.learn(&host).await });
        }
        let mut is_renewed = false;
        for host in &self.hosts {
            let Some(before) = host.tools().filter(|tools| tools.waits_for_approval()) else { continue };
            match self.engine.pinned_tools(&host.entry.pin_key()).await {
                Ok(mut now) => {
                    // Those that cannot be stored are known only from the server itself.
                    let unstored = before.withheld.iter().filter(|withheld| withheld.why == Withholding::Unstorable);
                    now.withheld.extend(unstored.cloned());
                    is_renewed |= now != *before && host.replace_tools(&before, now);
                }
                Err(error) => tracing::error!(server = %host.entry.key, %error, "its pins could not be read again"),
            }
        }
        if !is_renewed {
            return catalogue;
        }
        self.renew_catalogue();
        self.catalogue()
    }

    /// Starts the server that a tool seems to be of, if nobody has seen its tools yet. The error is why it cannot be used.
    pub(super) async fn see_host_of(self: &Arc<Self>, tool: &str) -> Result<(), String> {
        let is_its = |host: &&Arc<Host>| {
            let (prefix, key) = (host.entry.prefix.as_str(), host.entry.key.as_str());
            let by_key = tool.strip_prefix(key).is_some_and(|rest| rest.starts_with('/'));
            host.tools().is_none() && (by_key || (!prefix.is_empty() && tool.starts_with(prefix)))
        };
        match self.hosts.iter().find(is_its) {
            Some(host) => {
                let seen = self.link(host, self.setup.folder.clone()).await.map(|_| ());
                self.scrubbed_refusal(seen).await
            }
            None => Ok(()),
        }
    }

    async fn scrubbed_refusal(&self, seen: Result<(), String>) -> Result<(), String> {
        match seen {
            Ok(()) => Ok(()),
            Err(why) => Err(self.scrubbed(why).await),
        }
    }

    /// Stores how servers are whenever that changes, until `shutdown`.
    pub(super) async fn note_changes(self: Arc<Self>, shutdown: CancellationToken) {
        while shutdown.run_until_cancelled(self.changed.notified()).await.is_some() {
            self.note_servers().await;
        }
    }

    /// Stores how those servers are whose state has changed.
    pub(super) async fn note_servers(&self) {
        for host in &self.hosts {
            let Some(note) = host.take_note() else { continue };
            if let Err(error) = self.engine.note_server(&host.entry.key, note).await {
                tracing::warn!(server = %host.entry.key, %error, "how it is could not be stored");
            }
        }
    }
}
