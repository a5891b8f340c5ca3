//! The recipe for OpenCode, with the real OpenCode and the real daemon: what the child is sent holds what
//! the parent had found out, and the parent gets the child's answer.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use infold_testkit::model::{Model, Received, Script, Step};
use serde_json::json;

use super::agents::Agents;
use super::home::Home;
use xtask::workspace::Workspace;

/// What the parent finds out by a command, and the child could not know otherwise.
const FACT: &str = "the harbour has 5417 berths";

/// What the child is asked.
const QUESTION: &str = "How many berths does the harbour have? Answer with the number alone.";

/// What the child answers.
const ANSWER: &str = "The number is 5417.";

/// The words with which infold begins a child's prompt.
const PREAMBLE: &str = "You are working with forked context from a parent agent session.";

/// Forks a session of OpenCode with the files of the recipe, and checks both sides.
pub async fn check(agents: &Agents, workspace: &Workspace, daemon_url: &str) -> Result<()> {
    let home = Home::new()?;
    copy_recipe(&workspace.root.join("recipes/opencode"), &home.project().join(".opencode"))?;
    let find = ("bash", json!({"command": format!("echo {FACT}"), "description": "Ask the harbour"}));
    let fork = ("infold_fork", json!({"prompt": QUESTION}));
    let steps =
        [Step::calling("Asking.", [find]), Step::calling("Forking.", [fork]), Step::text("The child knows it.")];
    let model = Model::start(Script::new(steps).aside(PREAMBLE, Step::text(ANSWER))).await?;

    let environment = [("INFOLD_LISTEN", daemon_url.trim_start_matches("http://"))];
    let runs: [&[&str]; 2] = [&["Find out about the harbour."], &["--continue", "--command", "fork", QUESTION]];
    for run in runs {
        let arguments = [&["run", "--format", "json"], run].concat();
        agents.opencode(&home, model.base_url(), &environment, &arguments).await?;
    }

    ensure!(model.broken().is_empty(), "rules were broken: {}", model.broken().join("; "));
    let turns = model.turns();
    let parent = turns.first().context("OpenCode sent nothing")?.session.clone();
    let child = turns.iter().find(|turn| turn.session != parent).context("no child session sent a request")?;
    check_child(child, &parent)?;
    let last = turns.iter().rfind(|turn| turn.session == parent).context("the parent fell silent")?;
    ensure!(last.holds("Call the tool `infold_fork` once"), "the command did not reach the parent");
    ensure!(last.holds(ANSWER), "the parent did not get the child's answer");
    ensure!(!last.holds(PREAMBLE), "the child's context leaked into its parent");
    Ok(())
}

/// Checks that the child's first request holds what the parent knew.
fn check_child(child: &Received, parent: &str) -> Result<()> {
    for wanted in [PREAMBLE, FACT, QUESTION] {
        ensure!(child.holds(wanted), "the child was not sent {wanted:?}");
    }
    let named = child.header("x-parent-session-id");
    ensure!(named == Some(parent), "the child names {named:?} as its parent, not {parent}");
    Ok(())
}

/// Copies the files as the document says.
fn copy_recipe(from: &Path, to: &Path) -> Result<()> {
    for file in ["plugin/infold-fork.js", "command/fork.md"] {
        let target = to.join(file);
        std::fs::create_dir_all(target.parent().context("a file lies in a folder")?)?;
        std::fs::copy(from.join(file), &target).with_context(|| format!("cannot copy {file}"))?;
    }
    Ok(())
}
