//! Codex calls something else in the message in which it folds a branch: what that gave reaches the parent.

use std::path::Path;

use anyhow::{Result, ensure};
use infold_testkit::model::work::{load_tools, open_branch};
use infold_testkit::model::{Received, Script, Step};

use super::agents::{Agents, RealAgent};
use super::findings::RunFindings;
use super::run::{ASKED, FINISHED, Scene};
use super::spoken::unbroken;
use super::steps::{fold_beside, shell, work};

const BRIEF: &str = "Read the names on the moorings.";
const FOUND: &str = "The moorings have no names.";
const BESIDE: &str = "mooring-line-52";
/// What the branch's command prints.
const WORK_PRINTED: &str = "ropes-of-the-mooring";

/// Runs Codex once, and returns what was found.
pub async fn codex(agents: &Agents, binary: &Path) -> Result<RunFindings> {
    let scene = Scene::start(|_| script()).await?;
    let ended = scene.run(agents, RealAgent::Codex, binary, &[], &RealAgent::Codex.asking(ASKED)).await;

    let mut findings = RunFindings::default();
    let said = ended.and_then(|ended| {
        ensure!(ended.stdout.contains(FINISHED), "it ended with {}", ended.stdout);
        Ok(())
    });
    findings.add("comes to its end", said);
    findings.add("breaks no rule", unbroken(&scene.model));
    let turns = scene.model.turns();
    let inside: Option<&Received> = turns.iter().find(|turn| turn.holds(WORK_PRINTED));
    findings.request("the branch does its work", inside, &[BRIEF], &[ASKED]);
    let parent = turns.iter().find(|turn| turn.holds(FOUND) && turn.holds(ASKED));
    findings.request("the parent gets what was called beside the return", parent, &[BESIDE], &[WORK_PRINTED]);
    Ok(findings)
}

/// The scripted model's steps: it opens a branch, works, and returns with a command beside the return.
fn script() -> Script {
    Script::new([
        load_tools(),
        open_branch(&work(BRIEF)),
        shell("echo ropes-of-the-$(echo mooring)"),
        fold_beside("echo mooring-line-$(echo 52)", FOUND),
        Step::text(FINISHED),
    ])
}
