//! Makes agents ask `infold hook` before they write, each agent in its own way.
//!
//! Claude Code and Codex run a command before a tool and put the same question to it. Codex runs only hooks that the
//! user has reviewed and trusted, and recognises them by a digest. Whoever starts `infold run codex` wants this hook,
//! so its digest, and no other, is trusted for that run alone. OpenCode loads a plugin from a file in infold's data
//! folder, and the plugin asks.
//!
//! With servers behind infold, Claude Code also asks whether a call through `tool_call` needs the user's word. The others have
//! no such question: Codex's hooks cannot allow, and OpenCode never asks its plugins.

mod rules;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use aws_lc_rs::digest::{SHA256, digest};
use serde_json::{Value, json};

use crate::data_folder::quoted;
use crate::gateway::TakenServers;
use crate::whole_file::{self, IfThere};

pub use rules::decision as rules_decision;

/// The tools of Claude Code that write into files, or may.
const CLAUDE_WRITERS: &str = "Bash|Write|Edit|MultiEdit|NotebookEdit|mcp__.*";
/// The same tools of Codex, by the names that it uses in its questions.
const CODEX_WRITERS: &str = "^(Bash|apply_patch|mcp__.*)$";
/// Codex's key for the first hook that came with its command line.
const CODEX_KEY: &str = "/<session-flags>/config.toml:pre_tool_use:0:0";
/// How long Codex waits for the hook's answer.
const TIMEOUT_S: u64 = 30;
/// The file name of OpenCode's plugin in the data folder.
const PLUGIN: &str = "opencode-plugin.js";

/// The program that agents ask before they write, and the data folder with the key of the placeholders.
#[derive(Debug, Clone)]
pub struct Guard {
    pub program: PathBuf,
    /// The data folder, as an absolute path.
    pub data: PathBuf,
}

impl Guard {
    /// Has agents ask this very program, with this data folder.
    pub fn here(data: &Path) -> std::io::Result<Self> {
        Ok(Self { program: std::env::current_exe()?, data: std::path::absolute(data)? })
    }

    /// The command that asks, as it is typed in a shell.
    fn command(&self) -> String {
        format!("{} hook --data {}", quoted(&self.program), quoted(&self.data))
    }

    /// The hook for Claude Code's settings, with the rules for the servers behind infold.
    pub fn claude_hook(&self, servers: Option<&TakenServers>) -> anyhow::Result<Value> {
        let rules = servers.map(|servers| rules::write_rules(&self.data, servers)).transpose()?.flatten();
        let rules = rules.map_or_else(String::new, |file| format!(" --rules {}", quoted(&file)));
        let command = format!("{}{rules}", self.command());
        Ok(json!({"matcher": CLAUDE_WRITERS, "hooks": [{"type": "command", "command": command}]}))
    }

    /// The settings for Codex's command line: the hook itself, and that it is trusted.
    pub fn codex_settings(&self) -> [String; 2] {
        let command = toml::Value::String(self.command());
        let handler = format!("{{type=\"command\",command={command},timeout={TIMEOUT_S}}}");
        let trusted = format!("{{trusted_hash=\"{}\"}}", self.codex_digest());
        [
            format!("hooks.PreToolUse=[{{matcher='{CODEX_WRITERS}',hooks=[{handler}]}}]"),
            format!("hooks.state={{\"{CODEX_KEY}\"={trusted}}}"),
        ]
    }

    /// The digest by which Codex recognises the hook. It is made of the hook's JSON, with the names sorted.
    fn codex_digest(&self) -> String {
        let handler = json!({"async": false, "command": self.command(), "timeout": TIMEOUT_S, "type": "command"});
        let hook = json!({"event_name": "pre_tool_use", "hooks": [handler], "matcher": CODEX_WRITERS});
        let mut text = "sha256:".to_owned();
        for byte in digest(&SHA256, hook.to_string().as_bytes()).as_ref() {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
        }
        text
    }

    /// Writes OpenCode's plugin into the data folder, and returns its path.
    pub fn opencode_plugin(&self) -> anyhow::Result<String> {
        let file = self.data.join(PLUGIN);
        let source = self.opencode_source();
        whole_file::write(&file, IfThere::Replace, |writer| Ok(writer.write_all(source.as_bytes())?))?;
        Ok(file.to_string_lossy().into_owned())
    }

    fn opencode_source(&self) -> String {
        let (program, data) = (json!(self.program), json!(self.data));
        include_str!("guard/opencode-plugin.js")
            .replace("PROGRAM", &program.to_string())
            .replace("DATA", &data.to_string())
    }
}

#[cfg(test)]
mod tests;
