//! A home and a project for one agent: everything that it reads and writes, and nothing else.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use infold_testkit::TempFolder;
use serde_json::json;
use tokio::process::Command;

use super::agents::CLAUDE_KEY;

/// Variables that an agent inherits from the person's environment: it needs them to find programs at all.
const INHERITED: [&str; 3] = ["PATH", "LANG", "TMPDIR"];

/// The files of a project before an agent has worked in it.
const FILES: [(&str, &str); 3] = [
    ("notes.md", "# Notes\n\nThe greeting is in `greeting.txt`.\nIt should be polite: Grüße, not „hi“. 🙂\n"),
    ("greeting.txt", "hi\nthere\n"),
    ("check.sh", "echo checking\necho 'error: greeting.txt:1: \"hi\" is not polite' >&2\ngrep -q Grüße greeting.txt\n"),
];

/// A folder that an agent takes for a person's home, with a project in it. It is deleted when this is dropped.
#[derive(Debug)]
pub struct Home {
    folder: TempFolder,
}

impl Home {
    pub fn new() -> Result<Self> {
        let folder = TempFolder::new()?;
        let home = Self { folder };
        std::fs::create_dir_all(home.project())?;
        for (name, content) in FILES {
            std::fs::write(home.project().join(name), content)?;
        }
        Ok(home)
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The project that agents are started in.
    pub fn project(&self) -> PathBuf {
        self.folder.join("project")
    }

    /// Where Claude Code keeps its files.
    pub fn claude(&self) -> PathBuf {
        self.folder.join(".claude")
    }

    /// Where Codex keeps its files.
    pub fn codex(&self) -> PathBuf {
        self.folder.join(".codex")
    }

    /// A command in the project that has this home, and of the person's environment only what it must inherit.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        let inherited = INHERITED.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
        command.env_clear().envs(inherited);
        let folders = [
            ("XDG_CONFIG_HOME", ".config"),
            ("XDG_DATA_HOME", ".local/share"),
            ("XDG_STATE_HOME", ".local/state"),
            ("XDG_CACHE_HOME", ".cache"),
        ];
        command.env("HOME", self.path()).envs(folders.map(|(name, folder)| (name, self.folder.join(folder))));
        command.current_dir(self.project());
        command
    }

    /// Writes Claude Code's own files so that it asks nothing when it is first started at a terminal.
    pub fn answer_first_questions(&self) -> Result<()> {
        std::fs::create_dir_all(self.claude())?;
        let project = self.project().to_string_lossy().into_owned();
        let known = json!({
            "hasCompletedOnboarding": true,
            "theme": "dark",
            "numStartups": 5,
            "bypassPermissionsModeAccepted": true,
            "customApiKeyResponses": {"approved": [CLAUDE_KEY], "rejected": []},
            "projects": {project: {"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true}},
        });
        std::fs::write(self.claude().join(".claude.json"), known.to_string())?;
        // Output comes whole up to this length; beyond it Claude Code keeps it in a file of its own.
        let settings = json!({"skipDangerousModePermissionPrompt": true, "bashOutputMaxChars": 100_000});
        std::fs::write(self.claude().join("settings.json"), settings.to_string())?;
        Ok(())
    }

    /// The transcript that Claude Code has written for this session; without a session, the only one there is.
    pub fn claude_transcript(&self, session: Option<&str>) -> Result<PathBuf> {
        let wanted = session.map(|session| format!("{session}.jsonl"));
        let found = files_below(&self.claude().join("projects")).into_iter().find(|path| {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            name.ends_with(".jsonl") && wanted.as_ref().is_none_or(|wanted| *wanted == name)
        });
        found.context("Claude Code wrote no transcript")
    }

    /// The newest rollout that Codex has written.
    pub fn codex_rollout(&self) -> Result<PathBuf> {
        let mut found = files_below(&self.codex().join("sessions"));
        found.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
        found.sort();
        found.pop().context("Codex wrote no rollout")
    }
}

/// All files below a folder.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => files.extend(files_below(&entry.path())),
            Ok(_) => files.push(entry.path()),
            Err(_) => {}
        }
    }
    files
}
