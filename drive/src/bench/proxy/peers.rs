//! Other proxies, from the Python registry: installed into a folder that is not committed, started on a free
//! port with the measuring provider behind them.
//!
//! What would reach out by itself is switched off: telemetry, price lists, models to be downloaded. That makes
//! them cheaper, never dearer.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use infold_testkit::TempFolder;

use super::load::{LoadWay, Target};
use super::talk::Talk;
use crate::bench::process::Process;
use crate::bench::python::PythonProgram;
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

    fn python(self) -> PythonProgram {
        match self {
            Self::LiteLlm => PythonProgram { package: "litellm[proxy]==1.106.2", program: "litellm" },
            Self::Headroom => PythonProgram { package: "headroom-ai[proxy]==0.41.0", program: "headroom" },
        }
    }

    /// Starts the peer in front of a provider, and waits until it passes a request on.
    pub async fn start(self, workspace: &Workspace, provider: &str) -> Result<Running> {
        let program = self.python().install(workspace)?;
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
