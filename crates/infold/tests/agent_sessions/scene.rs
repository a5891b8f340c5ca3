//! `infold exec` in a folder of its own, with a scripted model.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use infold_testkit::TempFolder;
use infold_testkit::model::{Model, Received, Script};
use serde_json::Value;
use tokio::process::Command;

use crate::support::{Database, PATIENCE};

/// A folder to work in, a data folder, and a model.
pub struct Scene {
    folder: TempFolder,
    pub model: Model,
    settings: Vec<String>,
}

/// What a run of the program printed.
#[derive(Debug)]
pub struct Printed {
    pub code: Option<i32>,
    pub text: String,
    pub errors: String,
}

impl Scene {
    /// A scene whose model plays this script.
    pub async fn start(script: Script) -> Result<Self> {
        let folder = TempFolder::new()?;
        for name in ["home", "work"] {
            std::fs::create_dir(folder.join(name))?;
        }
        let model = Model::start(script).await?;
        let settings = vec![
            format!("agent.upstream={}", model.base_url()),
            "agent.sandbox=off".to_owned(),
            "agent.first_wait_ms=1".to_owned(),
        ];
        Ok(Self { folder, model, settings })
    }

    /// The same with one more setting.
    pub fn set(mut self, key: &str, value: impl std::fmt::Display) -> Self {
        self.settings.push(format!("{key}={value}"));
        self
    }

    /// A path in the folder that the agent works in.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join("work").join(name)
    }

    /// The text of a file in that folder.
    pub fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// Runs the program.
    pub async fn run(&self, arguments: &[&str]) -> Result<Printed> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_infold"));
        command.env_clear().env("HOME", self.folder.join("home")).env("ANTHROPIC_API_KEY", "sk-ant-fake");
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).current_dir(self.path(""));
        command.arg("--data").arg(self.folder.join("data")).args(arguments).kill_on_drop(true);
        for setting in &self.settings {
            command.arg("--set").arg(setting);
        }
        let output = tokio::time::timeout(PATIENCE * 3, command.stdin(std::process::Stdio::null()).output());
        let output = output.await.with_context(|| format!("{arguments:?} does not end"))??;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(Printed { code: output.status.code(), text: text(&output.stdout), errors: text(&output.stderr) })
    }

    /// Runs the program, which has to succeed.
    pub async fn done(&self, arguments: &[&str]) -> Result<Printed> {
        let printed = self.run(arguments).await?;
        ensure!(printed.code == Some(0), "{arguments:?}: {printed:#?}\n{:#?}", self.model.broken());
        Ok(printed)
    }

    /// Runs a command that has to succeed, and reads what it prints as JSON.
    pub async fn json(&self, arguments: &[&str]) -> Result<Value> {
        let printed = self.done(&[arguments, &["--json"]].concat()).await?;
        serde_json::from_str(&printed.text).with_context(|| format!("{arguments:?}: {printed:#?}"))
    }

    /// The id of the only session.
    pub async fn session(&self) -> Result<String> {
        let listed = self.json(&["sessions", "--agent"]).await?;
        let sessions = listed["sessions"].as_array().context("no list")?;
        ensure!(sessions.len() == 1, "{listed}");
        Ok(sessions[0]["session_id"].as_str().context("no id")?.to_owned())
    }

    /// The database.
    pub fn database(&self) -> Result<Database> {
        Database::look(&self.folder.join("data"))
    }

    /// The turns that the model was sent, none of which broke a rule.
    pub fn turns(&self) -> Vec<Received> {
        assert_eq!(self.model.broken(), Vec::<String>::new());
        self.model.turns()
    }

    /// The body of the last turn, byte for byte.
    pub fn last_bytes(&self) -> String {
        String::from_utf8(self.turns().pop().unwrap().bytes).unwrap()
    }
}
