//! `cargo xtask record`: runs the real agents through short sessions and keeps their transcripts under
//! `fixtures`, as they wrote them but for paths, ids, times and the vendor's own long texts.
//!
//! The model that they talk to refuses what a provider would refuse. A session in which it had to refuse something
//! is not kept: either the agent or our idea of the rules would be wrong.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use infold_testkit::model::Model;
use serde_json::Value;

use super::agents::Agents;
use super::home::Home;
use super::neutral::{Neutral, blank};
use super::sessions::{self, Session};
use xtask::workspace::Workspace;

/// The longest fixture that is worth keeping.
const FIXTURE_BYTES_MAX: usize = 200_000;

/// Records every session of every agent.
pub fn run(workspace: &Workspace) -> Result<ExitCode> {
    let agents = Agents::install(workspace)?;
    let runtime = tokio::runtime::Runtime::new()?;
    let fixtures = workspace.root.join("fixtures");
    runtime.block_on(record_claude(&agents, &fixtures.join("claude-code")))?;
    runtime.block_on(record_codex(&agents, &fixtures.join("codex")))?;
    runtime.block_on(record_opencode(&agents, &fixtures.join("opencode")))?;
    Ok(ExitCode::SUCCESS)
}

async fn record_claude(agents: &Agents, folder: &Path) -> Result<()> {
    for name in 0..sessions::claude(Path::new("")).len() {
        let home = Home::new()?;
        let session = sessions::claude(&home.project()).swap_remove(name);
        let model = Model::start(session.script.clone()).await?;
        for (number, prompt) in session.prompts.iter().enumerate() {
            let go_on: &[&str] = if number == 0 { &[] } else { &["--continue"] };
            agents.claude(&home, model.base_url(), &[&["-p", prompt], go_on].concat()).await?;
        }
        refuse_broken(&session, &model)?;

        let text = std::fs::read_to_string(home.claude_transcript(None)?)?;
        let mut lines = read_lines(&text)?;
        // Only these entries are from the script; all else is what the client writes for itself.
        let own = |line: &Value| matches!(line["type"].as_str(), Some("user" | "assistant"));
        lines.iter_mut().filter(|line| !own(line)).for_each(blank);
        write_lines(&folder.join(format!("{}.jsonl", session.name)), &home, &lines)?;
    }
    Ok(())
}

async fn record_codex(agents: &Agents, folder: &Path) -> Result<()> {
    for session in sessions::codex() {
        let home = Home::new()?;
        let model = Model::start(session.script.clone()).await?;
        for (number, prompt) in session.prompts.iter().enumerate() {
            let start: &[&str] = if number == 0 { &[] } else { &["resume", "--last"] };
            let arguments = [start, &["--json", "--skip-git-repo-check", prompt]].concat();
            agents.codex(&home, model.base_url(), &arguments).await?;
        }
        refuse_broken(&session, &model)?;

        let text = std::fs::read_to_string(home.codex_rollout()?)?;
        let mut lines = read_lines(&text)?;
        let own = |line: &Value| {
            let said = line["type"] == "response_item" && line["payload"]["role"] != "developer";
            said || line["type"] == "event_msg" || line["type"] == "compacted"
        };
        lines.iter_mut().filter(|line| !own(line)).for_each(blank);
        let compacted = lines.iter_mut().filter(|line| line["type"] == "compacted");
        let kept = compacted.filter_map(|line| line["payload"]["replacement_history"].as_array_mut()).flatten();
        kept.filter(|item| item["role"] == "developer").for_each(blank);
        write_lines(&folder.join(format!("rollout-{}.jsonl", session.name)), &home, &lines)?;
    }
    Ok(())
}

async fn record_opencode(agents: &Agents, folder: &Path) -> Result<()> {
    for name in 0..sessions::opencode(Path::new("")).len() {
        let home = Home::new()?;
        let session = sessions::opencode(&home.project()).swap_remove(name);
        let model = Model::start(session.script.clone()).await?;
        let mut id = String::new();
        for (number, prompt) in session.prompts.iter().enumerate() {
            let go_on: &[&str] = if number == 0 { &[] } else { &["--continue"] };
            let arguments = [&["run", "--format", "json"], go_on, &[prompt]].concat();
            let said = agents.opencode(&home, model.base_url(), &[], &arguments).await?;
            let event: Value = serde_json::from_str(said.lines().next().unwrap_or_default())?;
            id = event["sessionID"].as_str().context("OpenCode names no session")?.to_owned();
        }
        refuse_broken(&session, &model)?;

        let export = home.path().join("export.json");
        agents.opencode_export(&home, model.base_url(), &id, &export).await?;
        let export: Value = serde_json::from_str(&std::fs::read_to_string(&export)?)?;
        let file = folder.join(format!("{}.json", session.name));
        let lines = std::slice::from_ref(&export);
        let mut neutral = Neutral::new(&home.path().to_string_lossy(), lines, first_id(&file));
        let text = serde_json::to_string_pretty(&neutral.line(&export))? + "\n";
        write(&file, &text)?;
    }
    Ok(())
}

fn refuse_broken(session: &Session, model: &Model) -> Result<()> {
    let broken = model.broken();
    if !broken.is_empty() {
        bail!("the session `{}` broke the provider's rules:\n{}", session.name, broken.join("\n"));
    }
    Ok(())
}

fn read_lines(text: &str) -> Result<Vec<Value>> {
    text.lines().map(|line| serde_json::from_str(line).context("a line is not JSON")).collect()
}

fn write_lines(file: &Path, home: &Home, lines: &[Value]) -> Result<()> {
    let mut neutral = Neutral::new(&home.path().to_string_lossy(), lines, first_id(file));
    let text: String = lines.iter().map(|line| format!("{}\n", neutral.line(line))).collect();
    write(file, &text)
}

/// Where a fixture's ids begin: far from those of any other, and the same every time.
fn first_id(file: &Path) -> usize {
    let name = file.iter().rev().take(2).flat_map(|part| part.as_encoded_bytes());
    1 + 1_000 * name.fold(0_usize, |sum, byte| (sum * 31 + usize::from(*byte)) % 9_973)
}

fn write(file: &Path, text: &str) -> Result<()> {
    if text.len() > FIXTURE_BYTES_MAX {
        bail!("{} would have {} bytes, the limit is {FIXTURE_BYTES_MAX}", file.display(), text.len());
    }
    let folder = file.parent().context("a fixture lies in a folder")?;
    std::fs::create_dir_all(folder)?;
    std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))?;
    println!("{} ({} bytes)", file.display(), text.len());
    Ok(())
}
