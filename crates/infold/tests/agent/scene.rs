//! A folder with files, a scripted model, and the program's agent between the two.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use infold_testkit::model::{Call, Decision, Model, Received, Script, Step};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, Command};

use crate::support::{Database, PATIENCE};

/// What the person asks for in most tests. A branch is not shown it.
pub const ASKED: &str = "Put the greeting right, please.";

/// A home with a folder to work in, and the model that the agent asks.
pub struct Scene {
    pub model: Model,
    home: TempDir,
    /// Settings of every run.
    settings: Vec<String>,
}

/// How a run ended, and what it printed.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Scene {
    /// An empty folder, and a model that plays `script`. Commands are not confined, so that tests do not depend on what the
    /// kernel has (`agent_fence` is about that).
    pub async fn start(script: Script) -> Self {
        let model = Model::start(script).await.unwrap();
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join("work")).unwrap();
        let settings = [
            format!("agent.upstream={}", model.base_url()),
            "agent.sandbox=off".to_owned(),
            "agent.first_wait_ms=1".to_owned(),
            "agent.attempts_max=3".to_owned(),
            "folding.max_branches_per_minute=1000".to_owned(),
        ];
        Self { model, home, settings: settings.into() }
    }

    /// The same with one more setting.
    #[must_use]
    pub fn set(mut self, setting: &str) -> Self {
        self.settings.push(setting.to_owned());
        self
    }

    /// A file in the working folder, or next to it if the name says so.
    pub fn file(&self, name: &str) -> PathBuf {
        self.home.path().join("work").join(name)
    }

    /// The text of a file in the working folder.
    pub fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.file(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Writes a file in the working folder.
    pub fn write(&self, name: &str, text: &str) {
        let file = self.file(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }

    pub fn home(&self) -> &Path {
        self.home.path()
    }

    pub fn data(&self) -> PathBuf {
        self.home.path().join("data")
    }

    /// The program with a command of its own, ready to be started in the folder.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_infold"));
        command.args(arguments).arg("--data").arg(self.data());
        for setting in &self.settings {
            command.args(["--set", setting]);
        }
        command
            .env_clear()
            .env("HOME", self.home.path())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("LANG", "C.UTF-8")
            .env("ANTHROPIC_API_KEY", "sk-ant-fake-0000")
            .env("OPENAI_API_KEY", "sk-fake-0000")
            .current_dir(self.file(""))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    /// Runs the program to its end.
    pub async fn run(&self, arguments: &[&str]) -> Ran {
        ended(self.command(arguments).spawn().unwrap()).await
    }

    /// Runs the agent to its end, with JSON events.
    pub async fn exec(&self, arguments: &[&str]) -> Ran {
        let all: Vec<&str> = ["exec", "--json"].into_iter().chain(arguments.iter().copied()).collect();
        self.run(&all).await
    }

    /// The same with something to read.
    pub async fn exec_reading(&self, arguments: &[&str], input: &[u8]) -> Ran {
        let all: Vec<&str> = ["exec", "--json"].into_iter().chain(arguments.iter().copied()).collect();
        let mut child = self.command(&all).stdin(Stdio::piped()).spawn().unwrap();
        // The program may refuse before it has read everything.
        let _ = child.stdin.take().unwrap().write_all(input).await;
        ended(child).await
    }

    /// Starts the agent, and does not wait for it.
    pub fn begin(&self, arguments: &[&str]) -> Child {
        let all: Vec<&str> = ["exec", "--json"].into_iter().chain(arguments.iter().copied()).collect();
        self.command(&all).spawn().unwrap()
    }

    /// The turns that the model was sent. None of them broke a rule or wrote to the cache what was there.
    pub fn turns(&self) -> Vec<Received> {
        assert_eq!(self.model.broken(), Vec::<String>::new());
        assert_eq!(self.model.repeated_writes(), []);
        self.model.turns()
    }

    /// The turns of the main thread: those that show what the person asked for.
    pub fn main_turns(&self) -> Vec<Received> {
        self.turns().into_iter().filter(|turn| turn.holds(ASKED)).collect()
    }

    /// The records of the only session, in order.
    pub fn log(&self) -> Vec<Value> {
        let Ok(database) = Database::look(&self.data()) else { return Vec::new() };
        let rows = database.rows("SELECT payload FROM agent_log ORDER BY session_id, seq").unwrap_or_default();
        rows.iter().map(|row| serde_json::from_str(row).unwrap()).collect()
    }

    /// Changes the database from outside.
    pub fn in_database(&self, sql: &str) {
        let connection = rusqlite::Connection::open(self.data().join("infold.db")).unwrap();
        connection.busy_timeout(PATIENCE).unwrap();
        connection.execute_batch(sql).unwrap();
    }
}

/// Waits for the end of a run.
pub async fn ended(child: Child) -> Ran {
    let output = tokio::time::timeout(PATIENCE * 3, child.wait_with_output()).await;
    Ran::of(output.expect("the run is over in time").unwrap())
}

/// Sends a signal to a run.
pub fn signal(child: &Child, signal: Signal) {
    let id = child.id().expect("the run is still there");
    kill_process(Pid::from_raw(id.cast_signed()).unwrap(), signal).unwrap();
}

impl Ran {
    fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code().unwrap_or(-1), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// The events, one a line.
    pub fn events(&self) -> Vec<Value> {
        let event = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line}"));
        self.stdout.lines().map(event).collect()
    }

    /// The events of a kind.
    pub fn of_kind(&self, kind: &str) -> Vec<Value> {
        self.events().into_iter().filter(|event| event["event"] == kind).collect()
    }

    /// The last event, which has to say that the run is over, with this exit code.
    pub fn finished(&self, code: i32) -> Value {
        assert_eq!(self.code, code, "{self:?}");
        let last = self.events().pop().unwrap_or_else(|| panic!("no events: {self:?}"));
        assert_eq!(
            (last["event"].as_str(), last["exit_code"].as_i64()),
            (Some("finished"), Some(code.into())),
            "{last}"
        );
        last
    }

    /// The session's name.
    pub fn session(&self) -> String {
        let first = &self.events()[0];
        first["session_id"].as_str().unwrap_or_else(|| panic!("no session: {first}")).to_owned()
    }

    /// The messages of warnings.
    pub fn warnings(&self) -> Vec<String> {
        self.of_kind("warning").iter().map(|event| event["message"].as_str().unwrap().to_owned()).collect()
    }
}

