//! Sessions that a chat goes on with: made by `infold exec` and a scripted model, as anybody's are.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use infold_testkit::model::{Model, Script, Step};
use serde_json::json;
use tempfile::TempDir;
use tokio::process::Command;

/// Files that the agent has read.
const FILES: u64 = 20;

/// A home folder, with a folder in it in which a session was talked in.
pub struct ChatHome {
    home: TempDir,
}

impl ChatHome {
    /// Makes a session of so many messages: in each turn, the model says something and reads a file.
    pub async fn with_messages(program: &Path, messages: u64) -> Result<Self> {
        let home = Self { home: TempDir::new()? };
        std::fs::create_dir(home.folder())?;
        for file in 0..FILES {
            let lines: String = (0..10).map(|line| format!("{line}: note {file} of the queue\n")).collect();
            std::fs::write(home.folder().join(format!("notes_{file}.txt")), lines)?;
        }
        if messages > 0 {
            home.fill(program, messages / 2).await?;
        }
        Ok(home)
    }

    async fn fill(&self, program: &Path, turns: u64) -> Result<()> {
        let words =
            |turn: u64| format!("Step **{turn}**: the notes of `queue_{turn}` come next.\n\n- read them\n- go on");
        let read = |turn: u64| ("read", json!({ "path": format!("notes_{}.txt", turn % FILES) }));
        let steps = (1..turns).map(|turn| Step::calling(&words(turn), [read(turn)])).chain([Step::text("Done.")]);
        let model = Model::start(Script::new(steps)).await?;
        let mut command = Command::new(program);
        command.args(["exec", "--approval", "all", "--turns", "0", "work through all of it"]);
        self.surround(&mut command, model.base_url());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        ensure!(command.status().await?.success(), "the session could not be made");
        ensure!(model.broken().is_empty(), "a request broke a rule: {:?}", model.broken());
        Ok(())
    }

    /// Gives a command of the program its model, its data and its folder, and nothing of ours around it.
    pub fn surround(&self, command: &mut Command, model_url: &str) {
        command
            .arg("--data")
            .arg(self.data())
            .args(["--set", &format!("agent.upstream={model_url}")])
            .env_clear()
            .env("HOME", self.path())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("TERM", "xterm-256color")
            .env("ANTHROPIC_API_KEY", "sk-ant-fake-0000")
            .current_dir(self.folder());
    }

    pub fn path(&self) -> &Path {
        self.home.path()
    }

    fn folder(&self) -> PathBuf {
        self.path().join("work")
    }

    fn data(&self) -> PathBuf {
        self.path().join("data")
    }

    /// What is kept of the words that are being typed; empty if there is nothing.
    pub fn draft(&self) -> Result<String> {
        let kept = self.data().join("chat");
        for file in std::fs::read_dir(&kept).with_context(|| format!("there is no {}", kept.display()))? {
            let file = file?;
            let name = file.file_name();
            let name = name.to_string_lossy();
            if name.starts_with("draft-") && !name.ends_with(".new") {
                return Ok(std::fs::read_to_string(file.path()).unwrap_or_default());
            }
        }
        Ok(String::new())
    }
}
