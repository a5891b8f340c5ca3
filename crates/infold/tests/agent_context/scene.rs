//! A folder with the agent in it, and a scripted model.

use std::path::PathBuf;
use std::process::Stdio;

use infold_testkit::model::{Model, Received, Script};
use serde_json::Value;
use tempfile::TempDir;

/// The agent in a folder of its own, with the model that it asks.
pub struct AgentScene {
    pub model: Model,
    home: TempDir,
    settings: Vec<String>,
}

/// How a run ended: its code, its events, and what it said on standard error.
pub struct ExecRun {
    pub code: i32,
    pub events: Vec<Value>,
    pub stderr: String,
}

impl AgentScene {
    /// A folder, and a model that plays a script. `settings` are for `--set`.
    pub async fn start(script: Script, settings: &[&str]) -> Self {
        let model = Model::start(script).await.unwrap();
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join("work")).unwrap();
        let settings = settings.iter().map(|setting| (*setting).to_owned()).collect();
        Self { model, home, settings }
    }

    /// A path in the folder that the agent works in.
    pub fn path(&self, name: &str) -> PathBuf {
        self.home.path().join("work").join(name)
    }

    /// Writes a file there.
    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    /// Runs `infold exec --json` with these arguments.
    pub async fn exec(&self, arguments: &[&str]) -> ExecRun {
        let output = self.command(&[&["exec"], arguments].concat()).output().await.unwrap();
        let stdout = String::from_utf8(output.stdout).unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        let events = stdout.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}")));
        ExecRun { code: output.status.code().unwrap_or(-1), events: events.collect(), stderr }
    }

    /// Runs another command and gives its JSON.
    pub async fn json(&self, arguments: &[&str]) -> Value {
        let output = self.command(arguments).output().await.unwrap();
        let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}\n{stderr}"))
    }

    /// The program with `--json`, ready to be started.
    pub fn command(&self, arguments: &[&str]) -> tokio::process::Command {
        let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_infold"));
        command.args(arguments).arg("--json");
        for setting in &self.settings {
            command.arg("--set").arg(setting);
        }
        command.arg("--set").arg(format!("agent.upstream={}", self.model.base_url()));
        command
            .env_clear()
            .env("HOME", self.home.path())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("ANTHROPIC_API_KEY", "sk-ant-fake-0000")
            .current_dir(self.path(""))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    /// Turns that the model was asked for. None of them broke a rule.
    pub fn turns(&self) -> Vec<Received> {
        assert_eq!(self.model.broken(), Vec::<String>::new());
        self.model.turns()
    }

    /// The last turn.
    pub fn last_turn(&self) -> Received {
        self.turns().pop().unwrap()
    }
}

impl ExecRun {
    /// The events of one kind.
    pub fn of(&self, kind: &str) -> Vec<&Value> {
        self.events.iter().filter(|event| event["event"] == kind).collect()
    }

    /// The session.
    pub fn session(&self) -> String {
        self.of("started")[0]["session_id"].as_str().unwrap().to_owned()
    }

    /// Asserts that the run came to its end.
    pub fn done(self) -> Self {
        assert_eq!(self.code, 0, "{:?}\n{}", self.events.last(), self.stderr);
        self
    }
}

/// A text of about so many tokens, of which every line is different.
pub fn lines(seed: u64, count: u64) -> String {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % 100_000
    };
    (0..count)
        .map(|line| format!("{line:>5} module_{} handles request {} of queue {}\n", next(), next(), next()))
        .collect()
}
