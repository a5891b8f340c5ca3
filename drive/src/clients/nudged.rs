//! What Claude Code says by itself inside a branch: after an answer that was cut off, after one that was too
//! long, and with the report of an agent that works in the background. No person said any of it: the branch
//! goes on, its work is not lost, and what was said once is in the parent afterwards.

use std::path::Path;

use anyhow::{Result, ensure};
use infold_testkit::model::work::{load_tools, open_branch};
use infold_testkit::model::{Decision, Fault, Received, Script, Step};
use serde_json::json;

use super::agents::{Agents, RealAgent};
use super::findings::RunFindings;
use super::gate::Gate;
use super::run::{ASKED, FINISHED, Scene};
use super::spoken::{WordsPlace, unbroken};
use super::steps::{fold_beside, shell, work};

/// The header by which Claude Code tells its subagents apart.
const SUBAGENT: &str = "x-claude-code-agent-id";
/// What the agent in the background reports.
const REPORT: &str = "The background agent saw three tugs.";
const BRIEF: &str = "Read what the pilot wrote.";
const FOUND: &str = "The pilot wrote nothing of use.";
const BESIDE: &str = "pilot-boat-815";
/// What the branch's first command prints.
const WORK_PRINTED: &str = "log-of-the-pilot";
const CUT: &str = "cut off mid-stream";
/// Words of the model after which an answer was cut off.
const SURVIVING: &str = "So far the pilot wrote this.";
const LIMIT: &str = "Output token limit hit";
/// How often at most the model looks whether the report has come.
const LOOKS_MAX: usize = 40;

/// Runs Claude Code once, and returns what was found.
pub async fn claude(agents: &Agents, binary: &Path, kind: WordsPlace) -> Result<RunFindings> {
    let scene = Scene::start(|_| script()).await?;
    let _gate = Gate::new(&scene.home.project(), "agent-gate").await?;
    let arguments = ["-p", ASKED, "--output-format", "json", "--dangerously-skip-permissions", "--model", kind.model()];
    let ended = scene.run(agents, RealAgent::Claude, binary, &[], &arguments).await;

    let mut findings = RunFindings::default();
    findings.add(
        "comes to its end",
        ended.and_then(|ended| {
            ensure!(ended.stdout.contains(FINISHED), "it ended with {}", ended.stdout);
            Ok(())
        }),
    );
    findings.add("breaks no rule", unbroken(&scene.model));
    let turns: Vec<Received> = scene.model.turns().into_iter().filter(|turn| turn.header(SUBAGENT).is_none()).collect();
    judge(&turns, &mut findings);
    Ok(findings)
}

fn judge(turns: &[Received], findings: &mut RunFindings) {
    let first_with = |text: &str| turns.iter().find(|turn| turn.holds(text));
    let goes_on = [BRIEF, WORK_PRINTED];
    findings.request("a branch goes on after an answer that was cut off", first_with(CUT), &goes_on, &[ASKED]);
    findings.request("a branch goes on after a call that was cut off", first_with(SURVIVING), &goes_on, &[ASKED]);
    findings.request("a branch goes on after an answer that was too long", first_with(LIMIT), &goes_on, &[ASKED]);
    findings.request("a branch hears the report of an agent in the background", first_with(REPORT), &goes_on, &[ASKED]);
    let parent = turns.iter().find(|turn| turn.holds(FOUND) && turn.holds(ASKED));
    findings.request("the parent gets the report, and not the work", parent, &[REPORT], &[WORK_PRINTED]);
    findings.request("the parent gets what was called beside the return", parent, &[BESIDE], &[]);
}

/// The scripted model's steps.
fn script() -> Script {
    let agent = json!({"description": "Look out", "prompt": "Look out for tugs.",
        "subagent_type": "general-purpose", "run_in_background": true});
    let mut steps = vec![
        Step::calling("An agent will look out.", [("Agent", agent)]),
        load_tools(),
        open_branch(&work(BRIEF)),
        // The agent in the background waits at the gate, so that its report comes while the branch works.
        shell("echo log-of-the-$(echo pilot); echo go > agent-gate"),
        Step::text("The pilot wrote that").reasoning("It is long.").fault(Fault::EndsEarly),
        shell("echo after the cut"),
        cut_in_call(),
        shell("echo after the second cut"),
        Step::text("The pilot wrote at great length").at_limit(),
    ];
    steps.extend(std::iter::repeat_with(look).take(LOOKS_MAX));
    steps.extend([fold_beside("echo pilot-boat-$(echo 815)", FOUND), Step::text(FINISHED)]);
    Script::new(steps.into_iter().map(beside_agent))
}

/// An answer that breaks off inside its call, after all of its text: Claude Code keeps the text.
fn cut_in_call() -> Step {
    Step::calling(SURVIVING, [("Bash", json!({"command": "true"}))]).reasoning("A command.").fault(Fault::EndsEarly)
}

/// Runs a small command as long as the report has not come.
fn look() -> Step {
    let small = shell("true");
    Step::seeing(move |received| if received.holds(REPORT) { Decision::Skip } else { small.decision(received) })
}

/// A step of the main loop; the agent in the background waits at its gate and gives its report.
fn beside_agent(step: Step) -> Step {
    let wait = shell("cat agent-gate");
    Step::seeing(move |received| match (received.header(SUBAGENT), received.last_result_of("Bash")) {
        (None, _) => step.decision(received),
        (Some(_), None) => wait.decision(received),
        (Some(_), Some(_)) => Decision::Say(Step::text(REPORT)),
    })
}
