//! Rescue with the real clients: a session is made too long for a window, rescued, and resumed; the
//! scripted model has that window, and sees whether what was kept is really sent and that the client does
//! not compact it away. As a control, the original is resumed too, and must not go through.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use infold_testkit::model::{Model, Received, Script, Step};
use serde_json::{Value, json};

use super::agents::Agents;
use super::home::Home;

/// The window that the session is rescued into.
const WINDOW_TOKENS: u64 = 60_000;

/// A usage larger than every window, which makes a client compact.
const FULL_TOKENS: u64 = 5_000_000;

/// How many long results the session holds.
const LOGS: usize = 12;

/// How long the id at the end of a rollout's name is.
const UUID_CHARS: usize = 36;

/// What the user says, in runs of their own. All of it must survive.
const ASKED: [&str; 2] = [
    "Read all the logs, one after another. Grüße, and mind the umlauts.",
    "Now tell me which log was the longest, and remember the number 7731.",
];

/// What the user says after the rescue.
const GO_ON: &str = "Go on where you stopped, please.";

/// What the model says at the end of the resumed turn.
const FINISHED: &str = "Going on works.";

/// What a client says when it has its history summarised instead of going on.
const COMPACTIONS: [&str; 2] = ["CRITICAL: Respond with TEXT ONLY", "CONTEXT CHECKPOINT COMPACTION"];

/// Rescues a session of Claude Code, once beside the original and once into another folder.
pub async fn claude(agents: &Agents, binary: &Path) -> Result<()> {
    let home = Home::new()?;
    let call = |command: &str| ("Bash", json!({"command": command, "description": "Print a log"}));
    let model = Model::start(long_session(call)).await?;
    agents.claude(&home, model.base_url(), &["-p", ASKED[0]]).await?;
    agents.claude(&home, model.base_url(), &["-p", ASKED[1], "--continue"]).await?;
    let original = home.claude_transcript(None)?;

    let other_folder = home.path().join("elsewhere");
    std::fs::create_dir(&other_folder)?;
    for folder in [None, Some(other_folder.as_path())] {
        let rescued = rescue(&home, binary, &original, folder).await?;
        let model = Model::start(resumed_session(call)).await?;
        // A session beside the others is resumed by its id, one in another folder by its file.
        let by_path = rescued.path.to_string_lossy();
        let resume = if folder.is_none() { rescued.session.as_str() } else { &by_path };
        let said = agents.claude(&home, model.base_url(), &["-p", GO_ON, "--resume", resume]).await?;
        let said: Value = serde_json::from_str(&said).context("Claude Code did not answer with JSON")?;
        ensure!(said["result"] == FINISHED, "the resumed session ended with {}", said["result"]);
        ensure!(said["session_id"] == rescued.session.as_str(), "it went on in another session");
        check_resumed(&model, &rescued)?;
    }

    let model = Model::start(resumed_session(call)).await?;
    let session = original.file_stem().unwrap_or_default().to_string_lossy();
    let ended = agents.claude(&home, model.base_url(), &["-p", GO_ON, "--resume", &session]).await;
    check_original(&model, ended)
}

/// Rescues a session of Codex.
pub async fn codex(agents: &Agents, binary: &Path) -> Result<()> {
    let home = Home::new()?;
    let call = |command: &str| ("exec_command", json!({"cmd": command, "max_output_tokens": 20_000}));
    let model = Model::start(long_session(call)).await?;
    let quiet = ["--json", "--skip-git-repo-check"];
    agents.codex(&home, model.base_url(), &[&quiet[..], &[ASKED[0]]].concat()).await?;
    agents.codex(&home, model.base_url(), &[&["resume", "--last"], &quiet[..], &[ASKED[1]]].concat()).await?;
    let original = home.codex_rollout()?;

    let rescued = rescue(&home, binary, &original, None).await?;
    let model = Model::start(resumed_session(call)).await?;
    let resume = ["resume", rescued.session.as_str()];
    let said = agents.codex(&home, model.base_url(), &[&resume[..], &quiet, &[GO_ON]].concat()).await?;
    ensure!(said.contains(FINISHED), "the resumed session did not come to its end:\n{said}");
    ensure!(said.contains(&rescued.session), "it went on in another session:\n{said}");
    check_resumed(&model, &rescued)?;

    let model = Model::start(resumed_session(call)).await?;
    let name = original.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let session = name.get(name.len().saturating_sub(UUID_CHARS)..).unwrap_or_default();
    let resume = ["resume", session];
    let ended = agents.codex(&home, model.base_url(), &[&resume[..], &quiet, &[GO_ON]].concat()).await;
    check_original(&model, ended)
}

