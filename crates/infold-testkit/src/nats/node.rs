//! One server with its folder and ports, which it keeps over kills and starts.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use super::config::{NodeConfig, NodePorts};
use super::process::NatsProcess;

/// What a server says if a port was taken between finding it free and listening.
const PORT_TAKEN: &str = "address already in use";

/// A server, running or not.
#[derive(Debug)]
pub struct NatsNode {
    program: PathBuf,
    config: PathBuf,
    log: PathBuf,
    ports: NodePorts,
    running: Option<NatsProcess>,
}

/// A port that was free has been taken: everything must be started again with other ports.
#[derive(Debug, thiserror::Error)]
#[error("a port that was free has been taken")]
pub struct PortTaken;

impl NatsNode {
    /// Writes the configuration into `folder` and starts the server. It may not be ready yet.
    pub fn start_new(program: &Path, folder: &Path, config: &NodeConfig<'_>) -> Result<Self> {
        let file = folder.join("server.conf");
        std::fs::write(&file, config.text()?).with_context(|| format!("cannot write {}", file.display()))?;
        let log = folder.join("log");
        let mut node = Self { program: program.to_owned(), config: file, log, ports: config.ports, running: None };
        node.start()?;
        Ok(node)
    }

    /// Starts the server on the data that it has.
    pub fn start(&mut self) -> Result<()> {
        if self.running.is_some() {
            bail!("the server is running already");
        }
        self.running = Some(NatsProcess::start(&self.program, &self.config, &self.log)?);
        Ok(())
    }

    /// Changes one setting of the configuration, for the next start.
    pub fn configure(&self, setting: &str, value: &str) -> Result<()> {
        let text = std::fs::read_to_string(&self.config)?;
        let is_it = |line: &str| line.trim_start().starts_with(&format!("{setting}:"));
        ensure!(text.lines().filter(|line| is_it(line)).count() == 1, "{setting} must be set in one line");
        let changed = |line: &str| if is_it(line) { format!("{setting}: {value}\n") } else { format!("{line}\n") };
        std::fs::write(&self.config, text.lines().map(changed).collect::<String>())?;
        Ok(())
    }

    /// Kills the server at once, as a crash would.
    pub fn kill(&mut self) -> Result<()> {
        self.running.take().map(drop).context("the server is not running")
    }

    /// The server's process.
    pub fn process(&self) -> Result<&NatsProcess> {
        self.running.as_ref().context("the server is not running")
    }

    pub fn ports(&self) -> NodePorts {
        self.ports
    }

    pub fn client_url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.ports.client)
    }

    pub fn monitor_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.ports.monitor)
    }

    /// Fails if the server ended by itself, with what it said, or could not get one of its ports: it may live on then.
    pub fn check_running(&self) -> Result<()> {
        let process = self.process()?;
        let log = process.log();
        if log.contains(PORT_TAKEN) {
            return Err(PortTaken.into());
        }
        ensure!(!process.has_ended(), "the server ended:\n{log}");
        Ok(())
    }
}
