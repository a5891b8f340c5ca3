//! The coding agents themselves: where npm puts them, and how each is started against a scripted model
//! in a home of its own, with nothing of the person's settings and no network but loopback.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::time::timeout;

use super::home::Home;
use xtask::tools::install_agents;
use xtask::workspace::Workspace;

/// How long one run of an agent may take. The first run of a home does its own installing.
const RUN_TIMEOUT: Duration = Duration::from_secs(300);

/// How much of what an agent printed a failure shows.
const SHOWN_CHARS_MAX: usize = 2_000;

/// The key that Claude Code is given. It is as short as what Claude Code remembers of a key.
pub const CLAUDE_KEY: &str = "sk-ant-scripted-0000";

/// The model that Codex is set to. It knows this model's window, and has it call tools directly, without scripts.
const CODEX_MODEL: &str = "model = \"gpt-5.5\"\n";

/// The agents' programs, built for this machine.
#[derive(Debug)]
pub struct Agents {
    claude: PathBuf,
    codex: PathBuf,
    opencode: PathBuf,
}

impl Agents {
    /// Installs the versions that `tests-clients/agents` names.
    pub fn install(workspace: &Workspace) -> Result<Self> {
        let modules = install_agents(workspace)?;
        Ok(Self {
            claude: native(&modules.join("@anthropic-ai"), "claude-code-", "claude")?,
            codex: native(&modules.join("@openai"), "codex-", "codex")?,
            opencode: native(&modules, "opencode-", "opencode")?,
        })
    }

    /// Runs Claude Code, and returns what it printed.
    pub async fn claude(&self, home: &Home, model_url: &str, arguments: &[&str]) -> Result<String> {
        let mut command = home.command(&self.claude);
        prepare_claude(&mut command, home, model_url);
        command.args(["--output-format", "json", "--dangerously-skip-permissions"]).args(arguments);
        output(command).await
    }

    /// Runs Codex without a screen, and returns the events that it printed.
    pub async fn codex(&self, home: &Home, model_url: &str, arguments: &[&str]) -> Result<String> {
        let mut command = home.command(&self.codex);
        prepare_codex(&mut command, home, model_url, CODEX_MODEL)?;
        command.arg("exec").args(arguments);
        output(command).await
    }

    /// Runs OpenCode, and returns what it printed. `environment` reaches its plugins.
    pub async fn opencode(
        &self,
        home: &Home,
        model_url: &str,
        environment: &[(&str, &str)],
        arguments: &[&str],
    ) -> Result<String> {
        let mut command = self.opencode_command(home, model_url)?;
        command.envs(environment.iter().copied()).args(arguments);
        output(command).await
    }

    /// Has OpenCode write a session into a file.
    pub async fn opencode_export(&self, home: &Home, model_url: &str, session: &str, file: &Path) -> Result<()> {
        let mut command = self.opencode_command(home, model_url)?;
        command.args(["export", session]).stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
        // Into a pipe the export would be cut short.
        command.stdout(std::fs::File::create(file)?);
        let status = timeout(RUN_TIMEOUT, command.status()).await.context("opencode export did not end")??;
        if !status.success() {
            bail!("opencode export failed ({status})");
        }
        Ok(())
    }

    fn opencode_command(&self, home: &Home, model_url: &str) -> Result<Command> {
        let mut command = home.command(&self.opencode);
        prepare_opencode(&mut command, home, model_url)?;
        Ok(command)
    }

    /// The command that starts the agent itself, with its environment and files prepared.
    pub fn alone(&self, agent: RealAgent, home: &Home, model_url: &str) -> Result<Command> {
        let program = match agent {
            RealAgent::Claude => &self.claude,
            RealAgent::Codex | RealAgent::CodexScripts => &self.codex,
            RealAgent::Opencode => &self.opencode,
        };
        self.around(agent, program, home, model_url)
    }

    /// A command for another program that will start this agent: it finds it on its path, and all is prepared for it.
    pub fn around(&self, agent: RealAgent, program: &Path, home: &Home, model_url: &str) -> Result<Command> {
        let mut command = home.command(program);
        let file = match agent {
            RealAgent::Claude => {
                prepare_claude(&mut command, home, model_url);
                &self.claude
            }
            RealAgent::Codex => {
                prepare_codex(&mut command, home, model_url, CODEX_MODEL)?;
                &self.codex
            }
            RealAgent::CodexScripts => {
                prepare_codex(&mut command, home, model_url, "")?;
                &self.codex
            }
            RealAgent::Opencode => {
                prepare_opencode(&mut command, home, model_url)?;
                &self.opencode
            }
        };
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = file.parent().map(Path::to_path_buf).into_iter().chain(std::env::split_paths(&path));
        command.env("PATH", std::env::join_paths(folders)?);
        Ok(command)
    }
}

/// A coding agent, in the way it is set up here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RealAgent {
    Claude,
    /// Codex with the model that is set for it, which calls tools directly.
    Codex,
    /// Codex with the model that it chooses by itself, which calls tools from scripts.
    CodexScripts,
    Opencode,
}

