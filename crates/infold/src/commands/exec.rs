//! `infold exec`: infold's own agent does what it is asked in a folder, without asking back, and says at the end what it did.

mod input;
mod report;
mod show;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use infold_agent::record::Beginning;
use infold_agent::setup::WhoIsAsked;
use infold_agent::{CodingAgent, Stop, ThreadEntry};
use infold_core::gateway::{SchemaBounds, problems_of};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::Invocation;
use crate::agent::{
    AgentFlags, AgentRun, ENDING_MAX, Started, beginning, finish_writing, folder_of, keep_model, prepare, take_flags,
};
use crate::failure::Refused;
use crate::gateway;
use crate::help;
use crate::parts;
use crate::signals::Stops;
use crate::telemetry::Telemetry;

use report::RunReport;
use show::RunDisplay;

/// How often the model learns what is wrong with its last answer, if that has to keep to a schema.
const CORRECTIONS_MAX: u32 = 3;

/// Arguments of `exec`.
#[derive(Debug, clap::Args)]
#[command(after_help = help::text(
    &[
        "The agent works in the current folder: its file tools reach nothing outside of it, and commands run in a sandbox \
         whose level is said at the start. What it may do without asking is the setting agent.approval; what it would have \
         to ask about is refused, because nobody is there to answer. Its key comes from the environment or the system's \
         keyring.",
        "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 refused, 5 a limit was reached, 6 the model gave no answer, 7 the \
         last answer does not keep to the schema, 8 the context is full, 130 interrupted. A session \
         that ended early goes on with --resume.",
    ],
    &[
        ("infold exec 'fix the failing test'", ""),
        ("git diff | infold exec 'review this' -", "standard input is added to what is asked"),
        ("infold exec --resume 5b24 'now the docs'", "go on with a session"),
        ("infold exec --pin 'never touch vendor/' 'update the licences'", "words that no compaction shortens"),
        ("infold exec --from session.jsonl 'go on'", "take over a session of Claude Code, Codex or OpenCode"),
        ("infold exec --image screen.png 'why is the button cut off?'", ""),
        ("infold exec --json --output-schema answer.json 'list the TODOs'", ""),
    ],
))]
pub struct ExecArgs {
    /// What to do; - adds standard input
    #[arg(value_name = "PROMPT")]
    pub prompt: Vec<String>,
    #[command(flatten)]
    pub agent: AgentFlags,
    /// An image that is sent with the prompt: PNG, JPEG, GIF or WebP; can be repeated
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub image: Vec<PathBuf>,
    /// A file with the JSON schema that the last answer has to keep to
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub output_schema: Option<PathBuf>,
    /// Answers of the model that the run may take [default: the setting agent.turns_max]
    #[arg(long, value_name = "N")]
    pub turns: Option<u64>,
    /// Tokens that the run may take [default: the setting agent.run_tokens_max]
    #[arg(long, value_name = "N")]
    pub tokens: Option<u64>,
    /// Seconds that the run may take
    #[arg(long, value_name = "N")]
    pub seconds: Option<u64>,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunEnd {
    /// The work is done.
    Done,
    /// It ended early.
    Stopped(Stop),
    /// The time of the run was over.
    OutOfTime(u64),
    /// The last answer does not keep to its schema.
    WrongForm(String),
}

impl RunEnd {
    fn exit_code(&self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Stopped(Stop::Limit(_)) | Self::OutOfTime(_) => 5,
            Self::Stopped(Stop::Model { .. } | Stop::ImagesRefused { .. }) => 6,
            Self::WrongForm(_) => 7,
            Self::Stopped(Stop::Full(_)) => 8,
            Self::Stopped(Stop::Cancelled) => 130,
            Self::Stopped(Stop::Refused(_)) => 3,
            Self::Stopped(Stop::Fault(_) | Stop::BranchOver(_)) => 1,
        }
    }

    /// The word for it in logs and JSON.
    fn name(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::OutOfTime(_) => "limit",
            Self::WrongForm(_) => "wrong_form",
            Self::Stopped(stop) => stop.name(),
        }
    }

    /// Why it ended early; `None` if it did not.
    fn problem(&self) -> Option<String> {
        match self {
            Self::Done => None,
            Self::Stopped(stop) => Some(stop.to_string()),
            Self::OutOfTime(seconds) => Some(format!("the run has taken {seconds} s, which is its limit")),
            Self::WrongForm(problem) => Some(problem.clone()),
        }
    }
}

/// Runs the agent.
pub fn run(args: ExecArgs, mut invocation: Invocation) -> anyhow::Result<()> {
    take_flags(&args.agent, &mut invocation);
    let agent = &mut invocation.in_force.settings.agent;
    agent.turns_max = args.turns.unwrap_or(agent.turns_max);
    agent.run_tokens_max = args.tokens.unwrap_or(agent.run_tokens_max);
    let settings = &invocation.in_force.settings;
    let telemetry = Telemetry::start(&invocation.logging(), &settings.telemetry.otlp_endpoint)?;
    let runtime = parts::serving_runtime(settings)?;
    let outcome = runtime.block_on(exec(&args, &mut invocation));
    runtime.shutdown_background();
    telemetry.stop();
    match outcome? {
        0 => Ok(()),
        code => Err(crate::failure::AgentEnded { code }.into()),
    }
}

