//! What agents ask before they write: `infold hook`, in each agent's own way of asking.
//!
//! Claude Code and Codex run a command before a tool and put the same question to it. Codex runs no hook that was
//! not looked through and trusted, by a digest of what it says; whoever starts `infold run codex` asks for this one,
//! so its digest, and no other's, is trusted for that run alone. OpenCode loads a plugin from a file, which lies
//! in infold's data folder, and the plugin asks.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use aws_lc_rs::digest::{SHA256, digest};
use serde_json::{Value, json};

use crate::data_folder::quoted;
use crate::whole_file::{self, IfThere};

/// The tools of Claude Code that write into files, or may.
const CLAUDE_WRITERS: &str = "Bash|Write|Edit|MultiEdit|NotebookEdit|mcp__.*";
/// Those of Codex, by the names that it gives them in its questions.
const CODEX_WRITERS: &str = "^(Bash|apply_patch|mcp__.*)$";
/// How Codex names a hook that came with its command line.
const CODEX_KEY: &str = "/<session-flags>/config.toml:pre_tool_use:0:0";
/// How long an answer may take.
const TIMEOUT_S: u64 = 30;
/// What the plugin's file is called.
const PLUGIN: &str = "opencode-plugin.js";

/// What is asked, and with whose key it tells placeholders.
#[derive(Debug, Clone)]
pub struct Guard {
    /// This program.
    pub program: PathBuf,
    /// The data folder.
    pub data: PathBuf,
}

impl Guard {
    /// This very program, on a data folder.
    pub fn here(data: &Path) -> std::io::Result<Self> {
        Ok(Self { program: std::env::current_exe()?, data: std::path::absolute(data)? })
    }

    /// The command, as a shell takes it.
    fn command(&self) -> String {
        format!("{} hook --data {}", quoted(&self.program), quoted(&self.data))
    }

    /// A hook of Claude Code's.
    pub fn claude_hook(&self) -> Value {
        json!({"matcher": CLAUDE_WRITERS, "hooks": [{"type": "command", "command": self.command()}]})
    }

    /// Settings of Codex's for its command line: the hook, and that it is trusted.
    pub fn codex_settings(&self) -> [String; 2] {
        let command = toml::Value::String(self.command());
        let handler = format!("{{type=\"command\",command={command},timeout={TIMEOUT_S}}}");
        let trusted = format!("{{trusted_hash=\"{}\"}}", self.codex_digest());
        [
            format!("hooks.PreToolUse=[{{matcher='{CODEX_WRITERS}',hooks=[{handler}]}}]"),
            format!("hooks.state={{\"{CODEX_KEY}\"={trusted}}}"),
        ]
    }

    /// The digest by which Codex knows the hook: of its JSON with names in order.
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

    /// Writes the plugin of OpenCode's, and gives its address.
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
