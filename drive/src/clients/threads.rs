//! Harder work with the real agents, through `infold run`: several branches opened in one message, and a
//! branch inside a subagent.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use infold_testkit::model::work::{Work, fold_branch, load_tools, open_branch, read_file};
use infold_testkit::model::{Call, Decision, Received, Script, Step};
use serde_json::json;

use super::agents::{Agents, RealAgent};
use super::run::{ASKED, FINISHED, GO_ON, LINES, Scene, WENT_ON, marker, name};

/// Branches that are opened at once.
const AT_ONCE: usize = 3;
/// The header by which Claude Code distinguishes its subagents.
const SUBAGENT: &str = "x-claude-code-agent-id";

/// Three branches are opened in one message. They run one after another, none sees the others' work, and
/// the parent goes on with three messages.
pub async fn at_once(agents: &Agents, binary: &Path, agent: RealAgent) -> Result<()> {
    let scene = Scene::start(|project| {
        let path = |number: usize| project.join(name(number)).to_string_lossy().into_owned();
        let mut steps = vec![load_tools(), Step::seeing(open_all)];
        for number in 1..=AT_ONCE {
            steps.extend([read_file(&path(number)), fold_branch(&found(number))]);
        }
        steps.push(Step::text(FINISHED));
        Script::new(steps)
    })
    .await?;
    let ended = scene.run(agents, agent, binary, &[], &agent.asking(ASKED)).await?;

    ensure!(ended.stdout.contains(FINISHED), "the agent ended with {}", ended.stdout);
    scene.nothing_broken()?;
    let turns = scene.model.turns();
    let (main, branches): (Vec<&Received>, Vec<&Received>) = turns.iter().partition(|turn| turn.holds(ASKED));
    ensure!(branches.len() == 2 * AT_ONCE, "the branches sent {} requests", branches.len());
    for (turn, number) in branches.iter().zip((1..=AT_ONCE).flat_map(|number| [number, number])) {
        let foreign = (1..=AT_ONCE).find(|other| *other != number && turn.holds(&marker(*other)));
        ensure!(foreign.is_none(), "branch {number} saw the work of {foreign:?}:\n{}", turn.shape());
    }
    let end = main.last().context("the main thread sent nothing")?;
    for number in 1..=AT_ONCE {
        ensure!(end.holds(&found(number)), "the message of branch {number} is lost:\n{}", end.shape());
        ensure!(!end.holds(&marker(number)), "the work of branch {number} is still there:\n{}", end.shape());
    }
    Ok(())
}

/// The model stops with its branch open, and the user asks something else in a second run: that is answered
/// on the parent, which is shown how far the branch had come.
pub async fn left(agents: &Agents, binary: &Path, agent: RealAgent) -> Result<()> {
    let scene = Scene::start(|project| {
        let path = |number: usize| project.join(name(number)).to_string_lossy().into_owned();
        let work = Work::reading("Read one file", [path(1)], "");
        let steps = [load_tools(), open_branch(&work), read_file(&path(1)), Step::text(FINISHED), read_file(&path(2))];
        Script::new(steps).then([Step::text(WENT_ON)])
    })
    .await?;
    let ended = scene.run(agents, agent, binary, &[], &agent.asking(ASKED)).await?;
    ensure!(ended.stdout.contains(FINISHED), "the agent ended with {}", ended.stdout);
    let again = scene.run(agents, agent, binary, &[], &agent.going_on(GO_ON)).await?;
    ensure!(again.stdout.contains(WENT_ON), "the agent went on with {}", again.stdout);

    scene.nothing_broken()?;
    let turns = scene.model.turns();
    let after: Vec<&Received> = turns.iter().filter(|turn| turn.holds(GO_ON)).collect();
    ensure!(after.len() == 2, "{} requests hold the user's words", after.len());
    for turn in after {
        ensure!(turn.holds(ASKED), "the user was not answered on the parent:\n{}", turn.shape());
        // The partial result shows where the branch was, and so the beginning of what it read last.
        let end = format!("{}_{LINES}(", marker(1));
        ensure!(!turn.holds(&end), "the branch's work is in the parent:\n{}", turn.shape());
        ensure!(turn.holds("was cut short"), "the parent is not shown the branch:\n{}", turn.shape());
    }
    Ok(())
}

/// A subagent of Claude Code opens a branch of its own, which nobody else notices.
pub async fn in_a_subagent(agents: &Agents, binary: &Path) -> Result<()> {
    let scene = Scene::start(|project| {
        let path = project.join(name(1)).to_string_lossy().into_owned();
        let work = Work::reading("Read one file", [path.clone()], &found(1));
        let inside =
            [load_tools(), open_branch(&work), read_file(&path), fold_branch(&found(1)), Step::text("It is done.")];
        let input = json!({"description": "Look closer", "prompt": "Look closer at the first file.",
            "subagent_type": "general-purpose", "run_in_background": false});
        let outside = [Step::calling("A subagent will look.", [("Agent", input)]), Step::text(FINISHED)];
        Script::new(by_agent(inside.to_vec(), outside.to_vec()))
    })
    .await?;
    let ended = scene.run(agents, RealAgent::Claude, binary, &[], &RealAgent::Claude.asking(ASKED)).await?;

    ensure!(ended.stdout.contains(FINISHED), "Claude Code ended with {}", ended.stdout);
    scene.nothing_broken()?;
    let turns = scene.model.turns();
    let (inside, outside): (Vec<&Received>, Vec<&Received>) =
        turns.iter().partition(|turn| turn.header(SUBAGENT).is_some());
    ensure!(inside.iter().any(|turn| turn.holds(&marker(1))), "the subagent's branch did not read the file");
    let last = inside.last().context("no subagent was started")?;
    ensure!(last.holds(&found(1)) && !last.holds(&marker(1)), "the subagent's branch is not folded:\n{}", last.shape());
    ensure!(outside.iter().all(|turn| !turn.holds(&marker(1))), "the main thread saw the subagent's work");
    ensure!(outside.len() == 2, "the main thread sent {} requests", outside.len());
    Ok(())
}

/// What a branch gives back.
fn found(number: usize) -> String {
    format!("File {number} has thirty functions, and the last of them matters.")
}

/// Opens all branches in one message.
fn open_all(received: &Received) -> Decision {
    let Some(tool) = received.spelled("branch_create") else {
        return Decision::Stuck("branch_create is not within reach".to_owned());
    };
    let open = |number: usize| Call {
        tool: tool.clone(),
        input: json!({"session_id": "scripted", "description": format!("Read file {number}")}),
    };
    let mut opening = Step::text("Three things at once.").reasoning("They do not depend on each other.");
    opening.calls = (1..=AT_ONCE).map(open).collect();
    Decision::Say(opening)
}

/// Steps of which a subagent plays its own and the main loop its own, each in its own order.
fn by_agent(inside: Vec<Step>, outside: Vec<Step>) -> Vec<Step> {
    let over = || Step::text("There is nothing left to say.");
    let count = inside.len().max(outside.len());
    let steps = (0..count).map(|at| {
        let inside = inside.get(at).cloned().unwrap_or_else(over);
        let outside = outside.get(at).cloned().unwrap_or_else(over);
        Step::seeing(move |received| match received.header(SUBAGENT) {
            Some(_) => inside.decision(received),
            None => outside.decision(received),
        })
    });
    steps.collect()
}
