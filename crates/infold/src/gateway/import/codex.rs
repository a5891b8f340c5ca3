//! Codex's servers: `[mcp_servers.NAME]` of its settings.

use std::path::{Path, PathBuf};

use infold_core::gateway::{ApprovalMode, RightsAction, RightsSource};
use serde_json::Value;

use super::draft::EntryDraft;
use super::json::map_texts;
use super::rules::add_rule;
use super::{FoundServer, FoundServers, ImportScope, nearest_file};
use crate::failure::Refused;
use crate::run::{codex_config, codex_folder, lay_over, read_toml};
use crate::settings::Surroundings;

const SECTION: &str = "mcp_servers";

/// Reads its servers and rules.
pub fn read(scope: ImportScope, surroundings: &Surroundings) -> Result<FoundServers, Refused> {
    let no_home = || Refused::new("cannot find Codex's files: HOME is not set").hint("set HOME");
    let own = codex_folder(surroundings).ok_or_else(no_home)?.join("config.toml");
    let project = match scope {
        ImportScope::Project => nearest_file(".codex/config.toml", surroundings).filter(|path| *path != own),
        ImportScope::User => None,
    };
    if !own.exists() && project.is_none() {
        return Err(Refused::new(format!("there is no file {}", own.display()))
            .hint("has Codex been started here? `infold servers import FILE` reads another file"));
    }
    let mut config = codex_config(&[], surroundings)?;
    let over = project.as_deref().map(read_toml).transpose()?.unwrap_or_default();
    let in_project = |name: &str| over.get(SECTION).is_some_and(|servers| servers.get(name).is_some());
    let of_project = |name: &str| project.clone().filter(|_| in_project(name));
    lay_over(&mut config, over.clone());

    let servers = serde_json::to_value(config.get(SECTION)).unwrap_or_default();
    let servers: Vec<FoundServer> = servers.as_object().into_iter().flatten().map(found(&own, &of_project)).collect();
    let allows = |server: &FoundServer| server.draft.as_ref().is_ok_and(|draft| draft.fields.contains_key("allow"));
    let note = "Codex asks about every call that changes something through infold, also of tools that are allowed";
    let notes = servers.iter().any(allows).then(|| note.to_owned());
    Ok(FoundServers { servers, notes: notes.into_iter().collect(), whole_environment: None })
}

fn found(own: &Path, of_project: &impl Fn(&str) -> Option<PathBuf>) -> impl Fn((&String, &Value)) -> FoundServer {
    |(name, entry)| {
        let file = of_project(name);
        // The file is in a folder of its own within the project.
        let project = file.as_deref().and_then(Path::parent).and_then(Path::parent).map(Path::to_owned);
        let from = file.unwrap_or_else(|| own.to_owned());
        FoundServer { name: name.clone(), from, project, own_rules: Some(own_rules(entry)), draft: draft(entry) }
    }
}

/// The rules of an entry, as Codex itself reads them. A mode that is not known is taken for the strictest.
fn own_rules(entry: &Value) -> RightsSource {
    let texts = |field: &str| {
        let list = entry[field].as_array()?;
        Some(list.iter().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>())
    };
    let tools = entry["tools"].as_object().into_iter().flatten();
    let modes = tools.filter_map(|(tool, settings)| Some((tool.clone(), mode_of(settings["approval_mode"].as_str()?))));
    RightsSource::Codex {
        enabled: texts("enabled_tools"),
        disabled: texts("disabled_tools").unwrap_or_default(),
        mode: entry["default_tools_approval_mode"].as_str().map_or(ApprovalMode::Auto, mode_of),
        modes: modes.collect(),
    }
}

fn mode_of(mode: &str) -> ApprovalMode {
    match mode {
        "auto" => ApprovalMode::Auto,
        "writes" => ApprovalMode::Writes,
        "approve" => ApprovalMode::Approve,
        _ => ApprovalMode::Prompt,
    }
}

fn draft(entry: &Value) -> Result<EntryDraft, String> {
    let mut draft = EntryDraft::new(entry)?;
    name_literals(&mut draft, entry);
    if draft.has("command") {
        program(&mut draft);
    } else if draft.has("url") {
        address(&mut draft);
    } else {
        return Err("it has neither command nor url".to_owned());
    }
    draft.time("startup_timeout_ms", "start_timeout_ms", 1.0);
    draft.time("startup_timeout_sec", "start_timeout_ms", 1_000.0);
    draft.time("tool_timeout_sec", "timeout_ms", 1_000.0);
    if draft.flag("enabled") == Some(false) {
        draft.set("enabled", false);
    }
    rights(&mut draft);
    draft.leave(&[
        ("required", "an agent starts without a server that fails, and gets the reason when it calls one"),
        ("supports_parallel_tool_calls", "infold lets calls of every server run side by side"),
        ("omit_tools_from", "infold's rules are the same in every mode"),
        ("environment_id", "infold starts servers on this machine only"),
        ("experimental_environment", "infold starts servers on this machine only"),
        ("name", "infold calls a server by its key"),
    ]);
    draft.finish();
    Ok(draft)
}

