//! Logins to servers, as the program knows them: where they are kept, and which server somebody means who wants to log in.

use infold_core::gateway::{EntryOrigin, LoginHints, NamedValues, ServerEntry, ServerWay, SourceClient};
use infold_engine::Engine;
use infold_mcp::gateway::{LoginStore, SessionBus, StoreWish, keyring_problem};

use super::entries::{LoadedServer, LoadedState, load, load_entry};
use super::import::{Import, ImportScope};
use super::project::{origin_of, source_of};
use crate::commands::Invocation;
use crate::data_folder;
use crate::draw::one_line;
use crate::failure::Refused;
use crate::settings::{CredentialsPlace, Surroundings};

/// The folder in the data folder that has the logins.
const FOLDER: &str = "credentials";

/// The logins of all servers. The folder is made when there is one to keep.
pub fn login_store(invocation: &Invocation) -> Result<LoginStore, Refused> {
    Ok(LoginStore::new(data_folder::location(&invocation.in_force)?.join(FOLDER)))
}

/// Where the user wants a new login to be kept.
pub fn store_wish(invocation: &Invocation) -> Result<StoreWish, Refused> {
    let problem = || keyring_problem(invocation.surroundings.variables.get("PATH").map(AsRef::as_ref), bus(invocation));
    match invocation.in_force.settings.gateway.credentials {
        CredentialsPlace::File => Ok(StoreWish::File),
        CredentialsPlace::Auto if problem().is_some() => Ok(StoreWish::File),
        CredentialsPlace::Auto => Ok(StoreWish::Either),
        CredentialsPlace::Keyring => match problem() {
            None => Ok(StoreWish::Keyring),
            Some(problem) => Err(Refused::new(format!("the keyring cannot be used: {problem}"))
                .hint("set gateway.credentials to \"auto\" or \"file\"")
                .code("no_keyring")),
        },
    }
}

fn bus(invocation: &Invocation) -> SessionBus {
    let Surroundings { variables, .. } = &invocation.surroundings;
    let is_named = variables.get("DBUS_SESSION_BUS_ADDRESS").is_some_and(|address| !address.is_empty());
    let usual = variables.get("XDG_RUNTIME_DIR").map(|folder| std::path::Path::new(folder).join("bus"));
    if is_named || usual.is_some_and(|bus| bus.exists()) { SessionBus::There } else { SessionBus::Absent }
}

/// A server that one can log in to.
#[derive(Debug)]
pub struct LoginTarget {
    /// Its entry, in which variables are replaced.
    pub entry: ServerEntry,
    /// Its address.
    pub url: String,
    /// What is known of its login.
    pub hints: LoginHints,
}

/// The server of this name: of the settings, else of an agent's files, as `infold run --gateway` takes them.
pub async fn login_target(name: &str, invocation: &Invocation, engine: Option<&Engine>) -> anyhow::Result<LoginTarget> {
    let settings = load(&invocation.in_force.settings.gateway, &invocation.surroundings);
    let known: Vec<String> = settings.iter().map(|server| one_line(server.entry.key.as_str())).collect();
    let found = match settings.into_iter().find(|server| server.entry.key.as_str() == name) {
        Some(server) => Some(server),
        None => of_agents(name, invocation, engine).await?,
    };
    let Some(LoadedServer { state, .. }) = found else {
        let hint = match known.as_slice() {
            [] => "the settings have none: add one, or run `infold servers import`".to_owned(),
            known => format!("the settings have {}", known.join(", ")),
        };
        return Err(Refused::new(format!("no server is called {name:?}")).hint(hint).code("server_not_found").into());
    };
    let entry = match state {
        LoadedState::Usable(entry) | LoadedState::Off(Ok(entry)) => *entry,
        LoadedState::Refused(problems) | LoadedState::Off(Err(problems)) => {
            let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
            return Err(Refused::new(format!("{name}: {}", problems.join("; "))).code("server_unusable").into());
        }
    };
    Ok(of_address(entry)?)
}

/// A server with an address that says nowhere else who asks.
fn of_address(entry: ServerEntry) -> Result<LoginTarget, Refused> {
    let name = one_line(entry.key.as_str());
    let ServerWay::Http { url, headers: NamedValues(headers), login, .. } = &entry.way else {
        return Err(Refused::new(format!("{name} is a program on this machine, and programs have no login"))
            .hint("give it what it needs in env or env_vars")
            .code("no_login"));
    };
    if headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization")) {
        return Err(Refused::new(format!("{name} has a header Authorization in its entry, which is sent instead"))
            .hint("remove the header first")
            .code("no_login"));
    }
    let (url, hints) = (url.clone(), login.clone());
    Ok(LoginTarget { entry, url, hints })
}

/// A server in an agent's files. One in a project's file counts only if the user has approved it.
async fn of_agents(
    name: &str,
    invocation: &Invocation,
    engine: Option<&Engine>,
) -> anyhow::Result<Option<LoadedServer>> {
    for client in [SourceClient::Claude, SourceClient::Codex, SourceClient::Opencode] {
        let Ok(import) = Import::read(&source_of(client), ImportScope::Project, invocation) else { continue };
        let named = import.taken.into_iter().find(|server| server.entry.key.as_str() == name);
        let Some(server) = named else { continue };
        if let EntryOrigin::Project { path, .. } = origin_of(client, &server) {
            let is_approved = match engine {
                Some(engine) => engine.is_entry_approved(&path, &server.entry).await?,
                None => false,
            };
            if !is_approved {
                let problem = format!("{} is in a project's file, and waits for approval", one_line(name));
                let hint = format!("run `infold approve {}` first", one_line(name));
                return Err(Refused::new(problem).hint(hint).code("needs_approval").into());
            }
        }
        return Ok(Some(load_entry(server.entry, &invocation.surroundings)));
    }
    Ok(None)
}
