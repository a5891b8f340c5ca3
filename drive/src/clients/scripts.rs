//! Codex with the model that it chooses by itself: scripts call tools, infold's among them. What a branch did is
//! folded, however a script opens it.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use infold_testkit::model::work::{fold_branch, printing, read_file, run_script};
use infold_testkit::model::{Received, Script, Step};

use super::agents::{Agents, RealAgent};
use super::run::{ASKED, FINISHED, Listing, Scene, marker, name};

/// What the branch gives back.
const FOUND: &str = "Both files define harbour functions.";
/// Words that a script prints beside the answer of infold's tool.
const BESIDE: &str = "The script goes on.";
/// Code that opens a branch.
const OPEN: &str = "const opened = await tools.mcp__infold__branch_create({description: \"Read two files\"});\n";
const AGENT: RealAgent = RealAgent::CodexScripts;

/// Code that folds the branch in the variable `opened`.
fn returning() -> String {
    format!(
        "await tools.mcp__infold__branch_return({{branch_id: opened.structuredContent.branch_id, message: \"{FOUND}\"}});\n"
    )
}

/// Runs the steps to their end, and returns the turns of the branch and those of the main thread.
async fn played(
    agents: &Agents,
    binary: &Path,
    steps: impl FnOnce(&dyn Fn(usize) -> String) -> Vec<Step>,
) -> Result<(Vec<Received>, Vec<Received>)> {
    let scene = Scene::start(|project| {
        let path = |number: usize| project.join(name(number)).to_string_lossy().into_owned();
        let mut steps = steps(&path);
        steps.push(Step::text(FINISHED).reasoning("That was it."));
        Script::new(steps)
    })
    .await?;
    let ended = scene.run(agents, AGENT, binary, Listing::Deferred.flags(), &AGENT.asking(ASKED)).await?;
    ensure!(ended.stdout.contains(FINISHED), "Codex ended with {}", ended.stdout);
    ensure!(ended.stderr.contains("1 branch folded"), "nothing folded:\n{}", ended.stderr);
    scene.nothing_broken()?;
    Ok(scene.model.turns().into_iter().partition(|turn| !turn.holds(ASKED)))
}

/// Checks a branch that has read the first two files: it was shown them, and the main thread was not.
fn check(inside: &[Received], main: &[Received]) -> Result<()> {
    let last = inside.last().context("the branch sent nothing")?;
    for number in [1, 2] {
        ensure!(last.holds(&marker(number)), "the branch did not see file {number}:\n{}", last.shape());
        let left = main.iter().find(|turn| turn.holds(&marker(number)));
        ensure!(left.is_none(), "file {number} is in the main thread:\n{}", main[main.len() - 1].shape());
    }
    let end = main.last().context("the main thread sent nothing")?;
    ensure!(end.holds(FOUND), "the parent never got the result:\n{}", end.shape());
    Ok(())
}

/// A branch is opened and a file is read in one script: what that printed is the branch's.
pub async fn opens_and_reads(agents: &Agents, binary: &Path) -> Result<()> {
    let (inside, main) = played(agents, binary, |path| {
        let source = format!("{OPEN}text(opened);\n{}", printing(&path(1)));
        vec![run_script("Opening and reading.", &source), read_file(&path(2)), fold_branch(FOUND)]
    })
    .await?;
    let first = inside.first().context("the branch sent nothing")?;
    ensure!(
        first.holds("tools.mcp__infold__branch_return"),
        "the brief does not say how to return:\n{}",
        first.shape()
    );
    check(&inside, &main)
}

/// The script that opens a branch prints nothing of the answer, and the one that returns it prints something else.
pub async fn prints_nothing(agents: &Agents, binary: &Path) -> Result<()> {
    let (inside, main) = played(agents, binary, |path| {
        let open = format!("{OPEN}store(\"opened\", opened);");
        let fold = format!("const opened = load(\"opened\");\n{}text(\"{BESIDE}\");", returning());
        let work = [read_file(&path(1)), read_file(&path(2))];
        [vec![run_script("Opening.", &open)], work.to_vec(), vec![run_script("Returning.", &fold)]].concat()
    })
    .await?;
    check(&inside, &main)?;
    let end = main.last().context("the main thread sent nothing")?;
    ensure!(end.holds(BESIDE), "what was printed beside the return is lost:\n{}", end.shape());
    Ok(())
}

/// One script opens a branch, reads and returns: there is nothing to hide, and what it printed stays.
pub async fn opens_and_returns(agents: &Agents, binary: &Path) -> Result<()> {
    let (inside, main) = played(agents, binary, |path| {
        let source = format!("{OPEN}{}{}text(\"{BESIDE}\");", printing(&path(1)), returning());
        vec![run_script("All at once.", &source)]
    })
    .await?;
    ensure!(inside.is_empty(), "{} requests were sent in the branch", inside.len());
    let end = main.last().context("the main thread sent nothing")?;
    let holds = end.holds(&marker(1)) && end.holds(BESIDE) && end.holds(&format!("returned]\n{FOUND}"));
    ensure!(holds, "what the script printed is lost:\n{}", end.shape());
    Ok(())
}

/// A script yields before it opens a branch, which the model then waits for.
pub async fn waits(agents: &Agents, binary: &Path) -> Result<()> {
    let (inside, main) = played(agents, binary, |path| {
        let source = format!("yield_control();\nawait tools.exec_command({{cmd: \"sleep 1\"}});\n{OPEN}text(opened);");
        let wait = Step::calling("Waiting.", [("wait", serde_json::json!({"cell_id": "1"}))]);
        vec![run_script("Opening.", &source), wait, read_file(&path(1)), read_file(&path(2)), fold_branch(FOUND)]
    })
    .await?;
    check(&inside, &main)
}
