//! The system's keyring, through the program `secret-tool`: it speaks to whichever keyring the desktop has, and costs no
//! dependency. What is kept there is one text for each server.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio::time::timeout;

const PROGRAM: &str = "secret-tool";
/// How long the keyring may take. It may have to ask the user to unlock it.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// Why there is no keyring to use; `None` if there seems to be one. The folders are those in which programs are found.
pub fn keyring_problem(folders: Option<&OsStr>, has_session_bus: SessionBus) -> Option<&'static str> {
    let is_there = |folder: &Path| folder.join(PROGRAM).is_file();
    let found = folders.is_some_and(|folders| std::env::split_paths(folders).any(|folder| is_there(&folder)));
    match (found, has_session_bus) {
        (false, _) => Some("the program secret-tool is not installed"),
        (true, SessionBus::Absent) => Some("there is no session bus, as on a machine without a desktop"),
        (true, SessionBus::There) => None,
    }
}

/// Whether the user's session has a bus, over which keyrings are spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionBus {
    /// It has one.
    There,
    /// It has none.
    Absent,
}

/// Puts a text into the keyring, in place of the one that was there for this server.
pub(super) async fn put(item: &str, text: &str) -> Result<(), String> {
    let mut command = tool("store");
    command.arg("--label=infold: login to an MCP server").args(attributes(item)).stdin(Stdio::piped());
    run(command, Some(text)).await.map(|_| ())
}

/// The text of a server; `None` if the keyring has none.
pub(super) async fn get(item: &str) -> Result<Option<String>, String> {
    let mut command = tool("lookup");
    command.args(attributes(item));
    let text = run(command, None).await?;
    Ok(Some(text).filter(|text| !text.is_empty()))
}

/// Removes the text of a server.
pub(super) async fn remove(item: &str) -> Result<(), String> {
    let mut command = tool("clear");
    command.args(attributes(item));
    run(command, None).await.map(|_| ())
}

fn attributes(item: &str) -> [&str; 4] {
    ["service", "infold", "login", item]
}

fn tool(action: &str) -> Command {
    let mut command = Command::new(PROGRAM);
    command.arg(action).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    command
}

/// Runs the tool. What it prints may be a secret, so an error says only how it ended.
async fn run(mut command: Command, input: Option<&str>) -> Result<String, String> {
    let running = async {
        let mut child = command.spawn().map_err(|error| format!("{PROGRAM} cannot be started: {error}"))?;
        if let (Some(mut pipe), Some(input)) = (child.stdin.take(), input) {
            let written = pipe.write_all(input.as_bytes()).await;
            written.map_err(|_| format!("{PROGRAM} did not take what is to be kept"))?;
        }
        let output = child.wait_with_output().await.map_err(|error| format!("{PROGRAM}: {error}"))?;
        // It ends with 1 if there is nothing to be found, and also if the keyring does not answer, but then it complains.
        let is_silent = output.stdout.is_empty() && output.stderr.is_empty();
        let is_absent = output.status.code() == Some(1) && is_silent && input.is_none();
        if !output.status.success() && !is_absent {
            return Err(format!("{PROGRAM} ended with {}", output.status));
        }
        String::from_utf8(output.stdout).map_err(|_| format!("{PROGRAM} gave something that is not text"))
    };
    timeout(ANSWER_TIMEOUT, running).await.unwrap_or_else(|_| Err(format!("{PROGRAM} does not answer")))
}