impl RealAgent {
    /// The name of its program, as a person types it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex | Self::CodexScripts => "codex",
            Self::Opencode => "opencode",
        }
    }

    /// The arguments with which it answers `words` without a screen. Tools that only read are allowed here; infold
    /// takes care of the permission for its own.
    pub fn asking(self, words: &str) -> Vec<&str> {
        match self {
            Self::Claude => vec!["-p", words, "--output-format", "json", "--allowedTools", "Read,Agent"],
            Self::Codex | Self::CodexScripts => vec!["exec", "--json", "--skip-git-repo-check", words],
            Self::Opencode => vec!["run", "--format", "json", words],
        }
    }

    /// The arguments with which it continues its last session with `words`.
    pub fn going_on(self, words: &str) -> Vec<&str> {
        match self {
            Self::Claude => [self.asking(words), vec!["--continue"]].concat(),
            Self::Codex | Self::CodexScripts => {
                vec!["exec", "resume", "--last", "--json", "--skip-git-repo-check", words]
            }
            Self::Opencode => vec!["run", "--format", "json", "--continue", words],
        }
    }
}

fn prepare_claude(command: &mut Command, home: &Home, model_url: &str) {
    command
        .env("CLAUDE_CONFIG_DIR", home.claude())
        .env("ANTHROPIC_BASE_URL", model_url)
        .env("ANTHROPIC_API_KEY", CLAUDE_KEY)
        .envs(["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_AUTOUPDATER"].map(|name| (name, "1")))
        .envs(["DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING", "IS_SANDBOX"].map(|name| (name, "1")));
}

fn prepare_codex(command: &mut Command, home: &Home, model_url: &str, model: &str) -> Result<()> {
    let config = format!(
        "{model}model_provider = \"local\"\napproval_policy = \"never\"\n\
         sandbox_mode = \"danger-full-access\"\ncheck_for_update_on_startup = false\n\
         [features]\nplugins = false\napps = false\n\
         [model_providers.local]\nname = \"local\"\nbase_url = \"{model_url}/v1\"\n\
         env_key = \"LOCAL_KEY\"\nwire_api = \"responses\"\n"
    );
    std::fs::create_dir_all(home.codex())?;
    std::fs::write(home.codex().join("config.toml"), config)?;
    command.env("CODEX_HOME", home.codex()).env("LOCAL_KEY", "scripted");
    Ok(())
}

fn prepare_opencode(command: &mut Command, home: &Home, model_url: &str) -> Result<()> {
    let folder = home.path().join(".config/opencode");
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("opencode.json"), opencode_config(model_url).to_string())?;
    // OpenCode installs the types for plugins beside them. They are not needed to run one.
    command.env("NPM_CONFIG_OFFLINE", "true");
    command.envs(["OPENCODE_DISABLE_AUTOUPDATE", "OPENCODE_DISABLE_MODELS_FETCH"].map(|name| (name, "1")));
    Ok(())
}

fn opencode_config(model_url: &str) -> Value {
    let scripted = json!({
        "name": "scripted",
        "tool_call": true,
        "attachment": true,
        "modalities": {"input": ["text", "image"], "output": ["text"]},
        "limit": {"context": 200_000, "output": 8_000},
    });
    json!({
        "model": "local/scripted",
        "small_model": "local/scripted",
        "autoupdate": false,
        "permission": "allow",
        "compaction": {"auto": true, "prune": true},
        "provider": {"local": {
            "npm": "@ai-sdk/openai-compatible",
            "name": "local",
            "options": {"baseURL": format!("{model_url}/v1"), "apiKey": "scripted"},
            "models": {"scripted": scripted},
        }},
    })
}

/// The program in the package for this machine. npm may install more than one kind; the first that
/// runs is taken, plain names before special ones.
fn native(folder: &Path, package: &str, program: &str) -> Result<PathBuf> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut packages: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    packages.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(package)));
    packages.sort_by_key(|path| path.as_os_str().len());
    let found = packages.iter().filter_map(|package| find(package, program)).find(|program| runs(program));
    found.with_context(|| format!("npm installed no {program} that runs on this machine"))
}

/// Finds an executable of this name below a folder.
fn find(folder: &Path, program: &str) -> Option<PathBuf> {
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).ok()?.flatten() {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(path),
                Ok(_) if entry.file_name() == program => return Some(path),
                Ok(_) | Err(_) => {}
            }
        }
    }
    None
}

fn runs(program: &Path) -> bool {
    let mut command = std::process::Command::new(program);
    let status = command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// Runs a command to its end and returns its standard output; an error if the command failed.
async fn output(command: Command) -> Result<String> {
    ended(command).await.map(|ended| ended.stdout)
}

/// What a command that succeeded has printed.
pub struct AgentEnded {
    pub stdout: String,
    pub stderr: String,
}

/// Runs a command to its end; an error if it failed or took too long.
pub async fn ended(mut command: Command) -> Result<AgentEnded> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let program = command.as_std().get_program().to_string_lossy().into_owned();
    let ran = timeout(RUN_TIMEOUT, command.output()).await;
    let ran = ran.with_context(|| format!("{program} did not end within {RUN_TIMEOUT:?}"))?;
    let ran = ran.with_context(|| format!("cannot run {program}"))?;
    let stdout = String::from_utf8_lossy(&ran.stdout).into_owned();
    let stderr = String::from_utf8_lossy(&ran.stderr).into_owned();
    if !ran.status.success() {
        bail!("{program} failed ({}):\n{}\n{}", ran.status, shortened(&stdout), shortened(&stderr));
    }
    Ok(AgentEnded { stdout, stderr })
}

fn shortened(text: &str) -> String {
    let skipped = text.chars().count().saturating_sub(SHOWN_CHARS_MAX);
    text.chars().skip(skipped).collect()
}
