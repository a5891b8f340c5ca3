//! Other proxies, from the Python registry: installed into a folder that is not committed, started on a free
//! port with the measuring provider behind them.
//!
//! What would reach out by itself is switched off: telemetry, price lists, models to be downloaded. That makes
//! them cheaper, never dearer.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use infold_testkit::TempFolder;

use super::load::{LoadWay, Target};
use super::talk::Talk;
use crate::bench::process::Process;
use xtask::workspace::Workspace;

/// How long a peer may take until it answers.
const READY_SECONDS_MAX: u32 = 120;

/// Another project's proxy that infold is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    LiteLlm,
    Headroom,
}

impl Peer {
    pub const ALL: [Self; 2] = [Self::LiteLlm, Self::Headroom];

    pub fn name(self) -> &'static str {
        match self {
            Self::LiteLlm => "LiteLLM 1.106.2",
            Self::Headroom => "Headroom 0.41.0",
        }
    }

    fn package(self) -> &'static str {
        match self {
            Self::LiteLlm => "litellm[proxy]==1.106.2",
            Self::Headroom => "headroom-ai[proxy]==0.41.0",
        }
    }

    fn program(self) -> &'static str {
        match self {
            Self::LiteLlm => "litellm",
            Self::Headroom => "headroom",
        }
    }

    /// Installs the peer, if it is not there. Each has a folder of its own: they need different versions of the same
    /// packages.
    fn install(self, workspace: &Workspace) -> Result<PathBuf> {
        let folder = workspace.tools().join("bench").join(self.program());
        let program = folder.join("bin").join(self.program());
        if program.exists() {
            return Ok(program);
        }
        fs::create_dir_all(&folder)?;
        quietly(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        quietly(Command::new(folder.join("bin/pip")).args(["install", "--quiet", self.package()]))?;
        Ok(program)
    }

    /// Starts the peer in front of a provider, and waits until it passes a request on.
    pub async fn start(self, workspace: &Workspace, provider: &str) -> Result<Running> {
        let program = self.install(workspace)?;
        let folder = TempFolder::new()?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut command = self.command(&program, folder.path(), port, provider)?;
        let log = File::create(folder.path().join("log"))?;
        command.env("HOME", folder.path()).current_dir(folder.path());
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let child = command.spawn().with_context(|| format!("cannot start {}", program.display()))?;
        let url = format!("http://127.0.0.1:{port}/v1/messages");
        let running = Running { child, url, folder };
        running.ready().await?;
        Ok(running)
    }

    fn command(self, program: &Path, folder: &Path, port: u16, provider: &str) -> Result<Command> {
        let mut command = Command::new(program);
        let port = port.to_string();
        match self {
            Self::LiteLlm => {
                let config = folder.join("config.yaml");
                let text = format!(
                    "model_list:\n  - model_name: claude-sonnet-4-5\n    litellm_params:\n      model: anthropic/claude-sonnet-4-5\n      api_base: {provider}\n      api_key: sk-measured\n"
                );
                fs::write(&config, text)?;
                command.arg("--config").arg(config).args([
                    "--host",
                    "127.0.0.1",
                    "--port",
                    &port,
                    "--telemetry",
                    "False",
                ]);
                command.env("LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY", "true");
                command.env("LITELLM_LOCAL_MODEL_COST_MAP", "True");
            }
            Self::Headroom => {
                command.args(["proxy", "--host", "127.0.0.1", "--port", &port, "--anthropic-api-url", provider]);
                command.args(["--no-rate-limit", "--no-subscription-tracking", "--stateless"]);
                command.envs([("DO_NOT_TRACK", "1"), ("HEADROOM_BEACON", "off"), ("HF_HUB_OFFLINE", "1")]);
            }
        }
        Ok(command)
    }
}

fn quietly(command: &mut Command) -> Result<()> {
    let output = command.output().with_context(|| format!("cannot run {}", xtask::workspace::shown(command)))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{}: {}", xtask::workspace::shown(command), said.lines().last().unwrap_or_default());
    }
    Ok(())
}

/// A peer that runs. It is stopped when it is dropped.
#[derive(Debug)]
pub struct Running {
    child: Child,
    url: String,
    folder: TempFolder,
}

impl Running {
    pub fn target(&self) -> Target {
        Target { url: self.url.clone(), process: Some(Process(self.child.id())) }
    }

    async fn ready(&self) -> Result<()> {
        let way = LoadWay::new(&self.target())?;
        let talk = Talk::of_bytes("ready".to_owned(), 0);
        for _ in 0..READY_SECONDS_MAX {
            if way.send(&talk).await.is_ok() {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        let log = fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
        bail!("it did not answer within {READY_SECONDS_MAX} s: {}", log.lines().last().unwrap_or_default())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The peer may have ended by itself; either way it is gone afterwards.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