/// The result that the model was shown for the newest call of a tool.
pub fn result_of(received: &Received, tool: &str) -> String {
    received.last_result_of(tool).unwrap_or_else(|| panic!("no result of {tool} in\n{}", received.shape()))
}

/// An answer that calls tools without a word.
pub fn calls(calls: Vec<(&str, Value)>) -> Step {
    let mut step = Step::default();
    step.calls.extend(calls.into_iter().map(|(tool, input)| Call { tool: tool.to_owned(), input }));
    step
}

/// An answer that calls `branch_create`, once for each pair of a description and a prompt.
pub fn opening(branches: &[(&str, &str)]) -> Step {
    let open =
        |(description, prompt): &(&str, &str)| ("branch_create", json!({"description": description, "prompt": prompt}));
    calls(branches.iter().map(open).collect())
}

/// An answer that ends a branch.
pub fn returning(message: &str) -> Step {
    calls(vec![("branch_return", json!({"message": message}))])
}

/// A script whose answers follow from what a request shows alone, so that it goes on wherever a run broke off: the first rule
/// whose words the newest message on the user's side holds answers it.
pub fn by_words(rules: Vec<(&'static str, Step)>) -> Script {
    let answer = Step::seeing(move |received| {
        let newest = newest_words(received);
        match rules.iter().find(|(words, _)| newest.contains(words)) {
            Some((_, step)) => step.decision(received),
            None => Decision::Stuck(format!("no rule for: {newest}")),
        }
    });
    Script::new(std::iter::repeat_n(answer, 200))
}

/// What is shown behind the model's own last words.
pub fn newest_words(received: &Received) -> String {
    use infold_testkit::model::ShownKind::{Result, User};
    let shown = received.shown();
    let newest = shown.iter().rev().take_while(|piece| matches!(piece.kind, User | Result));
    let mut words: Vec<&str> = newest.map(|piece| piece.text.as_str()).collect();
    words.reverse();
    words.join("\n")
}

/// A body in which ids that differ between two runs are numbered in the order of their appearance, and cache marks are kept.
pub fn normalised(received: &Received) -> String {
    let mut names: HashMap<String, String> = HashMap::new();
    let text = serde_json::to_string_pretty(&received.body).unwrap();
    let mut out = String::with_capacity(text.len());
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    for piece in text.split_inclusive(|letter: char| !is_part(letter)) {
        let word = piece.trim_end_matches(|letter: char| !is_part(letter));
        let is_id = |prefix: &str| word.strip_prefix(prefix).is_some_and(|rest| rest.len() >= 10);
        let is_uuid = word.len() == 36 && word.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
        let prefix = ["br_", "res_", "toolu_", "call_", "rs_", "fc_", "msg_"].into_iter().find(|prefix| is_id(prefix));
        if is_uuid || prefix.is_some() {
            let count = names.len() + 1;
            out.push_str(names.entry(word.to_owned()).or_insert_with(|| format!("{}{count}", prefix.unwrap_or("id_"))));
            out.push_str(&piece[word.len()..]);
        } else {
            out.push_str(piece);
        }
    }
    out
}
