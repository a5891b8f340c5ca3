//! Agents that are checked on request only, because they are large: goose and Qwen Code, unchanged, through
//! `infold run`. A branch is opened, ten files are read in it, it is folded, and the work goes on.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use infold_testkit::model::work::read_file;
use infold_testkit::model::{Decision, Received, Script, Step};
use serde_json::{Value, json};
use tokio::process::Command;

use super::agents::{AgentEnded, ended};
use super::checks::Checks;
use super::run::{ASKED, FILES_READ, FINISHED, FOUND, Scene, folding, name};
use xtask::report::{Report, Totals};
use xtask::tools::install_packages;
use xtask::workspace::Workspace;

/// The folder `node_modules` that npm has installed the agents into.
struct Installed {
    modules: PathBuf,
}

/// Runs the checks whose names hold `only`.
pub fn stage(workspace: &Workspace, only: &str, binary: &Path, report: &mut Report) {
    let from = workspace.root.join("tests-clients/more-agents");
    match install_packages(workspace, &from, "more-agents") {
        Ok(modules) => report.stage("more agents", || check(only, &Installed { modules }, binary)),
        Err(error) => report.skip("more agents", &format!("{error:#}")),
    }
}

fn check(only: &str, installed: &Installed, binary: &Path) -> Result<Totals> {
    let mut checks = Checks::wanted(only);
    checks.add("goose folds ten files through infold run", goose(installed, binary));
    checks.add("Qwen Code folds ten files through infold run", qwen(installed, binary));
    checks.run()
}

impl Installed {
    /// The command `infold run` with an agent on its path: a script of the agent's name that runs `starts`.
    fn around(&self, scene: &Scene, binary: &Path, agent: &str, starts: &str) -> Result<Command> {
        let folder = scene.home.path().join("bin");
        std::fs::create_dir_all(&folder)?;
        let script = folder.join(agent);
        std::fs::write(&script, format!("#!/bin/sh\nexec {starts} \"$@\"\n"))?;
        std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = [folder].into_iter().chain(std::env::split_paths(&path));
        let mut command = scene.home.command(binary);
        command.env("PATH", std::env::join_paths(folders)?).env("OPENAI_API_KEY", "scripted");
        Ok(command)
    }
}

async fn goose(installed: &Installed, binary: &Path) -> Result<()> {
    let scene = folding().await?;
    let program = installed.modules.join(".bin/goose");
    let mut command = installed.around(&scene, binary, "goose", &format!("'{}'", program.display()))?;
    let variables = [("GOOSE_PROVIDER", "openai"), ("GOOSE_MODEL", "scripted"), ("GOOSE_DISABLE_KEYRING", "1")];
    command.envs(variables).env("OPENAI_HOST", scene.model.base_url());
    command.args(["run", "goose", "run", "--quiet", "--text", ASKED]);
    folded(&scene, command).await
}

async fn qwen(installed: &Installed, binary: &Path) -> Result<()> {
    let scene = Scene::start(|project| Script::new(wrapped(project))).await?;
    let node = installed.modules.join("node/bin/node");
    let program = installed.modules.join("@qwen-code/qwen-code/cli-entry.js");
    let starts = format!("'{}' '{}'", node.display(), program.display());
    let mut command = installed.around(&scene, binary, "qwen", &starts)?;
    command.env("OPENAI_BASE_URL", format!("{}/v1", scene.model.base_url())).env("OPENAI_MODEL", "scripted");
    command.args(["run", "qwen", "--auth-type", "openai", "--yolo", ASKED]);
    folded(&scene, command).await
}

/// Runs the agent to its end, and checks what the model was sent.
async fn folded(scene: &Scene, command: Command) -> Result<()> {
    let outcome: Result<AgentEnded> = ended(command).await;
    let ended = outcome.with_context(|| format!("what the model was shown last:\n{}", scene.last_shape()))?;
    scene.check(&ended)?;
    Ok(())
}

/// The scripted model's steps for a client that hides other servers' tools behind a search, and calls them through a
/// tool of its own.
fn wrapped(project: &Path) -> Vec<Step> {
    let path = |number: usize| project.join(name(number)).to_string_lossy().into_owned();
    let query = json!({"query": "select:mcp__infold__branch_create,mcp__infold__branch_return", "max_results": 8});
    let mut steps = vec![read_file(&path(FILES_READ + 1))];
    steps.push(Step::calling_one("I need the tools for branches.", "tool_search".to_owned(), query));
    steps.push(Step::seeing(|received| {
        let arguments = json!({"description": "Read the ten files", "prompt": "Read every file."});
        through_tool_call(received, "branch_create", &arguments)
    }));
    steps.extend((1..=FILES_READ).map(|number| read_file(&path(number))));
    steps.push(Step::seeing(|received| match received.own_branch() {
        Some(branch) => through_tool_call(received, "branch_return", &json!({"branch_id": branch, "message": FOUND})),
        None => Decision::Stuck("nothing in the request names a branch to fold".to_owned()),
    }));
    steps.push(read_file(&path(FILES_READ + 2)));
    steps.push(Step::text(FINISHED));
    steps
}

/// Calls one of infold's tools, if the request shows that it can be.
fn through_tool_call(received: &Received, tool: &str, arguments: &Value) -> Decision {
    let tool = format!("mcp__infold__{tool}");
    if !received.holds(&tool) {
        return Decision::Stuck(format!("the model cannot know of {tool}"));
    }
    let input = json!({"name": tool, "arguments": arguments});
    Decision::Say(Step::calling_one("A tool of infold is next.", "tool_call".to_owned(), input))
}
