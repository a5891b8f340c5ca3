//! Headers that a command of the user's makes, such as a token that lives for minutes. It is run before the first
//! request, and once more when the server does not take what it made.

use std::fmt;
use std::process::Stdio;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use reqwest::header::HeaderMap;
use serde_json::{Map, Value};
use tokio::io::AsyncReadExt;
use tokio::process::Command;
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::headers;
use crate::gateway::error::LinkError;
use crate::gateway::hiding::{SECRET_BYTES_MIN, without_values};

/// How long the command may take.
const HELPER_TIMEOUT: Duration = Duration::from_secs(10);
/// The most that it may print.
const PRINTED_BYTES_MAX: u64 = 64 << 10;
/// The variables by which Claude Code tells such a command what it is for.
const SERVER_NAME: &str = "CLAUDE_CODE_MCP_SERVER_NAME";
const SERVER_URL: &str = "CLAUDE_CODE_MCP_SERVER_URL";

/// A command that prints headers as JSON.
#[derive(Clone)]
pub struct HeadersHelper {
    /// The command, for a shell. It has the environment of infold, as it would have that of the client.
    pub command: String,
    /// The name of the server that it is for.
    pub server: String,
}

/// Keys may be in the command, so it is not shown.
impl fmt::Debug for HeadersHelper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeadersHelper").field("server", &self.server).finish_non_exhaustive()
    }
}

/// Headers that were made, and what makes them.
#[derive(Debug)]
pub(super) struct MadeHeaders {
    helper: HeadersHelper,
    url: String,
    made: RwLock<Option<Arc<HeaderMap>>>,
    /// Held while the command runs, so that many requests run it once.
    making: Mutex<()>,
}

impl MadeHeaders {
    pub(super) fn new(helper: HeadersHelper, url: String) -> Self {
        Self { helper, url, made: RwLock::default(), making: Mutex::default() }
    }

    /// The headers, which are made if they were not yet.
    pub(super) async fn headers(&self) -> Result<Arc<HeaderMap>, LinkError> {
        if let Some(made) = self.made() {
            return Ok(made);
        }
        let _making = self.making.lock().await;
        match self.made() {
            Some(made) => Ok(made),
            None => self.make().await,
        }
    }

    /// Other headers than those that the server has refused; `None` if the command makes the same again.
    pub(super) async fn renewed(&self, refused: &Arc<HeaderMap>) -> Result<Option<Arc<HeaderMap>>, LinkError> {
        let _making = self.making.lock().await;
        match self.made().filter(|made| !Arc::ptr_eq(made, refused)) {
            Some(newer) => Ok(Some(newer)),
            None => Ok(Some(self.make().await?).filter(|made| made != refused)),
        }
    }

    /// Words of the server without the values that it was sent.
    pub(super) fn hide(&self, words: &str) -> String {
        let Some(made) = self.made() else { return words.to_owned() };
        let parts = made.values().filter_map(|value| value.to_str().ok()).flat_map(str::split_whitespace);
        without_values(words, parts.filter(|part| part.len() >= SECRET_BYTES_MIN))
    }

    fn made(&self) -> Option<Arc<HeaderMap>> {
        self.made.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn make(&self) -> Result<Arc<HeaderMap>, LinkError> {
        let printed = timeout(HELPER_TIMEOUT, self.run()).await;
        let printed = printed.unwrap_or_else(|_| Err(format!("it did not end within {} s", HELPER_TIMEOUT.as_secs())));
        let made = printed.and_then(|printed| read(&printed)).map(Arc::new);
        let made =
            made.map_err(|why| LinkError::Login(format!("the command in headers_helper gave no headers: {why}")))?;
        *self.made.write().unwrap_or_else(PoisonError::into_inner) = Some(made.clone());
        Ok(made)
    }

    /// Runs the command. What it prints is for the server only, and nothing of it is ever shown.
    async fn run(&self) -> Result<Vec<u8>, String> {
        let mut command = Command::new("sh");
        command.arg("-c").arg(&self.helper.command).kill_on_drop(true);
        command.env(SERVER_NAME, &self.helper.server).env(SERVER_URL, &self.url);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        let mut printed = Vec::new();
        if let Some(output) = child.stdout.take() {
            let mut output = output.take(PRINTED_BYTES_MAX + 1);
            output.read_to_end(&mut printed).await.map_err(|error| error.to_string())?;
        }
        if printed.len() as u64 > PRINTED_BYTES_MAX {
            return Err(format!("it printed more than {PRINTED_BYTES_MAX} bytes"));
        }
        let status = child.wait().await.map_err(|error| error.to_string())?;
        if status.success() {
            Ok(printed)
        } else {
            Err(format!("it ended with {status}: run it in a shell to see why"))
        }
    }
}

/// Reads the headers that a command has printed.
fn read(printed: &[u8]) -> Result<HeaderMap, String> {
    let wanted = r#"print one JSON object of texts, such as {"Authorization": "Bearer ..."}"#;
    let fields: Map<String, Value> = serde_json::from_slice(printed).map_err(|_| wanted.to_owned())?;
    let text = |(name, value): (String, Value)| Some((name, value.as_str()?.to_owned()));
    let pairs: Option<Vec<_>> = fields.into_iter().map(text).collect();
    headers::own(&pairs.ok_or(wanted)?).map_err(|name| format!("the header {name:?} is not valid"))
}

#[cfg(test)]
mod tests;
