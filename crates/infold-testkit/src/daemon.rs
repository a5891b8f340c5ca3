//! Starts, kills and restarts a real daemon in a folder of its own. A daemon is killed with the test that started it.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

use crate::TempFolder;

/// How long a daemon may take until it prints that it is ready. A traced one in a debug build is slow.
const READY_TIMEOUT: Duration = Duration::from_secs(60);

/// How long a daemon may take to drain its connections and exit after it was asked to.
const EXIT_TIMEOUT: Duration = Duration::from_secs(60);

/// Most bytes of the daemon's standard error in a failure message.
const STDERR_SHOWN_BYTES_MAX: usize = 8_000;

/// How a daemon is to be started. [`DaemonSetup::start`] starts it.
#[derive(Debug, Clone)]
pub struct DaemonSetup {
    binary: PathBuf,
    wrapper: Vec<OsString>,
    arguments: Vec<OsString>,
    environment: Vec<(String, String)>,
    data: Option<PathBuf>,
}

impl DaemonSetup {
    /// A daemon run from `binary`, on a free port of the loopback address, with default settings.
    pub fn new(binary: impl Into<PathBuf>) -> Self {
        Self { binary: binary.into(), wrapper: Vec::new(), arguments: Vec::new(), environment: Vec::new(), data: None }
    }

    /// Overrides a setting, as `--set KEY=VALUE` does.
    pub fn set(mut self, key: &str, value: impl std::fmt::Display) -> Self {
        self.arguments.push("--set".into());
        self.arguments.push(format!("{key}={value}").into());
        self
    }

    /// Sets a variable of the daemon's environment.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Stores data in `folder`, which outlives the daemon. Without this the data is removed with the daemon.
    pub fn data(mut self, folder: impl Into<PathBuf>) -> Self {
        self.data = Some(folder.into());
        self
    }

    /// Runs the daemon under another program, such as a tracer.
    pub fn wrapped_in<I>(mut self, command: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<OsString>,
    {
        self.wrapper = command.into_iter().map(Into::into).collect();
        self
    }

    /// Starts the daemon and waits until it is ready.
    pub async fn start(self) -> Result<Daemon> {
        let folder = TempFolder::new()?;
        let data = self.data.clone().unwrap_or_else(|| folder.join("data"));
        let running = launch(&self, &folder, &data).await?;
        Ok(Daemon { setup: self, folder, data, running })
    }

    /// A command that runs the daemon's program, or its wrapper, without access to the person's own settings.
    fn command(&self, home: &Path) -> Command {
        let mut command = match self.wrapper.split_first() {
            None => isolated(&self.binary, home),
            Some((wrapper, arguments)) => {
                let mut command = isolated(Path::new(wrapper), home);
                command.args(arguments).arg(&self.binary);
                command
            }
        };
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }
}

/// A running daemon. It is killed when it is dropped.
#[derive(Debug)]
pub struct Daemon {
    setup: DaemonSetup,
    folder: TempFolder,
    data: PathBuf,
    running: RunningDaemon,
}

#[derive(Debug)]
struct RunningDaemon {
    child: Child,
    base_url: String,
    /// Held so that a daemon that prints again does not find its output closed.
    _stdout: BufReader<ChildStdout>,
}

impl Daemon {
    /// Where the daemon listens, without a trailing slash.
    pub fn base_url(&self) -> &str {
        &self.running.base_url
    }

    /// The folder with the daemon's data.
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// The empty folder that the daemon takes for the person's home.
    pub fn home(&self) -> PathBuf {
        self.folder.join("home")
    }

