//! `infold chat`: talks with infold's own agent in a terminal.

use std::io::IsTerminal as _;

use tokio::sync::mpsc;

use super::Invocation;
use crate::agent::{AgentFlags, Conversation, folder_of, take_flags};
use crate::chat;
use crate::chat::demo::{ChatDemo, PROMPT};
use crate::failure::{Refused, tell};
use crate::help;
use crate::output::Form;
use crate::parts;
use crate::telemetry::{Logging, Telemetry};

/// Arguments of `chat`.
#[derive(Debug, clap::Args)]
#[command(after_help = help::text(
    &[
        "Finished text stays in the terminal's own scrollback. /help lists commands and keys. What may be done without \
         asking is the setting agent.approval; about the rest you are asked, and an answer says how far and how long it \
         reaches. What you type while the agent is at work waits for its next request.",
        "The sessions are those of `infold exec` and `infold acp`: each can go on where another one ended. Log lines are \
         written only if standard error is no terminal.",
    ],
    &[
        ("infold chat", ""),
        ("infold chat --continue", "go on with the latest session in this folder"),
        ("infold chat --from session.jsonl", "take over a session of Claude Code, Codex or OpenCode"),
        ("infold chat --demo", "a recorded session: no key, no network"),
    ],
))]
pub struct ChatArgs {
    /// What to say first
    #[arg(value_name = "PROMPT")]
    pub prompt: Vec<String>,
    #[command(flatten)]
    pub agent: AgentFlags,
    /// Show a recorded session: no key, no network, nothing is stored
    #[arg(long, conflicts_with_all = ["resume", "latest", "fork", "from", "folder"])]
    pub demo: bool,
    /// Line by line, for screen readers and simple terminals
    #[arg(long)]
    pub plain: bool,
}

/// Which face the chat has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChatFace {
    Screen,
    Plain,
}

/// Talks until the person leaves.
pub fn run(args: ChatArgs, mut invocation: Invocation) -> anyhow::Result<()> {
    if invocation.output.form == Form::Json {
        return Err(Refused::new("a chat has no JSON form").hint("`infold exec --json` has").into());
    }
    let face = face(&args, &invocation)?;
    take_flags(&args.agent, &mut invocation);
    let logging = match face {
        // The screen is drawn on the same terminal.
        ChatFace::Screen if std::io::stderr().is_terminal() => Logging::off(),
        ChatFace::Screen | ChatFace::Plain => invocation.logging(),
    };
    let settings = &invocation.in_force.settings;
    let telemetry = Telemetry::start(&logging, &settings.telemetry.otlp_endpoint)?;
    let runtime = parts::serving_runtime(settings)?;
    let outcome = runtime.block_on(talk(args, invocation, face));
    runtime.shutdown_background();
    telemetry.stop();
    outcome
}

/// The face that the terminal allows.
fn face(args: &ChatArgs, invocation: &Invocation) -> anyhow::Result<ChatFace> {
    if args.plain {
        return Ok(ChatFace::Plain);
    }
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Err(Refused::new("a chat needs a terminal")
            .hint("`infold exec 'what to do'` works without one, and `infold chat --plain` reads lines")
            .code("no_terminal")
            .into());
    }
    match invocation.surroundings.text("TERM") {
        None | Some("" | "dumb") => {
            tell("note", "this terminal cannot move its cursor: the chat goes line by line, as with --plain");
            Ok(ChatFace::Plain)
        }
        Some(_) => Ok(ChatFace::Screen),
    }
}

async fn talk(args: ChatArgs, mut invocation: Invocation, face: ChatFace) -> anyhow::Result<()> {
    invocation.warn_of_testing();
    let demo = match args.demo {
        true => Some(ChatDemo::start(&mut invocation).await?),
        false => None,
    };
    let folder = match &demo {
        Some(demo) => demo.folder(),
        None => folder_of(args.agent.folder.as_deref(), &invocation)?,
    };
    let engine = parts::engine(&invocation.data_folder()?, &invocation.in_force.settings)?;
    let (sender, events) = mpsc::unbounded_channel();
    let first = if demo.is_some() { PROMPT.to_owned() } else { args.prompt.join(" ") };
    let first = (!first.trim().is_empty()).then_some(first);
    let conversation = Conversation::open(invocation, engine, args.agent, folder, Vec::new(), sender).await?;
    match face {
        ChatFace::Screen => chat::run(conversation, events, first).await,
        ChatFace::Plain => chat::plain::run(conversation, events, first).await,
    }
}
