//! `infold servers import`: takes servers of an agent into the user's settings.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use infold_core::strip_hostile;
use serde_json::{Value, json};

use crate::commands::Invocation;
use crate::draw::one_line;
use crate::failure::Refused;
use crate::gateway::{AddedServers, Import, ImportScope, ImportSource, ImportedServer, add_servers, describe_way};
use crate::help;
use crate::output::Form;

/// What to do where programs need more variables.
const REMEDY: &str = "name further variables in env_vars, or \"*\" for all";

/// Arguments of `servers import`.
#[derive(Debug, clap::Args)]
#[command(after_help = help::text(
    &[
        "Reads the agent's own files, which stay as they are, and adds each server to your settings of infold. Prints \
         what is taken, and which fields and rules infold cannot honour. A server whose name is in your settings \
         already is left alone.",
        "The agent keeps its own entries: remove or disable them there, or its model sees those tools twice.",
    ],
    &[
        ("infold servers import claude", ""),
        ("infold servers import codex --dry-run", "show what would be taken"),
        ("infold servers import opencode --project", "also servers of the current project"),
        ("infold servers import ~/.cursor/mcp.json", "a file with \"mcpServers\""),
    ],
))]
pub struct ImportArgs {
    /// claude, codex, opencode, or a file in JSON
    source: ImportSource,
    /// Also take the servers of the project that the current folder belongs to
    #[arg(long)]
    project: bool,
    /// Show what would be taken, and write nothing
    #[arg(long)]
    dry_run: bool,
}

/// Takes servers over.
pub fn run(args: &ImportArgs, invocation: &Invocation) -> anyhow::Result<()> {
    let path = settings_file(invocation)?;
    let scope = if args.project { ImportScope::Project } else { ImportScope::User };
    if args.project && matches!(args.source, ImportSource::File(_)) {
        return Err(Refused::new("--project is for an agent, not for a file").hint("leave it out").into());
    }
    let import = Import::read(&args.source, scope, invocation)?;
    let added = add_servers(&path, &import.taken)?;

    if !args.dry_run {
        added.write(&path)?;
    }
    let outcome = ImportReport { import: &import, added: &added, path: &path, is_dry: args.dry_run };
    match invocation.output.form {
        Form::Json => invocation.output.json(&outcome.as_json()),
        Form::Text => Ok(invocation.output.text(&outcome.as_text())?),
    }
}

/// The user's settings file, whether or not it exists.
fn settings_file(invocation: &Invocation) -> Result<PathBuf, Refused> {
    let file = invocation.in_force.files.iter().find(|file| file.layer == "user file");
    let no_home = || Refused::new("there is no place for your settings: HOME is not set").hint("set HOME");
    file.and_then(|file| file.path.clone()).ok_or_else(no_home)
}

/// What was found and what became of it.
struct ImportReport<'a> {
    import: &'a Import,
    added: &'a AddedServers,
    path: &'a Path,
    is_dry: bool,
}

impl ImportReport<'_> {
    fn is_known(&self, server: &ImportedServer) -> bool {
        self.added.known.iter().any(|name| name == server.entry.key.as_str())
    }

    fn as_text(&self) -> String {
        let mut text = String::new();
        for server in &self.import.taken {
            self.show(server, &mut text);
        }
        for left in &self.import.left {
            // Writing into a string cannot fail.
            let _ =
                writeln!(text, "{}: not taken: {}\n  from {}", left.name.escape_debug(), left.why, left.from.display());
        }
        for note in self.import.notes_with(REMEDY).iter().filter(|_| !self.import.taken.is_empty()) {
            let _ = writeln!(text, "note: {note}");
        }
        let (count, path) = (self.added.added.len(), self.path.display());
        let servers = if count == 1 { "server" } else { "servers" };
        let _ = match (count, self.is_dry) {
            (0, _) => writeln!(text, "nothing to add to {path}"),
            (_, true) => writeln!(text, "would add {count} {servers} to {path}"),
            (_, false) => writeln!(text, "added {count} {servers} to {path}"),
        };
        text
    }

    fn show(&self, server: &ImportedServer, text: &mut String) {
        let (name, way) = (server.entry.key.as_str(), describe_way(&server.entry.way));
        if self.is_known(server) {
            let _ = writeln!(text, "{name}: your settings have a server of this name: left as it is");
            return;
        }
        let is_off = server.fields.get("enabled").and_then(toml::Value::as_bool) == Some(false);
        let _ = writeln!(text, "{name}: {way}{}", if is_off { ", switched off" } else { "" });
        let _ = writeln!(text, "  from {}", server.from.display());
        for (field, patterns) in rules(server) {
            let _ = writeln!(text, "  {field}: {}", patterns.join(", "));
        }
        for dropped in &server.dropped {
            let _ = writeln!(text, "  ! {}: {}", dropped.field.escape_debug(), dropped.why);
        }
        for missing in &server.missing {
            let _ = writeln!(text, "  ! {missing}");
        }
    }

    fn as_json(&self) -> Value {
        let taken = self.import.taken.iter().map(|server| {
            let dropped = server.dropped.iter().map(|dropped| json!({"field": dropped.field, "why": dropped.why}));
            json!({
                "name": server.entry.key.as_str(),
                "server": describe_way(&server.entry.way),
                "from": server.from,
                "known": self.is_known(server),
                "rules": rules(server).into_iter().collect::<BTreeMap<_, _>>(),
                "dropped": dropped.collect::<Vec<_>>(),
                "missing": server.missing,
            })
        });
        let left = self.import.left.iter();
        let left = left.map(|left| json!({"name": left.name, "from": left.from, "why": left.why}));
        json!({
            "taken": taken.collect::<Vec<_>>(),
            "left": left.collect::<Vec<_>>(),
            "notes": self.import.notes_with(REMEDY),
            "added": self.added.added,
            "file": self.path,
            "dry_run": self.is_dry,
        })
    }
}

/// The rules for tools that were carried over, by field. Patterns are no secrets.
fn rules(server: &ImportedServer) -> Vec<(String, Vec<String>)> {
    let fields = ["tools", "deny", "ask", "allow"].into_iter();
    let found = fields.filter_map(|field| {
        let patterns = server.fields.get(field)?.as_array()?.iter().filter_map(toml::Value::as_str);
        Some((field.to_owned(), patterns.map(|pattern| one_line(&strip_hostile(pattern))).collect()))
    });
    found.collect()
}
