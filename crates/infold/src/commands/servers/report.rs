//! What a check finds out about a server, as text and as JSON.

use std::fmt::Write as _;
use std::time::Instant;

use infold_core::strip_controls;
use infold_mcp::gateway::{LinkCounts, LinkError, LinkSetup, ListKind, Listed, ServerAbout, ServerLink};
use serde_json::{Value, json};
use tokio::sync::mpsc;

/// Events that may wait; a check looks at none.
const EVENTS_MAX: usize = 1;
const NAME_CHARS_MAX: usize = 60;

/// What a check has found.
pub struct ServerReport {
    about: ServerAbout,
    ready_ms: u128,
    lists_ms: u128,
    close_ms: u128,
    lists: Vec<(&'static str, Listed)>,
    counts: LinkCounts,
    last_words: String,
}

/// Starts or reaches a server, and asks for everything that it lists.
pub async fn look(setup: LinkSetup) -> Result<ServerReport, LinkError> {
    let begin = Instant::now();
    let (events, _nobody) = mpsc::channel(EVENTS_MAX);
    let link = ServerLink::start(setup, events).await?;
    let ready_ms = begin.elapsed().as_millis();
    let about = link.about();

    let begin = Instant::now();
    let lists = all_lists(&link, &about).await;
    let lists_ms = begin.elapsed().as_millis();

    let begin = Instant::now();
    let (counts, last_words) = (link.counts(), link.last_words());
    link.close().await;
    let close_ms = begin.elapsed().as_millis();
    Ok(ServerReport { about, ready_ms, lists_ms, close_ms, lists: lists?, counts, last_words })
}

async fn all_lists(link: &ServerLink, about: &ServerAbout) -> Result<Vec<(&'static str, Listed)>, LinkError> {
    let kinds = [
        ("tools", "tools", ListKind::Tools),
        ("prompts", "prompts", ListKind::Prompts),
        ("resources", "resources", ListKind::Resources),
        ("resource templates", "resources", ListKind::ResourceTemplates),
    ];
    let mut lists = Vec::new();
    for (name, capability, kind) in kinds {
        if about.capabilities.get(capability).is_some_and(Value::is_object) {
            lists.push((name, link.list(kind).await?));
        }
    }
    Ok(lists)
}

impl ServerReport {
    /// The report for programs.
    pub fn as_json(&self) -> Value {
        let lists = self.lists.iter().map(|(name, listed)| {
            let names: Vec<String> = listed.items.iter().map(item_name).collect();
            let list = json!({ "names": names, "bytes": bytes(listed), "problems": listed.problems });
            (name.replace(' ', "_"), list)
        });
        json!({
            "name": self.about.name,
            "version": self.about.version,
            "era": self.about.era.word(),
            "protocol": self.about.protocol,
            "instructions": self.about.instructions,
            "ready_ms": self.ready_ms,
            "lists_ms": self.lists_ms,
            "close_ms": self.close_ms,
            "lists": lists.collect::<serde_json::Map<_, _>>(),
            "dropped": {
                "unknown_ids": self.counts.unknown_ids,
                "unreadable": self.counts.unreadable,
                "too_long": self.counts.too_long,
                "unwanted": self.counts.unwanted,
                "unanswered": self.counts.unanswered,
            },
            "last_words": self.last_words,
        })
    }

    /// The report for people.
    pub fn as_text(&self) -> String {
        let about = &self.about;
        let (name, version) = (strip_controls(&about.name), strip_controls(&about.version));
        let mut text = format!("{name} {version}, MCP {}, ready in {} ms\n", about.protocol, self.ready_ms);
        for (kind, listed) in &self.lists {
            let _ = writeln!(text, "{} {kind}, {} bytes", listed.items.len(), bytes(listed));
            listed.items.iter().for_each(|item| {
                let _ = writeln!(text, "  {}", item_name(item));
            });
            listed.problems.iter().for_each(|problem| {
                let _ = writeln!(text, "  ! {}", strip_controls(problem));
            });
        }
        let _ = writeln!(text, "listed in {} ms, closed in {} ms", self.lists_ms, self.close_ms);
        if self.counts.unreadable + self.counts.unknown_ids + self.counts.too_long > 0 {
            let LinkCounts { unreadable, unknown_ids, too_long, .. } = self.counts;
            let _ = writeln!(
                text,
                "dropped: {unreadable} lines that are no message, {unknown_ids} answers to nobody, {too_long} too long"
            );
        }
        text
    }
}

fn item_name(item: &Value) -> String {
    let name = ["name", "uri", "uriTemplate"].iter().find_map(|key| item.get(*key)?.as_str()).unwrap_or("(no name)");
    strip_controls(name).chars().take(NAME_CHARS_MAX).collect()
}

fn bytes(listed: &Listed) -> usize {
    listed.items.iter().map(|item| item.to_string().len()).sum()
}
