//! Claude Code's servers. Of entries with one name, those for a single project of the user come before the project's, and
//! these before the user's own.

use std::path::{Path, PathBuf};

use infold_core::gateway::{RightsAction, RightsSource};
use serde_json::{Map, Value};

use super::draft::EntryDraft;
use super::json::{self, BareUrl};
use super::patterns::covers;
use super::rules::{ClientRule, carry_claude};
use super::{FoundServer, FoundServers, ImportScope, nearest_file};
use crate::failure::Refused;
use crate::run::{claude_folder, claude_servers_file, read_jsonc};
use crate::settings::Surroundings;

/// Files of an administrator. If the first exists, Claude Code uses the servers in it and no others.
const MANAGED_SERVERS: &str = "/etc/claude-code/managed-mcp.json";
const MANAGED_SETTINGS: &str = "/etc/claude-code/managed-settings.json";

/// Reads its servers and rules.
pub fn read(scope: ImportScope, surroundings: &Surroundings) -> Result<FoundServers, Refused> {
    let no_home = || Refused::new("cannot find Claude Code's files: HOME is not set").hint("set HOME");
    let path = claude_servers_file(surroundings).ok_or_else(no_home)?;
    if Path::new(MANAGED_SERVERS).exists() {
        return Err(Refused::new(format!("{MANAGED_SERVERS} decides which servers Claude Code may use"))
            .hint("ask whoever wrote it; infold takes none of the others"));
    }
    let own = read_jsonc(&path)?;
    let shared = match scope {
        ImportScope::Project => nearest_file(".mcp.json", surroundings),
        ImportScope::User => None,
    };
    if own.is_none() && shared.is_none() {
        return Err(Refused::new(format!("there is no file {}", path.display()))
            .hint("has Claude Code been started here? `infold servers import FILE` reads another file"));
    }
    let own = own.unwrap_or_default();
    let local = match scope {
        ImportScope::Project => project_of(&own, surroundings),
        ImportScope::User => &Value::Null,
    };
    let shared_file = shared.as_deref().map(read_jsonc).transpose()?.flatten().unwrap_or_default();
    let settings = Policies::read(scope, surroundings)?;

    let mut entries: Map<String, Value> = Map::new();
    let mut from: Vec<(String, PathBuf)> = Vec::new();
    let layers = [(&own, Some(&path)), (&shared_file, shared.as_ref()), (local, Some(&path))];
    for (file, path) in layers {
        for (name, entry) in file["mcpServers"].as_object().into_iter().flatten() {
            entries.insert(name.clone(), entry.clone());
            from.retain(|(known, _)| known != name);
            from.extend(path.map(|path| (name.clone(), path.clone())));
        }
    }
    let servers = entries.iter().map(|(name, entry)| {
        let from = from.iter().find(|(known, _)| known == name).map(|(_, path)| path.clone()).unwrap_or_default();
        let mut draft = settings.draft(name, entry);
        if names_in(&local["disabledMcpServers"], name) || settings.switches_off(name) {
            draft = draft.map(EntryDraft::switched_off);
        }
        let project = shared.iter().find(|shared| **shared == from).and_then(|shared| shared.parent());
        let (project, own_rules) = (project.map(Path::to_owned), Some(settings.rights()));
        FoundServer { name: name.clone(), from, project, own_rules, draft }
    });
    Ok(FoundServers { servers: servers.collect(), notes: settings.notes(), whole_environment: Some("Claude Code") })
}

/// What the user's file has of the project that the current folder belongs to.
fn project_of<'a>(own: &'a Value, surroundings: &Surroundings) -> &'a Value {
    let folders = surroundings.folder.iter().flat_map(|folder| folder.ancestors());
    let found = folders.filter_map(|folder| own["projects"].get(folder.to_str()?)).next();
    found.unwrap_or(&Value::Null)
}

fn names_in(list: &Value, name: &str) -> bool {
    list.as_array().is_some_and(|list| list.iter().any(|item| item == name))
}

/// What its settings files say about servers and tools.
struct Policies {
    layers: Vec<(Value, PathBuf)>,
}

