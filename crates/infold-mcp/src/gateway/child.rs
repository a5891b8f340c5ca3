//! A server that is a child of infold. It runs under `infold tend`, which ends everything that the server leaves behind.
//!
//! It gets the variables and the folder that it is given, and nothing else of infold's surroundings. It is closed in
//! steps: its input ends; then the tender is asked to end it, first by a signal to the server's process group and then
//! by force.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use infold_core::strip_controls;
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::error::LinkError;
use super::options::LinkEvent;
use super::pace::Pace;
use super::stream::{StreamLeg, StreamParts, StreamReader};

/// How much of the server's standard error is kept.
const WORDS_BYTES_MAX: usize = 8 << 10;
/// How much of it an error shows.
const WORDS_SHOWN_CHARS: usize = 500;
/// How long the tender has after it was asked to end the server: it gives the server two seconds.
const TENDER_TIMEOUT: Duration = Duration::from_secs(10);
/// How long is waited for the last output of a process that has ended.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);

/// How a child is started.
#[derive(Clone)]
pub struct ChildWay {
    /// The program that has the command `tend`: infold itself.
    pub tender: PathBuf,
    /// The server's program, as the shell would find it.
    pub program: OsString,
    /// What the program takes.
    pub arguments: Vec<OsString>,
    /// All of the child's environment.
    pub variables: Vec<(OsString, OsString)>,
    /// The folder that it starts in; `None` is infold's own.
    pub folder: Option<PathBuf>,
}

/// Variables may hold secrets, so only their names are shown.
impl fmt::Debug for ChildWay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.variables.iter().map(|(name, _)| name).collect();
        f.debug_struct("ChildWay").field("program", &self.program).field("variables", &names).finish_non_exhaustive()
    }
}

impl ChildWay {
    fn spawn(&self) -> Result<Child, LinkError> {
        let problem =
            |why: String| LinkError::CannotStart { program: self.program.to_string_lossy().into_owned(), why };
        if let Some(folder) = self.folder.as_ref().filter(|folder| !folder.is_dir()) {
            return Err(problem(format!("the folder {} does not exist", folder.display())));
        }
        let mut command = Command::new(&self.tender);
        command.arg0("infold").arg("tend").arg(std::process::id().to_string()).arg("--");
        command.arg(&self.program).args(&self.arguments);
        command.env_clear().envs(self.variables.iter().map(|(name, value)| (name, value)));
        self.folder.iter().for_each(|folder| {
            command.current_dir(folder);
        });
        // A group of its own keeps it from signals that a terminal sends to infold.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().map_err(|error| problem(error.to_string()))
    }
}

/// The connection to a child.
#[derive(Debug)]
pub(super) struct ChildLeg {
    pub(super) stream: StreamLeg,
    process: Option<TendedProcess>,
}

impl ChildLeg {
    /// Starts the child, and tasks that read from it until it ends.
    pub(super) fn start(way: &ChildWay, parts: StreamParts) -> Result<Self, LinkError> {
        let mut child = way.spawn()?;
        let (Some(input), Some(output), Some(errors)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(LinkError::Closed);
        };
        let tender = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let process = TendedProcess { tender, words: LastWords::default(), ended: CancellationToken::new() };
        let keeping = parts.tasks.spawn(keep_words(errors, process.words.clone()));
        let (stream, reader) = StreamLeg::open((output, input), parts.clone());
        let watch = Watch { child, process: process.watched(), stream: stream.clone(), parts: parts.clone() };
        parts.tasks.spawn(async move { watch.run(reader, keeping).await });
        Ok(Self { stream, process: Some(process) })
    }

    /// A connection without a process behind it.
    pub(super) fn without_process(stream: StreamLeg) -> Self {
        Self { stream, process: None }
    }

    /// The end of what the child has written to its standard error, without control characters.
    pub(super) fn last_words(&self) -> String {
        self.process.as_ref().map(|process| process.words.text()).unwrap_or_default()
    }

