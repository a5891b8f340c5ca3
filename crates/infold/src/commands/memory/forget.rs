//! `infold memory forget`: memories go, with what was derived from them alone. Without `--yes` it only says what would go.

use infold_engine::{ForgetMode, ForgetReport, LapsingText};

use super::Memories;
use crate::commands::Invocation;
use crate::commands::sessions::now_ms;
use crate::draw::{duration, one_line, thousands};
use crate::failure::{Refused, tell};
use crate::help;
use crate::output::Form;

/// Arguments of `memory forget`.
#[derive(Debug, clap::Args)]
#[command(after_help = help::text(
    &[
        "This cannot be undone: no byte of the text is left in the database. What live sessions have recorded is not \
         changed; they are named, and lapse later.",
        "SOURCE is session:NAME, branch:ID, import:NAME, tool:NAME, host:NAME, project:PROJECT, or hand.",
    ],
    &[
        ("infold memory forget mem_k3v9q0a7xd", "say what would go"),
        ("infold memory forget mem_k3v9q0a7xd --yes", "forget it"),
        ("infold memory forget --from session:5b2438e4 --yes", "forget all that was learnt there"),
    ],
))]
pub struct ForgetArgs {
    /// The memories to forget
    #[arg(required_unless_present = "from")]
    memories: Vec<String>,
    /// Forget all that comes from here
    #[arg(long, value_name = "SOURCE", conflicts_with = "memories")]
    from: Option<String>,
    /// Forget, and do not only say what would go
    #[arg(long)]
    yes: bool,
}

/// Forgets memories, or says what would go.
pub fn run(args: &ForgetArgs, invocation: &Invocation) -> anyhow::Result<()> {
    let mode = if args.yes { ForgetMode::Forget } else { ForgetMode::Preview };
    let memories = match args.memories.first() {
        Some(first) => Memories::with(invocation, first)?,
        None => Memories::open(invocation)?,
    };
    let report = match &args.from {
        Some(source) => memories.ask(memories.engine.forget_source(&memories.who, &typed(source, invocation), mode))?,
        None => memories.ask(memories.engine.forget_memories(&memories.who, &args.memories, mode))?,
    };
    if args.from.is_some() && is_nothing(&report) {
        return Err(Refused::new("nothing comes from there").hint("`infold memory list --all` lists memories").into());
    }
    match invocation.output.form {
        Form::Json => invocation.output.json(&infold_control::forgotten_json(&report)),
        Form::Text => Ok(invocation.output.text(&text(&report, mode, now_ms()))?),
    }?;
    if mode == ForgetMode::Preview && !invocation.globals.quiet {
        tell("note", "nothing is forgotten yet: add --yes, which cannot be undone");
    }
    Ok(())
}

/// A source as it was typed; the folder of a project may be relative.
fn typed(source: &str, invocation: &Invocation) -> String {
    match source.strip_prefix("project:") {
        Some(project) => format!("project:{}", super::named_project(project, invocation)),
        None => source.to_owned(),
    }
}

fn is_nothing(report: &ForgetReport) -> bool {
    let forgotten = &report.forgotten;
    forgotten.memories.is_empty() && forgotten.weakened + forgotten.archived + forgotten.pending == 0
}

fn text(report: &ForgetReport, mode: ForgetMode, now_ms: u64) -> String {
    let forgotten = &report.forgotten;
    let (word, others) = match mode {
        ForgetMode::Preview => ("would go", "would lose"),
        ForgetMode::Forget => ("forgotten", "lost"),
    };
    let row = |(id, title): &(infold_core::memory::MemoryId, infold_core::Scrubbed)| {
        format!("{word}: {id}  {}\n", one_line(title.as_str()))
    };
    let mut text: String = forgotten.memories.iter().map(row).collect();
    let mut count = |number: u64, what: &str| {
        if number > 0 {
            text.push_str(&format!("{} {what}\n", thousands(number)));
        }
    };
    count(forgotten.weakened, &format!("other memories {others} what spoke for them"));
    count(forgotten.archived, &format!("archived branches {word}"));
    count(forgotten.pending, &format!("branches' lessons {word} before they were learnt"));
    report.held.iter().for_each(|held| text.push_str(&held_text(held, now_ms)));
    text
}

/// Which live session holds text, and for how long.
fn held_text(held: &LapsingText, now_ms: u64) -> String {
    let where_it_is = match &held.text.branch {
        Some(branch) => format!("the opening of {branch} in session {}", held.text.session),
        None => format!("session {}, in what was said there", held.text.session),
    };
    format!("still in {where_it_is}: it lapses in {}\n", duration(held.lapses_at_ms.saturating_sub(now_ms)))
}
