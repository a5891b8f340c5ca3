//! An agent has read a secret, of which the model sees a placeholder. None of the agent's own ways to write lets it
//! overwrite the secret with the placeholder.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use infold_testkit::model::work::read_file;
use infold_testkit::model::{Decision, Received, Script, Step};
use serde_json::{Value, json};

use super::agents::{Agents, RealAgent};
use super::run::{ASKED, FINISHED, Scene};

/// One way to write: the tool, and what makes its arguments from a path and a placeholder.
type WriteWay = (&'static str, fn(&str, &str) -> Value);

/// Every way in which an agent can write a file.
fn ways(agent: RealAgent) -> Vec<WriteWay> {
    match agent {
        RealAgent::Claude => vec![
            ("Write", |path, mask| json!({"file_path": path, "content": changed(mask)})),
            ("Bash", |path, mask| json!({"command": heredoc(path, mask), "description": "Raises the level"})),
        ],
        RealAgent::Codex | RealAgent::CodexScripts => vec![
            ("exec_command", |path, mask| json!({"cmd": heredoc(path, mask)})),
            ("apply_patch", |path, mask| {
                json!(format!("*** Begin Patch\n*** Add File: {path}\n+GITHUB_TOKEN={mask}\n+LEVEL=2\n*** End Patch"))
            }),
        ],
        RealAgent::Opencode => vec![
            ("write", |path, mask| json!({"filePath": path, "content": changed(mask)})),
            ("bash", |path, mask| json!({"command": heredoc(path, mask), "description": "Raises the level"})),
        ],
    }
}

fn changed(mask: &str) -> String {
    format!("GITHUB_TOKEN={mask}\nLEVEL=2\n")
}

fn heredoc(path: &str, mask: &str) -> String {
    format!("cat > '{path}' <<'EOF'\n{}EOF", changed(mask))
}

/// Reads a secret, tries to write its placeholder in every way, and checks that the file has not changed.
pub async fn check(agents: &Agents, binary: &Path, agent: RealAgent) -> Result<()> {
    // Put together here, so that no scanner takes this file for a leak.
    let secret = format!("ghp_{}", "q7Rk2Vd9Xw4Zb8Nc3Mt6Ys1Lf5Hg0JpAeUiO".chars().take(36).collect::<String>());
    let before = format!("GITHUB_TOKEN={secret}\nLEVEL=1\n");
    let scene = Scene::start(|project| {
        let path = project.join("tokens.env").to_string_lossy().into_owned();
        let mut steps = vec![read_file(&path)];
        steps.extend(ways(agent).into_iter().map(|way| attempt(way, path.clone())));
        steps.push(Step::text(FINISHED));
        Script::new(steps)
    })
    .await?;
    let file = scene.home.project().join("tokens.env");
    std::fs::write(&file, &before)?;

    let mut arguments = agent.asking(ASKED);
    if agent == RealAgent::Claude {
        // Nothing else may stop it. The others are not stopped anyway.
        arguments.push("--dangerously-skip-permissions");
    }
    let ended = scene.run(agents, agent, binary, &[], &arguments).await?;

    ensure!(ended.stdout.contains(FINISHED), "the agent ended with {}", ended.stdout);
    ensure!(scene.model.broken().is_empty(), "rules were broken: {}", scene.model.broken().join("; "));
    let turns = scene.model.turns();
    ensure!(!turns.iter().any(|turn| turn.holds(&secret)), "the secret reached the model");
    let last = turns.last().context("the agent sent nothing")?;
    ensure!(std::fs::read_to_string(&file)? == before, "the secret was overwritten:\n{}", last.shape());
    let refused = last.shows_times("infold refused this");
    ensure!(refused == ways(agent).len(), "{refused} writes were refused:\n{}", last.shape());
    ensure!(!last.holds("[infold: your last call"), "what was refused was noted as done:\n{}", last.shape());
    Ok(())
}

/// Writes what was read, as a model does that changes one line of a file.
fn attempt((tool, input): WriteWay, path: String) -> Step {
    Step::seeing(move |received: &Received| {
        let text = String::from_utf8_lossy(&received.bytes).into_owned();
        let inner = text.split("[SECRET:").nth(1).and_then(|rest| rest.split(']').next());
        match inner {
            Some(inner) => {
                let input = input(&path, &format!("[SECRET:{inner}]"));
                Decision::Say(Step::calling_one("Raising the level.", tool.to_owned(), input))
            }
            None => Decision::Stuck("the model was not shown a placeholder".to_owned()),
        }
    })
}