impl Policies {
    fn read(scope: ImportScope, surroundings: &Surroundings) -> Result<Self, Refused> {
        let mut paths = vec![PathBuf::from(MANAGED_SETTINGS)];
        paths.extend(claude_folder(surroundings).map(|folder| folder.join("settings.json")));
        if scope == ImportScope::Project {
            let names = [".claude/settings.json", ".claude/settings.local.json"];
            paths.extend(names.iter().filter_map(|name| nearest_file(name, surroundings)));
        }
        // In the home folder the project's file is the user's own.
        paths.dedup();
        let mut layers = Vec::new();
        for path in paths {
            layers.extend(read_jsonc(&path)?.map(|settings| (settings, path)));
        }
        Ok(Self { layers })
    }

    fn draft(&self, name: &str, entry: &Value) -> Result<EntryDraft, String> {
        self.permit(name, entry)?;
        let mut draft = json::draft(entry, BareUrl::Refused)?;
        carry_claude(&mut draft, name, &self.rules());
        Ok(draft)
    }

    fn rules(&self) -> Vec<ClientRule> {
        let kinds = [("deny", RightsAction::Deny), ("ask", RightsAction::Ask), ("allow", RightsAction::Allow)];
        let layers = self.layers.iter().flat_map(|(settings, _)| kinds.map(|kind| (settings, kind)));
        let rules = layers.flat_map(|(settings, (kind, action))| {
            let patterns = settings["permissions"][kind].as_array().into_iter().flatten().filter_map(Value::as_str);
            patterns.map(move |pattern| ClientRule {
                pattern: pattern.to_owned(),
                action,
                place: format!("permissions.{kind}"),
            })
        });
        rules.collect()
    }

    fn rights(&self) -> RightsSource {
        RightsSource::Claude { rules: self.rules().into_iter().map(ClientRule::in_own_form).collect() }
    }

    fn switches_off(&self, name: &str) -> bool {
        self.layers.iter().any(|(settings, _)| names_in(&settings["disabledMcpjsonServers"], name))
    }

    /// Refuses a server that the settings do not let Claude Code use.
    fn permit(&self, name: &str, entry: &Value) -> Result<(), String> {
        let lists = |key: &'static str| self.layers.iter().filter_map(move |(settings, _)| settings[key].as_array());
        if lists("deniedMcpServers").flatten().any(|rule| is_about(rule, name, entry)) {
            return Err("deniedMcpServers has it".to_owned());
        }
        let mut allowed = lists("allowedMcpServers");
        if allowed.clone().next().is_some() && !allowed.any(|list| is_allowed(list, name, entry)) {
            return Err("allowedMcpServers does not have it".to_owned());
        }
        Ok(())
    }

    fn notes(&self) -> Vec<String> {
        let has_plugins = |settings: &Value| {
            let plugins = settings["enabledPlugins"].as_object();
            plugins.is_some_and(|plugins| plugins.values().any(|enabled| enabled != false))
        };
        let plugins = self.layers.iter().any(|(settings, _)| has_plugins(settings));
        plugins.then(|| "servers of plugins and of claude.ai stay with Claude Code".to_owned()).into_iter().collect()
    }
}

/// Whether a rule about servers is about this one: by its name, its command or its address.
fn is_about(rule: &Value, name: &str, entry: &Value) -> bool {
    let has_url = || {
        let (pattern, url) = (rule["serverUrl"].as_str(), entry["url"].as_str());
        pattern.zip(url).is_some_and(|(pattern, url)| covers(pattern, url))
    };
    rule["serverName"] == name
        || (rule["serverCommand"].is_array() && rule["serverCommand"] == command(entry))
        || has_url()
}

/// Whether a list allows a server. Where it has commands, a program has to be among them; the same holds for addresses.
fn is_allowed(list: &[Value], name: &str, entry: &Value) -> bool {
    let kind = if entry["url"].is_null() { "serverCommand" } else { "serverUrl" };
    let is_by_kind = list.iter().any(|rule| !rule[kind].is_null());
    let counts = |rule: &&Value| !is_by_kind || !rule[kind].is_null();
    list.iter().filter(counts).any(|rule| is_about(rule, name, entry))
}

fn command(entry: &Value) -> Value {
    let arguments = entry["args"].as_array().cloned().unwrap_or_default();
    std::iter::once(entry["command"].clone()).chain(arguments).collect()
}
