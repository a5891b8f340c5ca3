//! `infold connect` with the real agents: started by their own names, they go through a daemon and fold,
//! and after `infold disconnect` their files are what they were.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use infold_testkit::DaemonSetup;
use serde_json::Value;

use super::agents::{Agents, RealAgent, ended};
use super::home::Home;
use super::run::{ASKED, FINISHED, folding};

/// Connects an agent, has it fold ten files, and disconnects it.
pub async fn check(agents: &Agents, binary: &Path, agent: RealAgent) -> Result<()> {
    let scene = folding().await?;
    // This writes the files that the person would have.
    let mut command = agents.alone(agent, &scene.home, scene.model.base_url())?;
    let files: Vec<(PathBuf, Vec<u8>)> =
        settings(agent, &scene.home).into_iter().map(prepared).collect::<Result<_>>()?;
    // The person has a provider of their own, so infold is set to forward to where requests went before.
    let (key, upstream) = match agent {
        RealAgent::Claude => ("proxy.anthropic.upstream", scene.model.base_url().to_owned()),
        RealAgent::Codex | RealAgent::CodexScripts | RealAgent::Opencode => {
            ("proxy.openai.upstream", format!("{}/v1", scene.model.base_url()))
        }
    };
    let daemon = DaemonSetup::new(binary).set(key, &upstream).start().await?;
    let listen = format!("server.listen={}", daemon.base_url().trim_start_matches("http://"));
    let upstream = format!("{key}={upstream}");
    let infold = |arguments: &[&str]| {
        let mut command = scene.home.command(binary);
        command.args(arguments).args([agent.name(), "--set", &listen, "--set", &upstream]);
        if agent == RealAgent::Claude {
            command.env("CLAUDE_CONFIG_DIR", scene.home.claude());
        }
        if agent.name() == RealAgent::Codex.name() {
            command.env("CODEX_HOME", scene.home.codex());
        }
        ended(command)
    };

    infold(&["connect"]).await?;
    // Only its own settings say where the model is.
    command.env_remove("ANTHROPIC_BASE_URL").args(agent.asking(ASKED));
    let said = ended(command).await?.stdout;
    ensure!(said.contains(FINISHED), "the agent ended with {said}");
    scene.check_turns().with_context(|| format!("the daemon said:\n{}", daemon.stderr()))?;

    infold(&["disconnect"]).await?;
    for (path, before) in files {
        let after = std::fs::read(&path)?;
        let same = after == before || (agent == RealAgent::Opencode && says_the_same(&before, &after)?);
        ensure!(same, "{} is not what it was:\n{}", path.display(), String::from_utf8_lossy(&after));
    }
    // Claude Code writes into this one while it runs, so only what is infold's can be looked for.
    let servers = std::fs::read_to_string(scene.home.claude().join(".claude.json"));
    match (agent, servers) {
        (RealAgent::Claude, Ok(text)) => ensure!(!text.contains("infold"), "infold is still in .claude.json:\n{text}"),
        (RealAgent::Claude, Err(error)) => bail!("Claude Code's file is gone: {error}"),
        (RealAgent::Codex | RealAgent::CodexScripts | RealAgent::Opencode, _) => {}
    }
    Ok(())
}

/// OpenCode writes the name of a schema into its file when it first reads it. Apart from that nothing may
/// have changed, once infold's values are taken out of the file again.
fn says_the_same(before: &[u8], after: &[u8]) -> Result<bool> {
    let (before, mut after): (Value, Value) = (serde_json::from_slice(before)?, serde_json::from_slice(after)?);
    let added = after.as_object_mut().and_then(|fields| fields.remove("$schema"));
    Ok(added.is_some() && after == before)
}

/// The files that must be what they were.
fn settings(agent: RealAgent, home: &Home) -> Vec<PathBuf> {
    match agent {
        RealAgent::Claude => vec![home.claude().join("settings.json")],
        RealAgent::Codex | RealAgent::CodexScripts => vec![home.codex().join("config.toml")],
        RealAgent::Opencode => vec![home.path().join(".config/opencode/opencode.json")],
    }
}

/// Makes the file if there is none, and remembers what is in it.
fn prepared(path: PathBuf) -> Result<(PathBuf, Vec<u8>)> {
    if !path.exists() {
        std::fs::create_dir_all(path.parent().context("a file lies in a folder")?)?;
        std::fs::write(&path, "{\n  \"env\": {\"OWN\": \"1\"}\n}\n")?;
    }
    let content = std::fs::read(&path)?;
    Ok((path, content))
}
