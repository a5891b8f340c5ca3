//! `infold top`: shows sessions and requests live on a terminal, until the user quits.

use std::io::{self, IsTerminal};
use std::time::Duration;

use super::Invocation;
use super::sessions::now_ms;
use crate::failure::{Refused, tell};
use crate::gateway::configured;
use crate::help;
use crate::output::Form;
use crate::parts;
use crate::telemetry;
use crate::top::{self, FrameSize, TopSource};

/// Lines of a frame if standard output is not a terminal.
const HEIGHT_WITHOUT_TERMINAL: usize = 60;

/// Arguments of `top`.
#[derive(Debug, clap::Args)]
#[command(after_help = help::text(
    &[
        "Keys: q quits; up and down select a session; s shows or hides other MCP servers.",
        "INPUT, OUTPUT and CACHED are the providers' token counts. SAVED is what infold removed from prompts, by its \
         own estimate. MAIN is how full the main thread's window is.",
    ],
    &[
        ("infold top", ""),
        ("infold top --once", "print once as text, for scripts"),
        ("infold top --json | jq '.request_totals'", ""),
    ],
))]
pub struct TopArgs {
    /// Print once as text, and exit
    #[arg(long)]
    pub once: bool,
    /// Refresh interval, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(100..=60_000))]
    pub every_ms: u64,
}

/// Shows sessions and requests live, or prints them once.
pub fn run(args: &TopArgs, invocation: &Invocation) -> anyhow::Result<()> {
    let output = &invocation.output;
    let is_live = !args.once && output.form == Form::Text;
    if is_live && !(io::stdin().is_terminal() && io::stdout().is_terminal()) {
        return Err(Refused::new("infold top needs a terminal")
            .hint("use `infold top --once` for text or `infold top --json` for JSON")
            .into());
    }
    let settings = &invocation.in_force.settings;
    if !is_live {
        // On a terminal that is drawn on there is no place for log lines.
        telemetry::log_only(&invocation.logging());
    }
    let Some(folder) = invocation.data_folder_in_use()? else {
        tell("note", "no sessions yet: start an agent with `infold run`, or the daemon with `infold serve`");
        return Ok(());
    };
    let engine = parts::engine(&folder, settings)?;
    let source = TopSource { engine: &engine, room: parts::room(settings), configured: configured(invocation) };

    let runtime = parts::asking_runtime()?;
    if is_live {
        let every = Duration::from_millis(args.every_ms);
        return runtime.block_on(top::run(&source, every, &output.style));
    }
    let view = runtime.block_on(top::load(&source, now_ms())).map_err(parts::command_error)?;
    match output.form {
        Form::Text => {
            let size = FrameSize { width: output.style.width, height: HEIGHT_WITHOUT_TERMINAL };
            Ok(output.text(&top::once(&view, size, &output.style))?)
        }
        Form::Json => output.json(&view.as_json(&source.room)),
    }
}
