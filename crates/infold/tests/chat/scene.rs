//! A person at a terminal, in a folder with files.

use anyhow::{Context, Result};
use infold_testkit::model::{Script, Step};
use infold_testkit::terminal::TmuxTerminal;
use serde_json::{Value, json};

use crate::agent::scene::{Scene, by_words, calls, opening, returning};

/// The terminal that most scenes are in.
pub const USUAL: (u16, u16) = (100, 30);

/// A folder, a model, and the terminals that are opened there.
pub struct ChatScene {
    pub scene: Scene,
}

impl ChatScene {
    /// A folder with a greeting in it.
    pub async fn start(script: Script) -> Self {
        let scene = Scene::start(script).await.set("agent.approval=ask");
        scene.write("greeting.txt", "helo, world\n");
        Self { scene }
    }

    /// The same with one more setting.
    pub fn set(self, setting: &str) -> Self {
        Self { scene: self.scene.set(setting) }
    }

    /// Opens a chat, and waits until it can be typed in.
    pub async fn open(&self, size: (u16, u16), arguments: &[&str]) -> Result<TmuxTerminal> {
        let all: Vec<&str> = ["chat"].into_iter().chain(arguments.iter().copied()).collect();
        let mut command = self.scene.command(&all);
        command.env("NO_COLOR", "1");
        let mut terminal = TmuxTerminal::start(self.scene.home(), &command, size).await?;
        terminal.until("the input", |screen| screen.contains("\n>")).await?;
        Ok(terminal)
    }

    /// What `infold show --json` prints of the only session.
    pub async fn shown(&self) -> Result<Value> {
        let listed = self.scene.run(&["sessions", "--agent", "--json"]).await;
        let listed: Value = serde_json::from_str(&listed.stdout).with_context(|| format!("{listed:?}"))?;
        let session = listed["sessions"][0]["session_id"].as_str().context("no session")?.to_owned();
        let shown = self.scene.run(&["show", &session, "--json", "--requests", "200"]).await;
        serde_json::from_str(&shown.stdout).with_context(|| format!("{shown:?}"))
    }
}

/// Says words, and waits until the agent has answered with others and rests.
pub async fn say_and_wait(terminal: &mut TmuxTerminal, words: &str, answer: &str) -> Result<()> {
    terminal.say(words).await?;
    terminal.until(answer, |screen| screen.contains(answer) && rests(screen)).await
}

/// Whether nothing turns on the screen: the agent rests.
pub fn rests(screen: &str) -> bool {
    !screen.chars().any(|character| ('\u{2800}'..='\u{28ff}').contains(&character)) && !screen.contains("May it ")
}

/// A model that answers by what was said last.
pub fn greeting_model() -> Script {
    let edit = json!({"path": "greeting.txt", "old": "helo", "new": "hello"});
    let read = |number: u64| ("read", json!({ "path": format!("file_{number}.txt") }));
    by_words(vec![
        ("Go another way", Step::text("Another way it is.")),
        ("to be replaced by a summary", Step::text("The greeting was put right.")),
        ("Fix the greeting", Step::calling("Let me **edit** it.", [("edit", edit)])),
        (
            "edited greeting.txt",
            Step::text("The greeting is right:\n\n```rust\nlet greeting = \"hello\";\n```\n\n- one\n- two"),
        ),
        ("Remove it", Step::calling("I remove it.", [("shell", json!({"command": "rm greeting.txt"}))])),
        ("the person refused", Step::text("Then it stays.")),
        ("Explore", opening(&[("look at the greeting", "PROMPT-A"), ("look at the rest", "PROMPT-B")])),
        ("PROMPT-A", returning("The greeting is fine.")),
        ("PROMPT-B", returning("There is nothing else.")),
        ("[branch ", Step::text("Both are back.")),
        ("Read them all", calls((0..6).map(read).collect())),
        ("line 1 of file 5", Step::text("I have read them all.")),
        ("What was it", Step::text("It was the greeting.")),
        ("Take your time", Step::calling("I wait.", [("shell", json!({"command": "sleep 600"}))])),
        ("Steer here", Step::text("I steer.")),
        ("Count these", Step::text("I have counted them.")),
        ("Hello", Step::text("Hello yourself.")),
    ])
}
