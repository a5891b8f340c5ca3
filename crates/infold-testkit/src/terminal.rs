//! A terminal with a person at it: an agent runs in tmux, words are typed into it and its screen is read.
//!
//! Nothing here waits for a time to pass. tmux says whenever the agent has drawn something, and only then is
//! the screen looked at again.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

/// How long a screen may take to show what is waited for.
const SHOWN_TIMEOUT: Duration = Duration::from_secs(60);
/// How often a key is pressed at most, and how long the screen may take to react before it is pressed again.
const PRESSES_MAX: usize = 8;
const PRESS_TIMEOUT: Duration = Duration::from_secs(2);
/// Columns and rows that clients of other people are tried with.
pub const ROOMY: (u16, u16) = (160, 50);
/// How many characters of typed words the screen must show before they are sent off.
const TYPED_CHARS: usize = 40;
/// How much of what tmux says is read at once.
const CHUNK_BYTES: usize = 64 * 1024;

static TERMINALS: AtomicU32 = AtomicU32::new(0);

/// An agent in a terminal. The agent and its terminal end when this is dropped.
pub struct TmuxTerminal {
    socket: PathBuf,
    /// A tmux client that is attached to the terminal, so that it notices when something is drawn.
    listener: Child,
    drawn: ChildStdout,
}

