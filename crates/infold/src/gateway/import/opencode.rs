//! OpenCode's servers: `mcp.NAME` of its settings, or `mcp.servers.NAME` in their newer form. Later files replace what
//! earlier ones say, field by field; lists are replaced whole.

use std::path::{Path, PathBuf};

use infold_core::gateway::{RightsAction, RightsSource};
use serde_json::{Map, Value};

use super::draft::EntryDraft;
use super::json::map_texts;
use super::rules::{ClientRule, carry_opencode};
use super::{FoundServer, FoundServers, ImportScope};
use crate::failure::Refused;
use crate::run::{opencode_project_files, opencode_user_files, read_jsonc};
use crate::settings::Surroundings;

/// Reads its servers and rules.
pub fn read(scope: ImportScope, surroundings: &Surroundings) -> Result<FoundServers, Refused> {
    let mut paths = opencode_user_files(surroundings);
    let own = paths.clone();
    if scope == ImportScope::Project {
        paths.extend(opencode_project_files(surroundings));
    }
    let mut files: Vec<(PathBuf, Value)> = Vec::new();
    for path in &paths {
        files.extend(read_jsonc(path)?.map(|file| (path.clone(), file)));
    }
    if files.is_empty() {
        let usual = paths.get(1).map_or("its settings".to_owned(), |path| path.display().to_string());
        return Err(Refused::new(format!("there is no file {usual}"))
            .hint("has OpenCode been set up here? `infold servers import FILE` reads another file"));
    }
    let mut config = Value::Object(Map::new());
    files.iter().for_each(|(_, file)| lay_over(&mut config, file));

    let rules = rules(&config);
    let servers = servers_of(&config).into_iter().flatten().filter(|(_, entry)| !only_switches(entry));
    let servers = servers.map(|(name, entry)| {
        let has = |(_, file): &&(PathBuf, Value)| servers_of(file).is_some_and(|servers| servers.contains_key(name));
        let from = files.iter().rev().find(has).map(|(path, _)| path.clone()).unwrap_or_default();
        let project = from.parent().filter(|_| !own.contains(&from)).map(Path::to_owned);
        let own_rules = rules.iter().cloned().map(ClientRule::in_own_form).collect();
        let own_rules = Some(RightsSource::Opencode { rules: own_rules });
        FoundServer { name: name.clone(), from, project, own_rules, draft: draft(name, entry, &rules) }
    });
    Ok(FoundServers { servers: servers.collect(), notes: notes(&config), whole_environment: Some("OpenCode") })
}

/// The servers of a file, in its older or newer form.
fn servers_of(config: &Value) -> Option<&Map<String, Value>> {
    let servers = config["mcp"].as_object()?;
    match servers.get("servers").and_then(Value::as_object) {
        Some(inner) if !inner.contains_key("type") => Some(inner),
        Some(_) | None => Some(servers),
    }
}

/// Whether an entry only switches a server off that is nowhere.
fn only_switches(entry: &Value) -> bool {
    entry.as_object().is_some_and(|fields| fields.keys().all(|field| field == "enabled"))
}

fn lay_over(config: &mut Value, over: &Value) {
    match (config, over) {
        (Value::Object(fields), Value::Object(over)) => {
            for (name, value) in over {
                match fields.get_mut(name) {
                    Some(field) => lay_over(field, value),
                    None => {
                        fields.insert(name.clone(), value.clone());
                    }
                }
            }
        }
        (config, over) => *config = over.clone(),
    }
}

fn notes(config: &Value) -> Vec<String> {
    let has_rules = |agent: &Value| !agent["permission"].is_null() || !agent["tools"].is_null();
    let agents = ["agent", "mode"].iter().filter_map(|section| config[*section].as_object());
    let agents = agents.flat_map(Map::values).any(has_rules);
    let agents = agents.then(|| "rules of single agents are not taken: infold has the same rules for all".to_owned());
    agents.into_iter().collect()
}

