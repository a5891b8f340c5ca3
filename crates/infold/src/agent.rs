//! infold's own agent, as the program puts it together: its model and the way to it, the folder that it works in, the
//! project's rules, skills and memories, and tools of other servers.

mod carry_out;
mod conversation;
mod figures;
mod flags;
mod going_back;
mod listing;
mod model;
mod named_images;
mod others;
mod place;
mod rules;
mod slash;
mod started;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use infold_agent::instructions::Skill;
use infold_agent::record::Beginning;
use infold_agent::setup::{AgentLimits, AgentSetup, WhoIsAsked};
use infold_agent::watch::Watcher;
use infold_core::{CompactionThresholds, Principal, SessionId};
use infold_engine::{Engine, SearchMemories, SessionRef};
use infold_mcp::Gateway;
use tokio_util::sync::CancellationToken;

use crate::commands::Invocation;
use crate::commands::serve::finish_recording;
use crate::failure::Refused;
use crate::settings::Settings;
use others::OthersFor;

pub use carry_out::{CarriedOut, carry_out};
pub use conversation::{Conversation, ConversationStart, FaceEvent, PendingQuestion, RunEnding, SayOutcome};
pub use figures::{SessionFigures, components};
pub use flags::AgentFlags;
pub use going_back::{FilesThen, ReadLog, WentBack, go_back};
pub use listing::{ListedAgentSession, agent_sessions};
pub use named_images::{NamedFile, attach_named, decoded_path, image_named, mentions, pasted_paths, read_image};
pub use slash::{COMMANDS, SlashCommand, Typed, read as read_typed};
pub use started::{Started, folder_of, keep_model, records, take_flags};

/// How long what is under way has to end when a run is ended.
pub const ENDING_MAX: Duration = Duration::from_secs(15);

/// What a run is started with.
pub struct AgentRun<'a> {
    /// The command's settings and environment.
    pub invocation: &'a Invocation,
    /// The engine.
    pub engine: Engine,
    /// The session.
    pub session: SessionId,
    /// The folder that the agent works in.
    pub folder: PathBuf,
    /// What was asked; memories are found by it.
    pub prompt: String,
    /// What the session began with, if it goes on: it keeps its memories.
    pub beginning: Option<&'a Beginning>,
    /// The schema that the last answer has to keep to, as JSON.
    pub output_schema: Option<String>,
    /// Skills that are active from the beginning.
    pub skills: Vec<String>,
    /// The gateway, if there are other servers.
    pub gateway: Option<Arc<Gateway>>,
    /// Who learns what happens.
    pub watch: Watcher,
    /// Who is asked about what may not be done without asking.
    pub asked: WhoIsAsked,
    /// Ends the run, and the servers with it.
    pub cancelled: CancellationToken,
}

/// What is ready to run, and what people should know about it.
pub struct ReadyAgent {
    /// The agent's parts.
    pub setup: AgentSetup,
    /// How commands are confined, in words.
    pub sandbox: String,
}

/// Puts an agent together.
pub async fn prepare(run: AgentRun<'_>) -> anyhow::Result<ReadyAgent> {
    let AgentRun { invocation, engine, session, folder, prompt, beginning, output_schema, skills, .. } = run;
    let AgentRun { gateway, watch, asked, cancelled, .. } = run;
    let settings = &invocation.in_force.settings;
    let model = model::of(invocation).await?;
    let place = place::of(invocation, &engine, &folder).await?;
    let found = rules::skills(&folder, invocation.surroundings.home().as_deref());
    if let Some(unknown) = skills.iter().find(|name| !found.iter().any(|skill| skill.name == **name)) {
        let names: Vec<&str> = found.iter().map(|skill| skill.name.as_str()).collect();
        let known = if names.is_empty() { "there are none here".to_owned() } else { names.join(", ") };
        return Err(Refused::new(format!("no skill {unknown}")).hint(format!("skills are: {known}")).into());
    }
    let found = scrubbed_skills(&engine, found).await?;
    let mut rules = Vec::new();
    for (file, text) in rules::project_rules(&folder)? {
        rules.push((file, scrubbed(&engine, text).await?));
    }
    let instructions = infold_agent::instructions::Instructions {
        surroundings: format!("You work in {}. {}.", folder.display(), place.words),
        rules,
        memories: match beginning {
            Some(beginning) => beginning.memories.clone(),
            None => memories(&engine, &folder, &prompt).await,
        },
        skills: found,
        output_schema,
    };
    let wanted = OthersFor { engine: &engine, settings, session: &session, folder, cancelled: &cancelled };
    let others = others::of(wanted, gateway);
    let setup = AgentSetup {
        engine,
        who: Principal::local(),
        session,
        model,
        limits: limits(settings),
        instructions,
        workplace: Arc::new(place.workplace),
        approvals: place.approvals,
        asked,
        others,
        watch,
        cancelled,
    };
    Ok(ReadyAgent { setup, sandbox: place.words })
}