/// Names texts that Codex leaves as they are, but in which infold would replace variables.
fn name_literals(draft: &mut EntryDraft, entry: &Value) {
    for (field, value) in entry.as_object().into_iter().flatten() {
        let has_variable = map_texts(value, &|text| text.replace("${", "")) != *value;
        if has_variable {
            draft.drop(field, "it has ${...}, which Codex leaves as it is and infold replaces");
        }
    }
}

fn program(draft: &mut EntryDraft) {
    draft.text("command", "command");
    draft.texts("args", "args");
    draft.values("env", "env");
    draft.text("cwd", "cwd");
    let Some(variables) = draft.take("env_vars") else { return };
    let mut names = Vec::new();
    for variable in variables.as_array().into_iter().flatten() {
        let name = variable.as_str().or_else(|| variable["name"].as_str());
        match (name, variable.get("source").and_then(Value::as_str)) {
            (Some(name), None | Some("local")) => names.push(name.to_owned()),
            (Some(name), Some(_)) => draft.drop(format!("env_vars.{name}"), "infold has only its own environment"),
            (None, _) => draft.drop("env_vars", "one of its items has no name"),
        }
    }
    draft.set("env_vars", names);
}

fn address(draft: &mut EntryDraft) {
    draft.text("url", "url");
    draft.values("http_headers", "headers");
    if let Some(variable) = draft.take_text("bearer_token_env_var") {
        draft.value("headers", "Authorization", format!("Bearer ${{{variable}}}"));
    }
    for (header, variable) in draft.take_values("env_http_headers") {
        draft.value("headers", &header, format!("${{{variable}}}"));
    }
    draft.text("http_headers_helper", "headers_helper");
    draft.login("oauth", ["client_id", "callback_port", "metadata_url"]);
    if let Some(scopes) = draft.take_texts("scopes") {
        let login = draft.fields.entry("oauth").or_insert_with(|| toml::Table::new().into());
        if let toml::Value::Table(login) = login {
            login.insert("scopes".to_owned(), scopes.into());
        }
    }
    draft.leave(&[
        ("auth", "infold logs in if the server wants that"),
        ("oauth_resource", "infold asks for the server's own address"),
        ("bearer_token", "Codex itself does not take it: use bearer_token_env_var"),
    ]);
}

/// Lists of tools, and the modes in which Codex asks. What a mode makes of a tool's own description is not taken: for
/// infold, every tool that does not only read is one to ask about.
fn rights(draft: &mut EntryDraft) {
    draft.texts("enabled_tools", "tools");
    for tool in draft.take_texts("disabled_tools").unwrap_or_default() {
        add_rule(draft, RightsAction::Deny, &tool);
    }
    let usual = draft.take_text("default_tools_approval_mode").unwrap_or_else(|| "auto".to_owned());
    let usual_action = action_of(&usual);
    if let Some(action) = usual_action {
        add_rule(draft, action, "*");
    }
    let tools = draft.take("tools").unwrap_or_default();
    for (tool, settings) in tools.as_object().into_iter().flatten() {
        let place = format!("tools.{tool}.approval_mode");
        let Some(mode) = settings["approval_mode"].as_str() else {
            draft.drop(place, "it is not text");
            continue;
        };
        match action_of(mode) {
            Some(RightsAction::Allow) | None if usual_action == Some(RightsAction::Ask) => {
                draft.drop(place, format!("{mode:?} is an exception to {usual:?}: the stricter mode stays"));
            }
            Some(action) => add_rule(draft, action, tool),
            None if usual_action == Some(RightsAction::Allow) => add_rule(draft, RightsAction::Ask, tool),
            None => {}
        }
    }
}

/// What a mode says whatever a tool says of itself. One that is not known is taken for the strictest.
fn action_of(mode: &str) -> Option<RightsAction> {
    match mode {
        "auto" | "writes" => None,
        "approve" => Some(RightsAction::Allow),
        _ => Some(RightsAction::Ask),
    }
}