impl TmuxTerminal {
    /// Starts `agent` in a terminal of its own with this many columns and rows, whose socket lies in `folder`.
    pub async fn start(folder: &Path, agent: &Command, size: (u16, u16)) -> Result<Self> {
        // A server that is about to end takes no new terminal, so each has one of its own.
        let socket = folder.join(format!("terminal-{}", TERMINALS.fetch_add(1, Ordering::Relaxed)));
        let agent = agent.as_std();
        let mut command = Command::new("tmux");
        command.env_clear().envs(agent.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.env("LANG", "C.UTF-8").current_dir(agent.get_current_dir().unwrap_or(folder));
        let (columns, rows) = (size.0.to_string(), size.1.to_string());
        command.arg("-S").arg(&socket).args(["-f", "/dev/null", "-u", "new-session", "-d"]);
        command.args(["-x", &columns, "-y", &rows]);
        command.arg("--").arg(agent.get_program()).args(agent.get_args());
        let started = command.status().await.context("cannot run tmux: install the Debian package tmux")?;
        ensure!(started.success(), "tmux did not start: {started}");

        let mut listener = Command::new("tmux");
        listener.arg("-S").arg(&socket).args(["-C", "attach", "-f", "ignore-size,read-only"]);
        listener.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        let mut listener = listener.spawn().context("cannot attach to tmux")?;
        let drawn = listener.stdout.take().context("tmux has no output")?;
        Ok(Self { socket, listener, drawn })
    }

    /// Types words and sends them off, once the screen shows them.
    pub async fn say(&mut self, words: &str) -> Result<()> {
        self.type_words(words).await?;
        self.press("Enter").await
    }

    /// Types words, and waits until the screen shows them.
    pub async fn type_words(&mut self, words: &str) -> Result<()> {
        self.tmux(&["send-keys", "-l", "--", words]).await?;
        let start: String = words.chars().take(TYPED_CHARS).collect();
        self.until(&format!("the typed words {start:?}"), |screen| screen.contains(&start)).await
    }

    /// Pastes text of several lines and sends it off, once the screen shows that it was taken in.
    pub async fn paste(&mut self, text: &str) -> Result<()> {
        self.tmux(&["set-buffer", "--", text]).await?;
        self.tmux(&["paste-buffer", "-p", "-d"]).await?;
        self.until("the pasted text", |screen| screen.contains("[Pasted text")).await?;
        self.press("Enter").await
    }

    /// Presses a key by its name in tmux.
    pub async fn press(&mut self, key: &str) -> Result<()> {
        self.tmux(&["send-keys", key]).await.map(drop)
    }

    /// Presses a key, again if need be, until the screen is as wanted: a list that has just been drawn may
    /// not listen yet.
    pub async fn press_until(&mut self, key: &str, what: &str, shows: impl Fn(&str) -> bool) -> Result<()> {
        for _ in 0..PRESSES_MAX {
            self.press(key).await?;
            if let Ok(shown) = timeout(PRESS_TIMEOUT, self.until(what, &shows)).await {
                return shown;
            }
        }
        self.until(what, shows).await
    }

    /// Waits until the screen is as wanted; `what` names it for the failure.
    pub async fn until(&mut self, what: &str, shows: impl Fn(&str) -> bool) -> Result<()> {
        let mut last = String::new();
        let wait = async {
            let mut chunk = vec![0; CHUNK_BYTES];
            loop {
                last = self.tmux(&["capture-pane", "-p"]).await?;
                if shows(&last) {
                    return Ok(());
                }
                let count = self.drawn.read(&mut chunk).await?;
                ensure!(count > 0, "the terminal was closed");
            }
        };
        let waited = timeout(SHOWN_TIMEOUT, wait).await.unwrap_or_else(|_| bail!("it did not come"));
        waited.with_context(|| format!("waiting for {what}; the screen:\n{}", without_empty_lines(&last)))
    }

    /// The screen as it is now, without blanks at the ends of its lines.
    pub async fn screen(&self) -> Result<String> {
        let screen = self.tmux(&["capture-pane", "-p"]).await?;
        Ok(screen.lines().map(str::trim_end).collect::<Vec<_>>().join("\n"))
    }

    /// Everything that the terminal has kept, with the lines that have left the screen.
    pub async fn scrollback(&self) -> Result<String> {
        self.tmux(&["capture-pane", "-p", "-S", "-"]).await
    }

    /// Gives the terminal another size.
    pub async fn resize(&self, columns: u16, rows: u16) -> Result<()> {
        self.tmux(&["resize-window", "-x", &columns.to_string(), "-y", &rows.to_string()]).await.map(drop)
    }

    /// Types text as it is.
    pub async fn type_in(&self, text: &str) -> Result<()> {
        self.tmux(&["send-keys", "-l", "--", text]).await.map(drop)
    }

    /// Pastes the text of a file.
    pub async fn paste_file(&self, file: &Path) -> Result<()> {
        self.tmux(&["load-buffer", &file.display().to_string()]).await?;
        self.tmux(&["paste-buffer", "-p", "-d"]).await.map(drop)
    }

    /// The process in the terminal.
    pub async fn process(&self) -> Result<i32> {
        Ok(self.tmux(&["display-message", "-p", "#{pane_pid}"]).await?.trim().parse()?)
    }

    /// Waits until the screen shows these words.
    pub async fn until_shows(&mut self, words: &str) -> Result<()> {
        self.until(words, |screen| screen.contains(words)).await
    }

    /// Waits until the agent has ended and its terminal is closed.
    pub async fn until_closed(mut self) -> Result<()> {
        let mut rest = Vec::new();
        let closed = timeout(SHOWN_TIMEOUT, self.drawn.read_to_end(&mut rest)).await;
        closed.context("the agent did not end")??;
        self.listener.wait().await?;
        Ok(())
    }

    async fn tmux(&self, arguments: &[&str]) -> Result<String> {
        let ran = Command::new("tmux").arg("-u").arg("-S").arg(&self.socket).args(arguments).output().await?;
        let complaint = String::from_utf8_lossy(&ran.stderr);
        ensure!(ran.status.success(), "tmux {} failed: {complaint}", arguments[0]);
        Ok(String::from_utf8_lossy(&ran.stdout).into_owned())
    }
}

impl Drop for TmuxTerminal {
    fn drop(&mut self) {
        let mut command = std::process::Command::new("tmux");
        command.arg("-S").arg(&self.socket).arg("kill-server");
        // It may have ended by itself.
        let _ = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}

fn without_empty_lines(screen: &str) -> String {
    screen.lines().filter(|line| !line.trim().is_empty()).collect::<Vec<_>>().join("\n")
}
