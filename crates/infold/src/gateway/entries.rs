//! Servers of the settings as entries of the gateway, and what is started of them.
//!
//! What is wrong with an entry as it was written is a problem of the settings. A variable that is not set is found out
//! at the start, and concerns that one server: the others are used.

use std::path::Path;

use infold_core::gateway::{EntryProblem, ServerEntry, ServerWay};

use crate::run::SERVER;
use crate::settings::{Gateway, GatewayServer, Surroundings};

/// A server of the settings, and whether it can be used.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadedServer {
    /// The entry as it was written.
    pub entry: ServerEntry,
    /// Whether it can be used.
    pub state: LoadedState,
}

/// Whether a server can be used.
#[derive(Debug, Clone, PartialEq)]
pub enum LoadedState {
    /// It can, with this entry, in which variables are replaced. It must not be shown or stored.
    Usable(Box<ServerEntry>),
    /// The user has switched it off. This is what it would be otherwise.
    Off(Result<Box<ServerEntry>, Vec<EntryProblem>>),
    /// It cannot, for these reasons.
    Refused(Vec<EntryProblem>),
}

/// All servers of the settings in their order, with variables replaced by those of the environment.
pub fn load(gateway: &Gateway, surroundings: &Surroundings) -> Vec<LoadedServer> {
    let servers = gateway.servers.iter().zip(gateway.entries());
    let load = |(server, entry): (&GatewayServer, ServerEntry)| {
        let LoadedServer { entry, state } = load_entry(entry, surroundings);
        let state = match state {
            state if server.is_enabled => state,
            LoadedState::Usable(expanded) => LoadedState::Off(Ok(expanded)),
            LoadedState::Refused(problems) => LoadedState::Off(Err(problems)),
            LoadedState::Off(off) => LoadedState::Off(off),
        };
        LoadedServer { entry, state }
    };
    servers.map(load).collect()
}

/// A server that is not switched off, with variables replaced by those of the environment.
pub fn load_entry(entry: ServerEntry, surroundings: &Surroundings) -> LoadedServer {
    let state = match entry.expanded(&|name| variable_in(surroundings, name)).map(Box::new) {
        Ok(expanded) => LoadedState::Usable(expanded),
        Err(problems) => LoadedState::Refused(problems),
    };
    LoadedServer { entry, state }
}

/// A variable of infold's environment. An empty value is a value: the user may have wanted it.
pub fn variable_in(surroundings: &Surroundings, name: &str) -> Option<String> {
    surroundings.variables.get(name).and_then(|value| value.to_str()).map(str::to_owned)
}

/// Whether a server is infold: behind itself it would have no end.
pub fn is_own(entry: &ServerEntry) -> bool {
    let is_own_program = match &entry.way {
        ServerWay::Child { program, .. } => Path::new(program).file_name().is_some_and(|name| name == SERVER),
        ServerWay::Http { .. } => false,
    };
    is_own_program || entry.key.as_str() == SERVER
}