    /// The daemon's own process, also when it runs under a wrapper.
    pub fn pid(&self) -> Result<u32> {
        let pid = self.running.child.id().context("the daemon is not running")?;
        if self.setup.wrapper.is_empty() {
            return Ok(pid);
        }
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))
            .context("cannot list the wrapper's children")?;
        let child = children.split_whitespace().next().context("the wrapper has no child")?;
        child.parse().context("the kernel gave an odd process id")
    }

    /// The end of what the daemon has written to standard error, over all restarts.
    pub fn stderr(&self) -> String {
        read_stderr(&self.folder)
    }

    /// The program with other arguments, on the same data and with the same home.
    pub fn program(&self, arguments: &[&str]) -> Command {
        let mut command = isolated(&self.setup.binary, &self.home());
        command.envs(self.setup.environment.iter().map(|(name, value)| (name, value)));
        command.args(arguments).arg("--data").arg(&self.data);
        command
    }

    /// Kills the daemon at once, as a crash would, and waits until it is gone.
    pub async fn kill9(&mut self) -> Result<()> {
        self.signal(Signal::KILL)?;
        self.wait().await?;
        Ok(())
    }

    /// Asks the daemon to exit, and returns its exit status.
    pub async fn terminate(&mut self) -> Result<ExitStatus> {
        self.signal(Signal::TERM)?;
        self.wait().await
    }

    /// Starts the daemon again on the same data. Its port may have changed.
    pub async fn restart(&mut self) -> Result<()> {
        if self.running.child.id().is_some() {
            self.kill9().await?;
        }
        self.running = launch(&self.setup, &self.folder, &self.data).await?;
        Ok(())
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        let pid = i32::try_from(self.pid()?).context("the process id is out of range")?;
        let pid = Pid::from_raw(pid).context("the process id is 0")?;
        kill_process(pid, signal).context("cannot signal the daemon")
    }

    async fn wait(&mut self) -> Result<ExitStatus> {
        match timeout(EXIT_TIMEOUT, self.running.child.wait()).await {
            Ok(status) => status.context("cannot wait for the daemon"),
            Err(_) => bail!("the daemon did not leave within {EXIT_TIMEOUT:?}:\n{}", self.stderr()),
        }
    }
}

/// A command that runs `program` with a home of its own and none of the person's infold settings.
pub(crate) fn isolated(program: &Path, home: &Path) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("INFOLD_") {
            command.env_remove(name);
        }
    }
    command
        .env("HOME", home)
        .env("XDG_CONFIG_HOME", home.join(".config"))
        .env("XDG_DATA_HOME", home.join(".local/share"))
        .env("XDG_STATE_HOME", home.join(".local/state"))
        .env("XDG_CACHE_HOME", home.join(".cache"))
        .env("XDG_RUNTIME_DIR", home.join(".run"))
        .current_dir(home)
        .kill_on_drop(true);
    command
}

async fn launch(setup: &DaemonSetup, folder: &TempFolder, data: &Path) -> Result<RunningDaemon> {
    let home = folder.join("home");
    std::fs::create_dir_all(&home).context("cannot make the daemon's home")?;
    let stderr = File::options()
        .create(true)
        .append(true)
        .open(folder.join("stderr"))
        .context("cannot keep the daemon's standard error")?;

    let mut child = setup
        .command(&home)
        .args(["serve", "--listen", "127.0.0.1:0", "--data"])
        .arg(data)
        .args(&setup.arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(stderr)
        .spawn()
        .with_context(|| format!("cannot start {}", setup.binary.display()))?;
    let stdout = child.stdout.take().context("the daemon has no standard output")?;

    let mut stdout = BufReader::new(stdout);
    let base_url = ready_line(&mut stdout)
        .await
        .with_context(|| format!("the daemon did not become ready:\n{}", read_stderr(folder)))?;
    Ok(RunningDaemon { child, base_url, _stdout: stdout })
}

/// Waits for the one line that `serve` prints, and takes the address out of it.
async fn ready_line(stdout: &mut BufReader<ChildStdout>) -> Result<String> {
    let mut line = String::new();
    let read = timeout(READY_TIMEOUT, stdout.read_line(&mut line)).await;
    read.with_context(|| format!("it printed nothing within {READY_TIMEOUT:?}"))??;
    let address = line.trim().rsplit(' ').next().unwrap_or_default();
    if !address.starts_with("http://") {
        bail!("its first line names no address: {line:?}");
    }
    Ok(address.trim_end_matches('/').to_owned())
}

/// The end of the daemon's standard error, which is where the reason for a failure is.
fn read_stderr(folder: &TempFolder) -> String {
    let bytes = std::fs::read(folder.join("stderr")).unwrap_or_default();
    let start = bytes.len().saturating_sub(STDERR_SHOWN_BYTES_MAX);
    String::from_utf8_lossy(&bytes[start..]).into_owned()
}
