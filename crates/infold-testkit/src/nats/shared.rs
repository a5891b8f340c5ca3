//! One NATS server for all tests of a process, and a second run of those tests on it.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::thread;

use anyhow::{Context, Result, ensure};

use super::NatsServer;

/// Says on what the tests' databases are.
const BACKEND: &str = "INFOLD_TEST_STORE";

/// How the shared server is reached.
#[derive(Debug, Clone)]
pub struct SharedNats {
    /// Where clients connect.
    pub url: String,
    /// The password of [`NATS_USER`](super::NATS_USER).
    pub password: String,
}

/// The server that all tests of this process share; `None` where there is no program to start. It ends with the process.
pub fn shared_server() -> Option<&'static SharedNats> {
    static SHARED: OnceLock<Option<SharedNats>> = OnceLock::new();
    SHARED.get_or_init(|| start().unwrap_or_else(|error| panic!("no NATS server: {error:#}"))).as_ref()
}

/// Whether this run of the tests is the one with databases that are indexes of a log on the shared server.
pub fn tests_are_on_nats() -> bool {
    std::env::var(BACKEND).is_ok_and(|backend| backend == "nats")
}

/// Runs the tests of this test program once more, on the shared server. `but` names the test that calls this.
pub fn run_tests_on_nats(but: &str) -> Result<()> {
    if tests_are_on_nats() || shared_server().is_none() {
        return Ok(());
    }
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--skip", but, "--test-threads", "4"]).env(BACKEND, "nats");
    let done = command.output().context("the tests cannot be run again")?;
    ensure!(done.status.success(), "on NATS:\n{}", String::from_utf8_lossy(&done.stdout));
    Ok(())
}

/// The server lives in a thread of its own, because each test has its own runtime.
fn start() -> Result<Option<SharedNats>> {
    let (said, answers) = std::sync::mpsc::channel();
    thread::Builder::new().name("nats".to_owned()).spawn(move || {
        let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => return said.send(Err(error.into())),
        };
        // Both are held until the process ends.
        let held = runtime.block_on(NatsServer::start()).and_then(|server| {
            let server = server.map(|server| (remover(server.folder()), server));
            server.map(|(remover, server)| Ok((remover?, server))).transpose()
        });
        let shown = held.as_ref().map(|held| held.as_ref().map(|(_, server)| shown(server)));
        said.send(shown.map_err(|error| anyhow::anyhow!("{error:#}")))?;
        loop {
            thread::park();
        }
    })?;
    answers.recv().context("the thread of the server has ended")?
}

fn shown(server: &NatsServer) -> SharedNats {
    SharedNats { url: server.client_url(), password: server.password().to_owned() }
}

/// Removes the server's folder when this process has ended, and the server with it.
fn remover(folder: &Path) -> Result<Child> {
    let mut command = Command::new("sh");
    command.args(["-c", r#"read -r _; sleep 1; rm -rf "$0""#]).arg(folder);
    command.stdin(Stdio::piped()).process_group(0).spawn().context("cannot run sh")
}
