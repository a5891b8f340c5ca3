//! The mode `promote`: tools that were searched for or called are listed from then on, and those that nobody has used for
//! longest leave the list.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use infold_core::gateway::DeferralMode;

use super::Gateway;
use crate::client_line::ClientLine;

/// When each tool was last used, counted in uses.
#[derive(Debug, Default)]
pub(super) struct LastUses(Mutex<HashMap<String, u64>>);

impl LastUses {
    fn note<'a>(&self, names: impl Iterator<Item = &'a str>) {
        let mut uses = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = uses.values().max().map_or(0, |last| last + 1);
        uses.extend(names.map(|name| (name.to_owned(), now)));
    }

    pub(super) fn all(&self) -> HashMap<String, u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Gateway {
    /// Whether the list of tools changes with what is used.
    pub(crate) fn promotes(&self) -> bool {
        self.setup.listing.mode == DeferralMode::Promote
    }

    /// Lists these tools from now on, if the list changes with what is used, and says so to the client.
    pub(super) async fn promote<'a>(&self, names: impl Iterator<Item = &'a str>, client: &ClientLine) {
        if !self.promotes() {
            return;
        }
        self.last_uses.note(names);
        let listed = |gateway: &Self| -> Vec<String> {
            gateway.catalogue().listed.iter().map(|tool| tool.name.to_string()).collect()
        };
        let before = listed(self);
        self.renew_catalogue();
        if listed(self) != before {
            client.tools_changed().await;
        }
    }
}
