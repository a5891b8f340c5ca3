//! Servers that wait for the user to log in: what callers read of them, and how they go on once that was done.

use std::sync::Arc;

use infold_core::gateway::ServerState;

use super::Gateway;
use super::host::Host;

impl Gateway {
    /// Starts servers to which the user has logged in since they asked for it, within the time that a list may wait.
    pub(super) async fn learn_logged_in(self: &Arc<Self>) {
        let new = self.hosts.iter().filter(|host| host.is_login_new()).cloned();
        let learning = new.map(|host| {
            let gateway = self.clone();
            self.tasks.spawn(async move { gateway.learn(&host).await })
        });
        let learning: Vec<_> = learning.collect();
        let all = async {
            for learnt in learning {
                let _ = learnt.await;
            }
        };
        let _ = tokio::time::timeout(self.setup.list_wait, all).await;
    }

    /// What is said of every server that needs a login.
    pub(super) fn logins_missing(&self) -> Vec<String> {
        self.hosts
            .iter()
            .filter(|host| host.health().state == ServerState::NeedsLogin)
            .map(|host| host.login_words())
            .collect()
    }

    /// What is said to somebody who calls a tool of a server that nobody has seen yet, because it needs a login.
    pub(super) fn login_missing_for(&self, tool: &str) -> Option<String> {
        let is_its = |host: &&Arc<Host>| {
            let entry = &host.entry;
            let by_server = tool.strip_prefix(entry.key.as_str()).is_some_and(|rest| rest.starts_with('/'));
            by_server || (!entry.prefix.is_empty() && tool.starts_with(&entry.prefix))
        };
        let mut waiting = self.hosts.iter().filter(|host| host.health().state == ServerState::NeedsLogin);
        waiting.find(is_its).map(|host| host.login_words())
    }
}