fn draft(name: &str, entry: &Value, rules: &[ClientRule]) -> Result<EntryDraft, String> {
    let mut literals = EntryDraft::default();
    let entry = in_own_form(entry, &mut literals)?;
    let mut draft = EntryDraft::new(&entry)?;
    draft.dropped = literals.dropped;
    let kind = draft.take("type");
    match kind.as_ref().and_then(Value::as_str) {
        Some("local") => program(&mut draft)?,
        Some("remote") => address(&mut draft),
        Some(other) => return Err(format!("infold does not know its type {other:?}")),
        None => return Err("it has no type".to_owned()),
    }
    if draft.flag("enabled") == Some(false) || draft.flag("disabled") == Some(true) {
        draft.set("enabled", false);
    }
    match draft.take("timeout") {
        Some(Value::Object(times)) => {
            let mut inner = EntryDraft::new(&Value::Object(times))?;
            inner.time("startup", "start_timeout_ms", 1.0);
            inner.time("request", "timeout_ms", 1.0);
            inner.finish();
            draft.fields.extend(inner.fields);
            draft.dropped.extend(inner.dropped);
        }
        Some(time) => {
            let mut inner = EntryDraft::new(&serde_json::json!({ "timeout": time }))?;
            inner.time("timeout", "start_timeout_ms", 1.0);
            draft.fields.extend(inner.fields);
            draft.dropped.extend(inner.dropped);
        }
        None => {}
    }
    draft.finish();
    carry_opencode(&mut draft, name, rules);
    Ok(draft)
}

/// The entry with OpenCode's variables in infold's form. A text that OpenCode reads from a file cannot be taken: a header
/// or variable is left out, without anything else the server would not be the same.
fn in_own_form(entry: &Value, literals: &mut EntryDraft) -> Result<Value, String> {
    let mut entry = entry.clone();
    for (field, value) in entry.as_object_mut().into_iter().flatten() {
        if map_texts(value, &|text| text.replace("${", "")) != *value {
            literals.drop(field.as_str(), "it has ${...}, which OpenCode leaves as it is and infold replaces");
        }
        *value = map_texts(value, &with_variables);
        let has_file = |value: &Value| map_texts(value, &|text| text.replace("{file:", "")) != *value;
        match value {
            Value::Object(values) => values.retain(|name, value| {
                let is_file = has_file(value);
                if is_file {
                    literals.drop(format!("{field}.{name}"), "infold reads no {file:...}: write it as a ${VARIABLE}");
                }
                !is_file
            }),
            value if has_file(value) => {
                return Err(format!("its {field} has a {{file:...}}, which infold does not read"));
            }
            _ => {}
        }
    }
    Ok(entry)
}

/// A text with `{env:VAR}` as `${VAR}`.
fn with_variables(text: &str) -> String {
    let mut parts = text.split("{env:");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| match part.split_once('}') {
        Some((name, rest)) => format!("{text}${{{}}}{rest}", name.trim()),
        None => format!("{text}{{env:{part}"),
    })
}

fn program(draft: &mut EntryDraft) -> Result<(), String> {
    draft.texts("command", "args");
    let Some(toml::Value::Array(mut words)) = draft.fields.remove("args") else {
        return Err("its command is not a list of texts".to_owned());
    };
    if words.is_empty() {
        return Err("its command is empty".to_owned());
    }
    draft.set("command", words.remove(0));
    if !words.is_empty() {
        draft.set("args", words);
    }
    draft.values("environment", "env");
    draft.text("cwd", "cwd");
    Ok(())
}

fn address(draft: &mut EntryDraft) {
    draft.text("url", "url");
    draft.values("headers", "headers");
    let is_newer = |oauth: &Value| oauth.get("client_id").is_some() || oauth.get("callback_port").is_some();
    let names = match draft.peek("oauth").is_some_and(is_newer) {
        true => ["client_id", "callback_port", "metadata_url"],
        false => ["clientId", "callbackPort", "metadataUrl"],
    };
    draft.login("oauth", names);
}

/// The rules for tools, in their order. What `tools` switches off or on comes first.
fn rules(config: &Value) -> Vec<ClientRule> {
    let mut rules = Vec::new();
    for (pattern, is_on) in config["tools"].as_object().into_iter().flatten() {
        let action = if *is_on == false { RightsAction::Deny } else { RightsAction::Allow };
        rules.push(ClientRule { pattern: pattern.clone(), action, place: format!("tools.{pattern}") });
    }
    let permissions = match &config["permission"] {
        Value::Object(permissions) => permissions.clone(),
        action => Map::from_iter([("*".to_owned(), action.clone())]),
    };
    for (pattern, said) in permissions {
        // Rules about arguments have an object of patterns, of which a tool of a server knows only `*`.
        let said = if said.is_object() { &said["*"] } else { &said };
        let action = match said.as_str() {
            Some("allow") => RightsAction::Allow,
            Some("ask") => RightsAction::Ask,
            Some("deny") => RightsAction::Deny,
            _ => continue,
        };
        let place = format!("permission.{pattern}");
        rules.push(ClientRule { pattern, action, place });
    }
    rules
}
