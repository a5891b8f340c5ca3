//! One server with its folder and ports, which it keeps over kills and starts.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use super::config::{NodeConfig, NodePorts};
use super::process::NatsProcess;
use super::slow_disk::SlowDisk;
use crate::{Disk, Trace};

/// What a server says if a port was taken between finding it free and listening.
const PORT_TAKEN: &str = "address already in use";

/// A server, running or not.
#[derive(Debug)]
pub struct NatsNode {
    /// The server's program, and its configuration file.
    program: PathBuf,
    config: PathBuf,
    log: PathBuf,
    store: PathBuf,
    ports: NodePorts,
    /// What the server does to its files is written down here, until it loses power.
    trace: Option<PathBuf>,
    /// Up to which line of the trace the kernel has written everything to the disk by itself.
    written_back: usize,
    slow_disk: Option<SlowDisk>,
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
        fs::write(&file, config.text()?).with_context(|| format!("cannot write {}", file.display()))?;
        let mut node = Self {
            program: program.to_owned(),
            config: file,
            log: folder.join("log"),
            store: config.store.to_owned(),
            ports: config.ports,
            trace: config.setup.is_traced().then(|| folder.join("trace")),
            written_back: 0,
            slow_disk: None,
            running: None,
        };
        node.start()?;
        Ok(node)
    }

    /// Starts the server on the data that it has.
    pub fn start(&mut self) -> Result<()> {
        if self.running.is_some() {
            bail!("the server is running already");
        }
        let mut command = Vec::new();
        if let Some(trace) = &self.trace {
            ensure!(!self.store.exists(), "a trace must begin with the server's first start");
            command.extend(Trace::command(trace));
            // The server is not the tracer's child, but that of whoever kills it.
            command.push("--daemonize=grandchild".into());
        }
        command.extend([self.program.as_os_str(), "--config".as_ref(), self.config.as_os_str()].map(OsString::from));
        self.running = Some(NatsProcess::start(&command, &self.log)?);
        Ok(())
    }

    /// Takes everything that the server has written so far for written to the disk.
    pub fn write_back(&mut self) -> Result<()> {
        let trace = self.trace.as_ref().context("the server is not traced")?;
        // The tracer writes whole lines.
        self.written_back = BufReader::new(File::open(trace)?).lines().count();
        Ok(())
    }

    /// Kills the server, and leaves of its files what it had synced, and what was written back. Its next start is an
    /// ordinary one.
    pub fn lose_power(&mut self) -> Result<()> {
        self.kill()?;
        let trace = self.trace.take().context("the server was not traced")?;
        let trace = Trace::read(BufReader::new(File::open(&trace)?), &self.store)?;
        let mut disk = Disk::with_journal(&trace);
        disk.advance(self.written_back + 1);
        disk.write_back();
        disk.advance(trace.lines + 1);
        fs::remove_dir_all(&self.store)?;
        fs::create_dir(&self.store)?;
        disk.lose_all_unsynced(&self.store)
    }

    /// Makes the disk of the running server slow.
    pub fn slow_disk(&mut self) -> Result<()> {
        ensure!(self.slow_disk.is_none(), "the server's disk is slow already");
        self.slow_disk = Some(SlowDisk::of(self.process()?.pid())?);
        Ok(())
    }

    /// Makes the server's disk as quick as usual, if it is slow.
    pub fn usual_disk(&mut self) {
        self.slow_disk = None;
    }

    /// Changes one setting of the configuration, for the next start.
    pub fn configure(&self, setting: &str, value: &str) -> Result<()> {
        let text = fs::read_to_string(&self.config)?;
        let is_it = |line: &str| line.trim_start().starts_with(&format!("{setting}:"));
        ensure!(text.lines().filter(|line| is_it(line)).count() == 1, "{setting} must be set in one line");
        let changed = |line: &str| if is_it(line) { format!("{setting}: {value}\n") } else { format!("{line}\n") };
        fs::write(&self.config, text.lines().map(changed).collect::<String>())?;
        Ok(())
    }

    /// Kills the server at once, as a crash would.
    pub fn kill(&mut self) -> Result<()> {
        self.usual_disk();
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
