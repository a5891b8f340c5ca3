//! One NATS server for all tests of a process, and a second run of those tests on it.

use std::process::Command;
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
        let server = runtime.block_on(NatsServer::start());
        let shown =
            |server: &NatsServer| SharedNats { url: server.client_url(), password: server.password().to_owned() };
        said.send(
            server.as_ref().map(|server| server.as_ref().map(shown)).map_err(|error| anyhow::anyhow!("{error:#}")),
        )?;
        loop {
            thread::park();
        }
    })?;
    answers.recv().context("the thread of the server has ended")?
}
