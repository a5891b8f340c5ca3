//! Entries in JSON, in the form that Claude Code, Claude Desktop, Cursor and others share: an object of servers by name.

use std::path::Path;

use serde_json::{Map, Value};

use super::draft::EntryDraft;
use super::{FoundServer, FoundServers};
use crate::failure::Refused;
use crate::run::{parse_jsonc, read_text};

/// Names under which files have their servers.
const SECTIONS: [&str; 3] = ["mcpServers", "servers", "mcp"];
const ALWAYS_LOAD: &str = "infold decides by their size which tools are listed";

/// What an address without a type means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BareUrl {
    /// The client refuses it.
    Refused,
    /// It is taken for streamable HTTP.
    Http,
}

/// Reads a file that the user named.
pub fn read(path: &Path) -> Result<FoundServers, Refused> {
    let place = path.display().to_string();
    let text = read_text(path)?.ok_or_else(|| {
        Refused::new(format!("there is no file {place}")).hint("name a file, or one of claude, codex and opencode")
    })?;
    let file = parse_jsonc(&text, &place)?;
    let servers = SECTIONS.iter().find_map(|section| file.get(*section)?.as_object()).ok_or_else(|| {
        Refused::new(format!("{place} has no object \"mcpServers\""))
            .hint("the form is {\"mcpServers\": {\"NAME\": {\"command\": \"...\", \"args\": []}}}")
    })?;
    let found = |(name, entry): (&String, &Value)| FoundServer {
        name: name.clone(),
        from: path.to_owned(),
        project: None,
        own_rules: None,
        draft: draft(&plain_variables(entry), BareUrl::Http),
    };
    Ok(FoundServers { servers: servers.iter().map(found).collect(), ..FoundServers::default() })
}

/// An entry in infold's form, or why it is not taken.
pub fn draft(entry: &Value, bare_url: BareUrl) -> Result<EntryDraft, String> {
    let mut draft = EntryDraft::new(entry)?;
    let kind = draft.take("type");
    let kind = kind.as_ref().map(|kind| kind.as_str().unwrap_or("(no text)"));
    match kind {
        None | Some("stdio") if draft.has("command") => program(&mut draft),
        Some("http" | "streamable-http" | "streamableHttp") if draft.has("url") => address(&mut draft),
        None if draft.has("url") && bare_url == BareUrl::Http => address(&mut draft),
        None if draft.has("url") => {
            return Err("it has a url and no type, which Claude Code refuses as well".to_owned());
        }
        Some("sse") => return Err("it speaks SSE only, which infold does not".to_owned()),
        Some("ws" | "websocket") => return Err("it speaks over a WebSocket, which infold does not".to_owned()),
        None | Some("stdio") => return Err("it has no command".to_owned()),
        Some("http" | "streamable-http" | "streamableHttp") => return Err("it has no url".to_owned()),
        Some(other) => return Err(format!("infold does not know its type {other:?}")),
    }
    draft.time("timeout", "timeout_ms", 1.0);
    if draft.flag("disabled") == Some(true) {
        draft.set("enabled", false);
    }
    draft.leave(&[("alwaysLoad", ALWAYS_LOAD), ("envFile", "infold reads no files of variables: write them into env")]);
    draft.finish();
    Ok(draft)
}

fn program(draft: &mut EntryDraft) {
    draft.text("command", "command");
    draft.texts("args", "args");
    draft.values("env", "env");
    draft.text("cwd", "cwd");
}

fn address(draft: &mut EntryDraft) {
    draft.text("url", "url");
    draft.values("headers", "headers");
    draft.text("headersHelper", "headers_helper");
    draft.login("oauth", ["clientId", "callbackPort", "authServerMetadataUrl"]);
}

/// The entry with `${env:VAR}`, as some clients write it, in infold's form.
fn plain_variables(entry: &Value) -> Value {
    map_texts(entry, &|text| text.replace("${env:", "${"))
}

/// The value with every text in it replaced.
pub fn map_texts(value: &Value, change: &dyn Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(change(text)),
        Value::Array(items) => items.iter().map(|item| map_texts(item, change)).collect(),
        Value::Object(fields) => {
            let fields: Map<String, Value> =
                fields.iter().map(|(name, field)| (name.clone(), map_texts(field, change))).collect();
            Value::Object(fields)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}
