//! Servers of an agent that are behind the gateway for one run. They are read from the agent's own files, of which none
//! is changed: for this run the agent is started with these servers switched off, and infold hosts them.
//!
//! What infold cannot take stays with the agent, and the user is shown which and why.

use std::ffi::OsString;

use infold_core::gateway::{
    EntryOrigin, Rights, RightsAction, RightsRule, RightsSource, ServerEntry, ServerWay, SourceClient,
};
use infold_core::strip_hostile;
use infold_engine::Engine;

use super::entries::{LoadedState, load};
use super::import::{Import, ImportScope, ImportedServer};
use super::project::{origin_of, source_of};
use crate::commands::Invocation;
use crate::draw::one_line;
use crate::run::{Agent, ChangedServers, servers_entry};

/// What is taken from an agent.
#[derive(Debug, Default)]
pub struct TakenServers {
    /// Servers that infold hosts beside those of its settings.
    pub entries: Vec<ServerEntry>,
    /// Servers that the agent must not use itself.
    pub off: Vec<OffServer>,
    /// The name of the agent's entry with the tools of servers.
    pub entry: &'static str,
    /// Rules of all servers, of the agent's and of the settings': patterns of listed names.
    rules: Vec<RightsRule>,
    /// How long a call of any server may take.
    call_timeout_ms: u64,
    /// What the user should know.
    pub notes: Vec<String>,
}

/// Seconds that an agent waits longer for a call than infold does, so that it gets infold's words.
const LONGER_S: u64 = 10;

/// A server that is switched off in an agent for one run.
#[derive(Debug, Clone)]
pub struct OffServer {
    /// Its name in the agent's files.
    pub name: String,
    /// How it is reached. Codex refuses to start with an entry that does not say so, if it does not read the file.
    pub way: ServerWay,
}

/// Takes no server: the agent is wired for those of infold's settings only.
pub fn take_none(agent: Agent, invocation: &Invocation) -> TakenServers {
    let import = agent.source_client().and_then(|client| read(client, invocation).ok()).unwrap_or_default();
    TakenServers::beside(&import, &settings_servers(invocation))
}

fn read(client: SourceClient, invocation: &Invocation) -> anyhow::Result<Import> {
    Import::read(&source_of(client), ImportScope::Project, invocation)
}

/// Takes the servers of an agent that infold can host.
pub async fn take_servers(
    agent: Agent,
    arguments: &[OsString],
    invocation: &Invocation,
    engine: &Engine,
) -> anyhow::Result<TakenServers> {
    let settings = settings_servers(invocation);
    let import = agent.source_client().map(|client| (client, read(client, invocation)));
    let (client, import) = match import {
        Some((client, Ok(import))) => (client, import),
        Some((_, Err(why))) => {
            let note = format!("no servers taken from {}: {}", agent.name(), plain(&why.to_string()));
            return Ok(TakenServers { notes: vec![note], ..take_none(agent, invocation) });
        }
        None => {
            let note = format!("infold does not read servers of {}: they stay with it", agent.name());
            return Ok(TakenServers { notes: vec![note], ..take_none(agent, invocation) });
        }
    };
    let mut taken = TakenServers::beside(&import, &settings);
    let changed = agent.changed_servers(arguments, &invocation.surroundings)?;
    let takes = Takes { client, changed, settings };
    for server in &import.left {
        taken.leave(agent, &server.name, &server.why);
    }
    let remedy =
        format!("`infold servers import {}` takes them over for good, with env_vars for more", agent.program());
    let notes = import.notes_with(&remedy);
    for server in import.taken {
        match takes.keeps(&server, engine).await? {
            Some(why) => taken.leave(agent, server.entry.key.as_str(), &why),
            None => takes.take(server, &mut taken),
        }
    }
    taken.name_taken(agent, notes);
    Ok(taken)
}

/// The servers of infold's settings that are not switched off.
fn settings_servers(invocation: &Invocation) -> Vec<ServerEntry> {
    let servers = load(&invocation.in_force.settings.gateway, &invocation.surroundings).into_iter();
    servers.filter(|server| !matches!(server.state, LoadedState::Off(_))).map(|server| server.entry).collect()
}

/// What decides whether a server is taken.
struct Takes {
    client: SourceClient,
    changed: ChangedServers,
    settings: Vec<ServerEntry>,
}