async fn exec(args: &ExecArgs, invocation: &mut Invocation) -> anyhow::Result<u8> {
    invocation.warn_of_testing();
    let mut stops = Stops::catch()?;
    let prompt = input::prompt(&args.prompt)?;
    let images = input::images(&args.image, invocation.in_force.settings.agent.image_bytes_max)?;
    let schema = input::schema(args.output_schema.as_deref())?;
    let folder = folder_of(args.agent.folder.as_deref(), invocation)?;
    let engine = parts::engine(&invocation.data_folder()?, &invocation.in_force.settings)?;
    let started = Started::of(&args.agent, invocation, &engine, &folder).await?;
    if prompt.is_none() && images.is_empty() && !started.has_work() {
        return Err(Refused::new("nothing to do").hint("say what to do: infold exec 'fix the failing test'").into());
    }
    keep_model(&args.agent, started.session.beginning.as_ref(), invocation);
    let invocation = &*invocation;
    let cancelled = CancellationToken::new();
    let gateway = gateway::start(invocation, &engine, &cancelled, Vec::new());
    let shown = Arc::new(RunDisplay::new(invocation));
    let ready = prepare(AgentRun {
        invocation,
        engine: engine.clone(),
        session: started.session_id.clone(),
        folder: folder.clone(),
        prompt: prompt.clone().unwrap_or_default(),
        beginning: started.session.beginning.as_ref(),
        output_schema: schema.as_ref().map(ToString::to_string),
        skills: args.agent.skill.clone(),
        gateway,
        watch: Arc::clone(&shown).watcher(),
        asked: WhoIsAsked::Nobody,
        cancelled: cancelled.clone(),
    })
    .await?;
    let timers = tokio::spawn({
        let (engine, cancel) = (engine.clone(), cancelled.clone());
        async move { engine.run_timers(cancel).await }
    });
    let memories = &ready.setup.instructions.memories;
    let beginning = beginning(invocation, &folder, started.from.clone(), memories);
    shown.started(&started.session_id, &beginning, &ready.sandbox);
    let agent = CodingAgent::new(ready.setup, started.session);
    let mut opening = started.taken_over;
    opening.extend(args.agent.pinned());
    opening.extend(input::words(prompt, images));
    let working = work(&agent, beginning, opening, schema.as_ref(), &args.agent.skill);
    tokio::pin!(working);
    let early = tokio::select! {
        end = &mut working => Ok(end),
        () = stops.next() => Err(RunEnd::Stopped(Stop::Cancelled)),
        () = time_is_over(args.seconds) => Err(RunEnd::OutOfTime(args.seconds.unwrap_or_default())),
    };
    cancelled.cancel();
    let end = match early {
        Ok(end) => end,
        Err(end) => {
            // What is under way is ended in order, so that all that was done is in the log.
            drop(tokio::time::timeout(ENDING_MAX, &mut working).await);
            end
        }
    };
    if let Err(error) = agent.finish(end.name()).await {
        tracing::warn!(%error, "the end of the run could not be recorded");
    }
    finish_writing(&engine).await;
    timers.await?;
    let report = RunReport::of(&agent, &engine, &end).await?;
    shown.finished(&report)?;
    Ok(end.exit_code())
}

/// Works until the main thread rests, and has the model correct an answer that does not keep to its schema.
async fn work(
    agent: &CodingAgent,
    beginning: Beginning,
    words: Vec<ThreadEntry>,
    schema: Option<&Value>,
    skills: &[String],
) -> RunEnd {
    let mut answer = match agent.prompt(beginning, skills.to_vec(), words).await {
        Ok(answer) => answer,
        Err(stop) => return RunEnd::Stopped(stop),
    };
    let Some(schema) = schema else { return RunEnd::Done };
    for _ in 0..CORRECTIONS_MAX {
        let Err(problem) = check(&answer, schema) else { return RunEnd::Done };
        let words =
            format!("Your last message does not keep to the schema: {problem}. Answer again: the JSON value alone.");
        answer = match agent.remark(words).await {
            Ok(answer) => answer,
            Err(stop) => return RunEnd::Stopped(stop),
        };
    }
    check(&answer, schema).map_or_else(RunEnd::WrongForm, |()| RunEnd::Done)
}

/// Checks an answer against a schema.
fn check(answer: &str, schema: &Value) -> Result<(), String> {
    let value: Value =
        serde_json::from_str(input::unfenced(answer)).map_err(|error| format!("it is no JSON: {error}"))?;
    let problems = problems_of(&value, schema, &SchemaBounds::USUAL);
    match problems.is_empty() {
        true => Ok(()),
        false => Err(problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")),
    }
}

async fn time_is_over(seconds: Option<u64>) {
    match seconds {
        Some(seconds) => tokio::time::sleep(Duration::from_secs(seconds)).await,
        None => std::future::pending().await,
    }
}
