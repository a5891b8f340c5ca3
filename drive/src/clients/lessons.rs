//! A lesson of one session in another, with the real agents through `infold run`: a branch returns with a lesson, the
//! daemon ends, and a branch that another session opens for the same matter is shown it. Behind the branch the model asks
//! for space, in the same run.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use infold_testkit::model::work::{Work, load_tools, open_branch, read_file};
use infold_testkit::model::{Decision, Received, Script, Step};
use serde_json::json;

use super::agents::{Agents, RealAgent};
use super::findings::RunFindings;
use super::run::{ASKED, FINISHED, GO_ON, Scene, name};
use super::space;

/// What the first session's branch has learnt.
const LESSON: &str = "The harbour files are generated: change harbour.tmpl and run `just harbour`, never the files.";
/// What the branches of both sessions are for.
const MATTER: &str = "Change the functions of the harbour files";
/// What the branches give back.
const FOUND: &str = "They are made from a template.";

/// Has an agent learn in one session, and look at what another one is shown.
pub async fn check(agents: &Agents, binary: &Path, agent: RealAgent) -> Result<RunFindings> {
    // Every session plays the script from its beginning, so both do the same.
    let scene = Scene::start(|project| {
        let path = |number: usize| project.join(name(number)).to_string_lossy().into_owned();
        let work = Work::reading(MATTER, [], "");
        let branch = [load_tools(), open_branch(&work), read_file(&path(1)), fold_teaching()];
        let space = space::steps(project).unwrap_or_default();
        Script::new(branch).then([read_file(&path(2))]).then(space).then([Step::text(FINISHED)])
    })
    .await?;
    let ended = scene.run(agents, agent, binary, &[], &agent.asking(ASKED)).await?;
    ensure!(ended.stdout.contains(FINISHED), "the first session ended with {}", ended.stdout);
    let turns_before = scene.model.turns().len();
    let again = scene.run(agents, agent, binary, &[], &agent.asking(GO_ON)).await?;
    ensure!(again.stdout.contains(FINISHED), "the second session ended with {}", again.stdout);
    scene.nothing_broken()?;

    let turns = scene.model.turns().split_off(turns_before);
    let (main, branch): (Vec<&Received>, Vec<&Received>) = turns.iter().partition(|turn| turn.holds(GO_ON));
    let mut findings = RunFindings::default();
    findings.add("the next session's branch has the note in each request, once", shown_once(&branch));
    let after = main.iter().position(|turn| turn.holds(FOUND));
    let lacks = |turn: &&Received| !turn.holds(LESSON);
    let kept_apart = || {
        let after = after.context("the parent never got the branch's message")?;
        ensure!(main.len() > after + 1, "the parent sent no request behind the one with the message");
        ensure!(main.iter().all(lacks), "the parent was shown the note");
        Ok(())
    };
    findings.add("its parent has it in none", kept_apart());
    findings.add("its parent goes on with space that it asked for", space::check(&main));
    findings.add("infold says so at the end", said(&ended.stderr, &again.stderr));
    Ok(findings)
}

fn shown_once(branch: &[&Received]) -> Result<()> {
    ensure!(branch.len() == 2, "the branch sent {} requests", branch.len());
    for turn in branch {
        let times = turn.body.to_string().matches(LESSON).count();
        ensure!(times == 1, "the note is there {times} times:\n{}", turn.shape());
        ensure!(turn.holds("| mem_"), "the note is not quoted:\n{}", turn.shape());
    }
    Ok(())
}

fn said(first: &str, second: &str) -> Result<()> {
    ensure!(first.contains("1 lesson learnt"), "after the first session: {first}");
    ensure!(second.contains("1 memory given to 1 branch"), "after the second session: {second}");
    Ok(())
}

/// Folds the branch that the model works in, with a lesson.
fn fold_teaching() -> Step {
    Step::seeing(|received| {
        let (Some(branch), Some(tool)) = (received.own_branch(), received.spelled("branch_return")) else {
            return Decision::Stuck("no branch to fold, or no tool to fold it with".to_owned());
        };
        let lessons = json!([{"title": "The harbour files are generated", "lesson": LESSON}]);
        let input = json!({"branch_id": branch, "message": FOUND, "lessons": lessons});
        Decision::Say(Step::calling_one("That is what I found.", tool, input).reasoning("Worth keeping."))
    })
}