impl Takes {
    /// Why a server stays with the agent; `None` if it can be taken.
    async fn keeps(&self, server: &ImportedServer, engine: &Engine) -> anyhow::Result<Option<String>> {
        let name = server.entry.key.as_str();
        if let Some(why) = self.changed.keeps(name) {
            return Ok(Some(why));
        }
        if !server.missing.is_empty() {
            return Ok(Some(server.missing.join("; ")));
        }
        let has_name = |entry: &&ServerEntry| entry.key == server.entry.key;
        if self.settings.iter().find(has_name).is_some_and(|entry| !entry.way.is_same_target(&server.entry.way)) {
            return Ok(Some("infold's settings have another server of this name".to_owned()));
        }
        let EntryOrigin::Project { path, .. } = origin_of(self.client, server) else { return Ok(None) };
        let is_approved = is_off(server) || engine.is_entry_approved(&path, &server.entry).await?;
        Ok((!is_approved).then(|| format!("it is the project's, and waits for `infold approve {name}`")))
    }

    /// Takes a server, unless the agent does not use it. One that infold's settings have too is hosted once.
    fn take(&self, server: ImportedServer, taken: &mut TakenServers) {
        if is_off(&server) {
            return;
        }
        let origin = origin_of(self.client, &server);
        let ImportedServer { entry, own_rules, .. } = server;
        taken.off.push(OffServer { name: entry.key.as_str().to_owned(), way: entry.way.clone() });
        if self.settings.iter().any(|known| known.way.is_same_target(&entry.way)) {
            return;
        }
        taken.note(&entry);
        let rights = own_rules.map_or(entry.rights, |rules| Rights { sources: vec![rules] });
        taken.entries.push(ServerEntry { rights, origin, ..entry });
    }
}

/// Whether the agent itself does not use a server.
fn is_off(server: &ImportedServer) -> bool {
    server.fields.get("enabled").and_then(toml::Value::as_bool) == Some(false)
}

impl TakenServers {
    /// The patterns of listed tools that the rules say this of.
    pub fn patterns(&self, action: RightsAction) -> impl Iterator<Item = &str> {
        self.rules.iter().filter(move |rule| rule.action == action).map(|rule| rule.pattern.as_str())
    }

    /// How long an agent has to wait for a call.
    pub fn call_timeout_s(&self) -> u64 {
        self.call_timeout_ms.div_ceil(1_000) + LONGER_S
    }

    /// Nothing but what the settings' servers need beside those that the agent has.
    fn beside(import: &Import, settings: &[ServerEntry]) -> Self {
        let names = import.taken.iter().map(|server| server.entry.key.as_str());
        let names = names.chain(import.left.iter().map(|server| server.name.as_str()));
        let mut taken = Self { entry: servers_entry(names), ..Self::default() };
        settings.iter().for_each(|entry| taken.note(entry));
        taken
    }

    fn leave(&mut self, agent: Agent, name: &str, why: &str) {
        self.notes.push(format!("server {} stays with {}: {}", plain(name), agent.name(), plain(why)));
    }

    /// Notes a server that infold hosts: its time, and its rules in infold's form for its tools as they are listed.
    fn note(&mut self, entry: &ServerEntry) {
        self.call_timeout_ms = self.call_timeout_ms.max(entry.limits.call_timeout_ms);
        for source in &entry.rights.sources {
            let RightsSource::Settings { rules, .. } = source else { continue };
            let listed = |rule: &RightsRule| RightsRule {
                pattern: format!("{}{}", entry.prefix, rule.pattern),
                action: rule.action,
            };
            self.rules.extend(rules.iter().map(listed));
        }
    }

    /// Names what was taken, and what is different from the agent for it.
    fn name_taken(&mut self, agent: Agent, notes: Vec<String>) {
        let names: Vec<String> = self.off.iter().map(|server| plain(&server.name)).collect();
        if !names.is_empty() {
            let names = names.join(", ");
            self.notes.push(format!("servers of {} behind the gateway for this run: {names}", agent.name()));
        }
        if !self.entries.is_empty() {
            self.notes.extend(notes);
        }
        let has = |action| self.patterns(action).next().is_some();
        let asks = match agent {
            Agent::Codex => has(RightsAction::Allow),
            // It asks about all of `tool_call` as soon as it has to ask about one tool.
            Agent::Opencode => has(RightsAction::Allow) && has(RightsAction::Ask),
            Agent::Claude | Agent::Goose | Agent::Qwen => false,
        };
        if asks {
            let name = agent.name();
            self.notes
                .push(format!("{name} asks about what is called through tool_call, also where its rules allow it"));
        }
    }
}

/// A text from an agent's file, for a terminal. In a project's file a stranger may have written it.
fn plain(text: &str) -> String {
    one_line(&strip_hostile(text))
}

#[cfg(test)]
mod tests;