    /// Closes the connection, and waits until nothing of the child is left.
    pub(super) async fn close(&self, timeout_ms: u64) {
        self.stream.close();
        let Some(process) = &self.process else { return };
        if timeout(Duration::from_millis(timeout_ms), process.ended.cancelled()).await.is_ok() {
            return;
        }
        process.terminate();
        if timeout(TENDER_TIMEOUT, process.ended.cancelled()).await.is_err() {
            tracing::warn!("an MCP server could not be ended in time; its processes may still run");
        }
    }
}

/// The process between infold and the server.
#[derive(Debug)]
struct TendedProcess {
    tender: Option<Pid>,
    words: LastWords,
    /// Cancelled when the process is gone.
    ended: CancellationToken,
}

impl TendedProcess {
    fn watched(&self) -> WatchedProcess {
        WatchedProcess { tender: self.tender, words: self.words.clone(), ended: self.ended.clone() }
    }

    fn terminate(&self) {
        if !self.ended.is_cancelled() {
            terminate(self.tender);
        }
    }
}

/// Who forgets a connection without closing it leaves no process behind either.
impl Drop for TendedProcess {
    fn drop(&mut self) {
        self.terminate();
    }
}

fn terminate(tender: Option<Pid>) {
    // It may have ended in this moment, and then there is nobody to signal.
    let _ = tender.map(|pid| kill_process(pid, Signal::TERM));
}

/// What the task that waits for the process's end knows of it.
struct WatchedProcess {
    tender: Option<Pid>,
    words: LastWords,
    ended: CancellationToken,
}

struct Watch {
    child: Child,
    process: WatchedProcess,
    stream: StreamLeg,
    parts: StreamParts,
}

impl Watch {
    /// Reads until the child is gone, and then fails everyone who waits for it, with the reason.
    async fn run(mut self, reader: StreamReader<ChildStdout>, keeping: tokio::task::JoinHandle<()>) {
        let reading = reader.run();
        tokio::pin!(reading);
        let status = tokio::select! {
            () = &mut reading => self.wait().await,
            status = self.child.wait() => {
                let _ = timeout(DRAIN_TIMEOUT, &mut reading).await;
                status.ok()
            }
        };
        let _ = timeout(DRAIN_TIMEOUT, keeping).await;
        let reason = LinkError::Ended { how: how(status), words: self.process.words.shown() };
        self.stream.waiting().end(reason.clone());
        self.process.ended.cancel();
        self.parts.router.last_event(LinkEvent::Ended(reason.to_string())).await;
    }

    /// Waits for a child whose output has ended. If it goes on without, it is of no use any more.
    async fn wait(&mut self) -> Option<ExitStatus> {
        if let Ok(status) = timeout(DRAIN_TIMEOUT, self.child.wait()).await {
            return status.ok();
        }
        terminate(self.process.tender);
        timeout(TENDER_TIMEOUT, self.child.wait()).await.ok()?.ok()
    }
}

fn how(status: Option<ExitStatus>) -> String {
    match status.and_then(|status| status.code()) {
        Some(code) => format!("exit code {code}"),
        None => "by force".to_owned(),
    }
}

/// The end of a child's standard error.
#[derive(Debug, Clone, Default)]
struct LastWords(Arc<Mutex<Vec<u8>>>);

impl LastWords {
    fn add(&self, bytes: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(bytes);
        let over = kept.len().saturating_sub(WORDS_BYTES_MAX);
        kept.drain(..over);
    }

    fn text(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        strip_controls(&String::from_utf8_lossy(&kept))
    }

    /// As much of the end as an error shows.
    fn shown(&self) -> String {
        let text = self.text();
        let text = text.trim();
        let skipped = text.chars().count().saturating_sub(WORDS_SHOWN_CHARS);
        text.chars().skip(skipped).collect()
    }
}

async fn keep_words(mut errors: impl AsyncRead + Unpin, words: LastWords) {
    let mut pace = Pace::new();
    let mut buffer = [0; 4096];
    while let Ok(bytes @ 1..) = errors.read(&mut buffer).await {
        words.add(&buffer[..bytes]);
        pace.bytes(bytes).await;
    }
}
