//! Other gateways, from the Python registry, started on a free port with the measured backend behind them.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use infold_testkit::TempFolder;
use serde_json::json;

use super::called::CalledGateway;
use crate::bench::process::Process;
use crate::bench::python::PythonProgram;
use xtask::workspace::Workspace;

/// How long a peer may take until it answers.
const READY_TRIES_MAX: u32 = 240;
const BETWEEN_TRIES: Duration = Duration::from_millis(250);

/// How a gateway reaches the backend.
#[derive(Debug, Clone)]
pub enum BackendWay {
    /// At this address.
    Http(String),
    /// As a child: this program, with the argument `backend`.
    Stdio(PathBuf),
}

/// Another project's gateway that infold is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GatewayPeer {
    /// As it is by default.
    CompressorMedium,
    /// With the shortest list that it can make.
    CompressorMax,
    FastMcp,
}

impl GatewayPeer {
    pub const ALL: [Self; 3] = [Self::CompressorMedium, Self::CompressorMax, Self::FastMcp];

    pub fn name(self) -> &'static str {
        match self {
            Self::CompressorMedium => "mcp-compressor 0.38.2, medium",
            Self::CompressorMax => "mcp-compressor 0.38.2, max",
            Self::FastMcp => "FastMCP 4.1.0 proxy",
        }
    }

    fn python(self) -> PythonProgram {
        match self {
            Self::CompressorMedium | Self::CompressorMax => {
                PythonProgram { package: "mcp-compressor==0.38.2", program: "mcp-compressor" }
            }
            Self::FastMcp => PythonProgram { package: "fastmcp==4.1.0", program: "fastmcp" },
        }
    }

    /// Starts the peer in front of the backend, and waits until it lists tools.
    pub async fn start(self, workspace: &Workspace, backend: &BackendWay) -> Result<RunningPeer> {
        let program = self.python().install(workspace)?;
        let folder = TempFolder::new()?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut command = self.command(&program, folder.path(), port, backend)?;
        let log = File::create(folder.path().join("log"))?;
        command.env("HOME", folder.path()).current_dir(folder.path());
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let child = command.spawn().with_context(|| format!("cannot start {}", program.display()))?;
        let mut running = StoppedAtDrop(child);
        let base_url = format!("http://127.0.0.1:{port}");
        let process = Process(running.0.id());
        for _ in 0..READY_TRIES_MAX {
            if let Ok(called) = CalledGateway::connect(self.name(), &base_url, Some(process)).await {
                return Ok(RunningPeer { called, _running: running, _folder: folder });
            }
            if running.0.try_wait()?.is_some() {
                break;
            }
            tokio::time::sleep(BETWEEN_TRIES).await;
        }
        let log = fs::read_to_string(folder.path().join("log")).unwrap_or_default();
        bail!("it does not answer: {}", log.lines().last().unwrap_or_default())
    }

    fn command(self, program: &Path, folder: &Path, port: u16, backend: &BackendWay) -> Result<Command> {
        let mut command = Command::new(program);
        let port = port.to_string();
        match self {
            Self::CompressorMedium | Self::CompressorMax => {
                let level = if self == Self::CompressorMax { "max" } else { "medium" };
                command.args(["-c", level, "-n", "code", "--transport", "streamable-http", "--port", &port, "--"]);
                match backend {
                    // Without this it demands a login.
                    BackendWay::Http(url) => command.arg(format!("{url}/mcp")).args(["--auth", "explicit-headers"]),
                    BackendWay::Stdio(program) => command.arg(program).arg("backend"),
                };
            }
            Self::FastMcp => {
                let server = match backend {
                    BackendWay::Http(url) => json!({ "url": format!("{url}/mcp"), "transport": "http" }),
                    BackendWay::Stdio(program) => json!({ "command": program, "args": ["backend"] }),
                };
                let config = folder.join("mcp.json");
                fs::write(&config, json!({ "mcpServers": { "code": server } }).to_string())?;
                command.arg("run").arg(config);
                command.args(["--transport", "http", "--port", &port, "--no-banner", "--log-level", "ERROR"]);
                command.env("FASTMCP_CHECK_FOR_UPDATES", "off");
            }
        }
        Ok(command)
    }
}

/// A peer that runs. It is stopped when it is dropped.
#[derive(Debug)]
pub struct RunningPeer {
    pub called: CalledGateway,
    _running: StoppedAtDrop,
    _folder: TempFolder,
}

#[derive(Debug)]
struct StoppedAtDrop(Child);

impl Drop for StoppedAtDrop {
    fn drop(&mut self) {
        // The peer may have ended by itself; either way it is gone afterwards.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