fn limits(settings: &Settings) -> AgentLimits {
    let agent = &settings.agent;
    AgentLimits {
        context_budget_tokens: agent.context_budget,
        max_output_tokens: agent.max_output_tokens,
        thresholds: CompactionThresholds {
            compact_trigger: agent.compact_trigger,
            hard_block: agent.hard_block,
            summary_reserve_tokens: agent.summary_reserve,
        },
        compact_target: agent.compact_target,
        compaction_turns: agent.compaction_turns,
        part_bytes_max: settings.shape.file_bytes_max,
        note_at: agent.context_note,
        words_chars_max: agent.words_chars_max,
        images_bytes_max: agent.images_bytes_max,
        summary_chars_max: agent.summary_chars_max,
        compactions_max: agent.compactions_max,
        turns_max: agent.turns_max,
        run_tokens_max: agent.run_tokens_max,
        attempts_max: agent.attempts_max,
        first_wait_ms: agent.first_wait_ms,
        retry_after_max_ms: agent.retry_after_max_ms,
    }
}

/// Skills without secrets: what is written for agents may hold one, and nothing that a model is sent may.
async fn scrubbed_skills(engine: &Engine, found: Vec<Skill>) -> anyhow::Result<Vec<Skill>> {
    let mut skills = Vec::with_capacity(found.len());
    for Skill { name, description, text } in found {
        let (description, text) = (scrubbed(engine, description).await?, scrubbed(engine, text).await?);
        skills.push(Skill { name, description, text });
    }
    Ok(skills)
}

async fn scrubbed(engine: &Engine, text: String) -> anyhow::Result<String> {
    let [text] = engine.scrub([text]).await.context("the project's rules and skills could not be scrubbed")?;
    Ok(text.into_string())
}

/// Memories that have to do with what was asked, quoted; empty if there are none or they cannot be found.
async fn memories(engine: &Engine, folder: &Path, prompt: &str) -> String {
    let query: String = prompt.chars().take(SearchMemories::QUERY.chars_max).collect();
    if query.trim().is_empty() {
        return String::new();
    }
    let search = SearchMemories { query, limit: None, session: None::<SessionRef>, folder: Some(folder.to_owned()) };
    match engine.search_memories(&Principal::local(), search).await {
        Ok(found) => found.context.unwrap_or_default(),
        Err(error) => {
            tracing::warn!(%error, "memories could not be searched");
            String::new()
        }
    }
}

/// What a session begins with, if it begins now.
pub fn beginning(invocation: &Invocation, folder: &Path, from: Option<String>, memories: &str) -> Beginning {
    let settings = &invocation.in_force.settings.agent;
    Beginning {
        folder: folder.display().to_string(),
        provider: settings.provider.name().to_owned(),
        model: settings.model.clone(),
        from,
        memories: memories.to_owned(),
    }
}

/// Waits until everything that was done is on disk.
pub async fn finish_writing(engine: &Engine) {
    finish_recording(engine.tasks()).await;
    engine.flush_requests().await;
    engine.flush_gateway().await;
    engine.finish_learning().await;
}