/// The scripted model's steps for a session of many long results, with reasoning in between.
fn long_session(call: impl Fn(&str) -> (&'static str, Value)) -> Script {
    let log = |number: usize| {
        let command = format!("echo log {number}; seq -f 'log {number} line %05g has nothing new to say' 1 700");
        Step::calling(&format!("Log {number}."), [call(&command)]).reasoning("One after another.")
    };
    let mut steps: Vec<Step> = (1..=LOGS).map(log).collect();
    steps.push(Step::text("All logs are read."));
    // A client that finds this figure compacts before it goes on, however short the file has become.
    steps.push(Step::text("They are all of one length.").input_tokens(FULL_TOKENS));
    Script::new(steps)
}

/// The scripted model's steps after the rescue: it works on, so that the new history is sent twice.
fn resumed_session(call: impl Fn(&str) -> (&'static str, Value)) -> Script {
    let steps = [Step::calling("Going on.", [call("echo still here")]), Step::text(FINISHED)];
    Script::new(steps).window_tokens(WINDOW_TOKENS)
}

/// What a rescue has written.
struct Rescued {
    path: PathBuf,
    session: String,
    handles: Vec<String>,
}

/// Runs `infold rescue`, as a person would.
async fn rescue(home: &Home, binary: &Path, original: &Path, folder: Option<&Path>) -> Result<Rescued> {
    let before = std::fs::read(original)?;
    let mut command = home.command(binary);
    command.arg("rescue").arg(original).args(["--window", &WINDOW_TOKENS.to_string(), "--json"]);
    if let Some(folder) = folder {
        command.arg("--output").arg(folder);
    }
    let ran = command.output().await.context("cannot run infold rescue")?;
    if !ran.status.success() {
        bail!("infold rescue failed:\n{}", String::from_utf8_lossy(&ran.stderr));
    }
    ensure!(std::fs::read(original)? == before, "the original was changed");

    let report: Value = serde_json::from_slice(&ran.stdout).context("infold rescue did not print JSON")?;
    ensure!(report["before_tokens"].as_u64() > Some(WINDOW_TOKENS), "the session was not too long: {report}");
    let written = &report["written"];
    let path = PathBuf::from(written["path"].as_str().with_context(|| format!("nothing was written: {report}"))?);
    ensure!(path.parent() == folder.or(original.parent()), "it was written to {}", path.display());
    let session = written["session_id"].as_str().context("the report names no session")?.to_owned();
    let offloaded = report["offloaded"].as_array().into_iter().flatten();
    let handles = offloaded.filter_map(|moved| moved["ref_id"].as_str().map(str::to_owned)).collect();
    Ok(Rescued { path, session, handles })
}

/// Checks what the client sent: all of the user's words, references to the long results, and nothing forbidden.
fn check_resumed(model: &Model, rescued: &Rescued) -> Result<()> {
    ensure!(model.broken().is_empty(), "rules were broken: {}", model.broken().join("; "));
    let requests = model.requests();
    let compacts = |request: &Received| COMPACTIONS.iter().any(|words| request.holds(words));
    ensure!(!requests.iter().any(compacts), "the client compacted what had been rescued");
    let turns = model.turns();
    ensure!(turns.len() == 2, "{} requests were sent, not two", turns.len());
    for turn in &turns {
        for words in ASKED.iter().chain([&GO_ON]) {
            ensure!(turn.holds(words), "the user's words were not sent: {words}");
        }
        ensure!(turn.holds("Log 12.") && turn.holds("They are all of one length."), "the newest turns were not sent");
        ensure!(!rescued.handles.is_empty(), "no long result was moved away");
        let lost = rescued.handles.iter().find(|handle| !turn.holds(handle));
        ensure!(lost.is_none(), "nothing says where {lost:?} is");
        ensure!(turn.reasoning_dropped == 0, "reasoning was kept that its provider would drop");
    }
    Ok(())
}

/// Checks the control: without a rescue the session does not fit.
fn check_original(model: &Model, ended: Result<String>) -> Result<()> {
    let requests = model.requests();
    let refused = requests.iter().filter_map(|request| request.broken.as_deref());
    let too_long = refused.filter(|refusal| refusal.contains("too long") || refusal.contains("context window")).count();
    let compacted = requests.iter().any(|request| COMPACTIONS.iter().any(|words| request.holds(words)));
    let went_on = ended.is_ok_and(|said| said.contains(FINISHED)) && !compacted;
    ensure!(too_long > 0 && !went_on, "the original went on as it was, so the rescue has shown nothing");
    Ok(())
}
