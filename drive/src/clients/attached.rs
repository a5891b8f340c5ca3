//! What OpenCode adds by itself: the image that a tool gave, the rules of a folder, and the request in which it
//! has the session summarised, which holds the transcript as text.

use std::path::Path;

use anyhow::{Result, ensure};
use infold_testkit::model::work::{load_tools, open_branch, read_file};
use infold_testkit::model::{Decision, Received, Script, Step};

use super::agents::{Agents, RealAgent};
use super::findings::RunFindings;
use super::run::{ASKED, FINISHED, Scene};
use super::spoken::{secret, unbroken};
use super::steps::{fold_beside, shell, work};

const BRIEF: &str = "Look at the picture of the pier.";
const FOUND: &str = "The pier is empty.";
const BESIDE: &str = "pier-lamp-37";
const NESTED_RULE: &str = "Pier rule 5: no swimming.";
/// What the branch's command prints.
const WORK_PRINTED: &str = "planks-of-the-pier";
const MEDIA: &str = "Attached media from tool result";
/// How OpenCode begins the transcript that it has summarised.
const TRANSCRIPT: &str = "Here is the conversation so far";
/// A usage over the model's window, after which OpenCode compacts.
const FULL_TOKENS: u64 = 400_000;
/// A picture of one point.
const PICTURE: [u8; 67] = [
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0x0d, 0x49, 0x48, 0x44, 0x52, 0, 0, 0, 1, 0, 0, 0, 1, 8,
    0, 0, 0, 0, 0x3a, 0x7e, 0x9b, 0x55, 0, 0, 0, 0x0a, 0x49, 0x44, 0x41, 0x54, 0x78, 0x9c, 0x63, 0x60, 0, 0, 0, 2, 0,
    1, 0x48, 0xaf, 0xa4, 0x71, 0, 0, 0, 0, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82,
];

/// Runs OpenCode once, and returns what was found.
pub async fn opencode(agents: &Agents, binary: &Path) -> Result<RunFindings> {
    let secret = secret();
    let scene = Scene::start(script).await?;
    prepare(&scene.home.project(), &secret)?;
    let ended = scene.run(agents, RealAgent::Opencode, binary, &[], &RealAgent::Opencode.asking(ASKED)).await;

    let mut findings = RunFindings::default();
    findings.add(
        "comes to its end",
        ended.and_then(|ended| {
            ensure!(ended.stdout.contains(FINISHED), "it ended with {}", ended.stdout);
            Ok(())
        }),
    );
    findings.add("breaks no rule", unbroken(&scene.model));
    judge(&scene.model.requests(), &secret, &mut findings);
    Ok(findings)
}

fn prepare(project: &Path, secret: &str) -> Result<()> {
    std::fs::create_dir_all(project.join("pier"))?;
    std::fs::write(project.join("pier/AGENTS.md"), format!("{NESTED_RULE}\n"))?;
    std::fs::write(project.join("pier/picture.png"), PICTURE)?;
    std::fs::write(project.join("pier/planks.txt"), "one plank\n")?;
    std::fs::write(project.join("tokens.env"), format!("PIER_TOKEN={secret}\n"))?;
    Ok(())
}

/// The model's part: a secret in the main thread, a branch, and then no room any more.
fn script(project: &Path) -> Script {
    let path = |name: &str| project.join(name).to_string_lossy().into_owned();
    Script::new([
        read_file(&path("tokens.env")),
        load_tools(),
        open_branch(&work(BRIEF)),
        shell("echo planks-of-the-$(echo pier)"),
        read_file(&path("pier/planks.txt")),
        read_file(&path("pier/picture.png")),
        fold_beside("echo pier-lamp-$(echo 37)", FOUND),
        full(),
        Step::text(FINISHED),
    ])
    .aside(TRANSCRIPT, Step::text("The pier was looked at."))
}

/// A command after which OpenCode takes the window for full.
fn full() -> Step {
    let command = shell("echo the last plank");
    Step::seeing(move |received| match command.decision(received) {
        Decision::Say(step) => Decision::Say(step.input_tokens(FULL_TOKENS)),
        other => other,
    })
}

fn judge(requests: &[Received], secret: &str, findings: &mut RunFindings) {
    let turns: Vec<&Received> = requests.iter().filter(|request| request.tool_count() > 0).collect();
    let first_with = |text: &str| turns.iter().find(|turn| turn.holds(text)).copied();
    let goes_on = [BRIEF, WORK_PRINTED];
    findings.request("a branch hears the rules of a folder", first_with(NESTED_RULE), &goes_on, &[ASKED]);
    findings.request("a branch goes on after a tool gave a picture", first_with(MEDIA), &goes_on, &[ASKED]);
    let parent = turns.iter().find(|turn| turn.holds(FOUND) && turn.holds(ASKED)).copied();
    findings.request("the parent gets the rules, and not the work", parent, &[NESTED_RULE], &[WORK_PRINTED]);
    findings.request("the parent gets what was called beside the return", parent, &[BESIDE], &[]);
    let transcript = requests.iter().find(|request| request.holds(TRANSCRIPT));
    findings.request("the transcript to be summarised is scrubbed", transcript, &[ASKED, "[SECRET:"], &[secret]);
    findings.request("the transcript to be summarised is folded", transcript, &[FOUND], &[WORK_PRINTED]);
}
