//! The servers of the settings for those who ask how servers are: the commands and the JSON API.

use infold_engine::{ConfiguredServer, ServerUse};

use super::entries::{LoadedServer, LoadedState, load};
use super::way::describe;
use crate::commands::Invocation;
use crate::settings::Origin;

/// The servers of the settings in their order, described without anything that may be secret.
pub fn configured(invocation: &Invocation) -> Vec<ConfiguredServer> {
    let origin = origin(invocation);
    let servers = load(&invocation.in_force.settings.gateway, &invocation.surroundings).into_iter();
    let configured = |LoadedServer { entry, state }| ConfiguredServer {
        way: describe(&entry.way),
        origin: origin.clone(),
        use_now: match state {
            LoadedState::Usable(_) => ServerUse::On,
            LoadedState::Off(_) => ServerUse::Off,
            LoadedState::Refused(problems) => {
                ServerUse::Refused(problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
            }
        },
        entry,
    };
    servers.map(configured).collect()
}

/// Where the list of servers comes from. A layer has all of them or none.
fn origin(invocation: &Invocation) -> String {
    let entry = invocation.in_force.entries.iter().find(|entry| entry.key == "gateway.servers");
    match entry.map(|entry| &entry.origin) {
        // Its line is that of the first server.
        Some(Origin::User { path, line: _ }) => path.display().to_string(),
        Some(other) => other.to_string(),
        None => String::new(),
    }
}
