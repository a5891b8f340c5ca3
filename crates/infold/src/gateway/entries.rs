//! Servers of the settings as entries of the gateway, and what is started of them.
//!
//! What is wrong with an entry as it was written is a problem of the settings. A variable that is not set is found out
//! at the start, and concerns that one server: the others are used.

use std::path::Path;

use infold_core::gateway::{CallLimits, EntryOrigin, EntryProblem, ServerEntry, ServerKey, ServerWay};

use crate::run::SERVER;
use crate::settings::{Gateway, GatewayServer, Surroundings};

/// Characters of a server's name that its tools' names begin with, if settings do not name a prefix.
const PREFIX_CHARS_MAX: usize = 30;

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
    let servers = gateway.servers.iter().zip(all_entries(gateway));
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

/// The entries of all servers as they were written, also of those that are switched off.
pub fn all_entries(gateway: &Gateway) -> Vec<ServerEntry> {
    gateway.servers.iter().map(|server| entry_of(server, gateway)).collect()
}

/// The entry of one server.
pub fn entry_of(server: &GatewayServer, gateway: &Gateway) -> ServerEntry {
    ServerEntry {
        key: ServerKey::new(&server.name),
        way: server.way.clone(),
        prefix: server.prefix.clone().unwrap_or_else(|| usual_prefix(&server.name)),
        kind: server.kind,
        sharing: server.sharing,
        limits: CallLimits {
            start_timeout_ms: server.start_timeout_ms.unwrap_or(gateway.start_timeout_ms),
            call_timeout_ms: server.timeout_ms.unwrap_or(gateway.call_timeout_ms),
        },
        rights: server.rights.clone(),
        hints: server.hints,
        origin: EntryOrigin::Settings,
    }
}

/// The prefix of a server for which settings name none. A name may have characters that a prefix must not have.
fn usual_prefix(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
    let name: String = name.chars().map(plain).take(PREFIX_CHARS_MAX).collect();
    ServerEntry::usual_prefix(&ServerKey::new(name))
}
