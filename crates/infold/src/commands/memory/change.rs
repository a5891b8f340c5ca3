//! `infold memory add`, `edit`, `review` and `undo`.

use std::io::Read;

use infold_core::memory::{LessonDraft, Memory, MemoryKind};
use infold_engine::{AddMemory, EditMemory, ListMemories, MemoryReview, StateFilter};
use serde_json::json;

use super::list::table;
use super::{Memories, kind, named_project, this_project};
use crate::commands::Invocation;
use crate::commands::sessions::now_ms;
use crate::draw::{Align, Column, Table, Tone, ago, one_line, thousands};
use crate::failure::{Refused, tell};
use crate::output::Form;

/// The longest text that is read from standard input. A lesson is much shorter; what is longer is refused later.
const TEXT_BYTES_MAX: u64 = 64 << 10;
/// How many waiting memories are listed.
const WAITING_MAX: usize = 1_000;

/// Arguments of `memory add`.
#[derive(Debug, clap::Args)]
pub struct AddArgs {
    /// The lesson in a few sentences; - reads it from standard input
    text: String,
    /// The lesson in a line
    #[arg(long)]
    title: String,
    /// What it tells its reader: works, fails, fact or preference
    #[arg(long, value_name = "KIND", default_value = "fact", value_parser = kind)]
    kind: MemoryKind,
    /// The project that it counts in: a folder, or a project's key [default: this folder]
    #[arg(long, value_name = "PROJECT", conflicts_with = "everywhere")]
    project: Option<String>,
    /// Let it count in every project
    #[arg(long)]
    everywhere: bool,
    /// The memory whose place it takes
    #[arg(long, value_name = "MEMORY")]
    replaces: Option<String>,
}

/// Arguments of `memory edit`.
#[derive(Debug, clap::Args)]
pub struct EditArgs {
    /// The memory's name
    memory: String,
    /// The new lesson; - reads it from standard input
    text: Option<String>,
    /// The new title
    #[arg(long)]
    title: Option<String>,
    /// What it tells its reader: works, fails, fact or preference
    #[arg(long, value_name = "KIND", value_parser = kind)]
    kind: Option<MemoryKind>,
    /// The project that it counts in: a folder, or a project's key
    #[arg(long, value_name = "PROJECT", conflicts_with = "everywhere")]
    project: Option<String>,
    /// Let it count in every project
    #[arg(long)]
    everywhere: bool,
}

/// Arguments of `memory review`.
#[derive(Debug, clap::Args)]
pub struct ReviewArgs {
    /// The memories to accept or reject; without any, those that wait are listed
    memories: Vec<String>,
    /// Accept them: they are shown, and you vouch for them
    #[arg(long, conflicts_with = "reject", requires = "memories")]
    accept: bool,
    /// Reject them: they are not shown
    #[arg(long, requires = "memories")]
    reject: bool,
    /// Accept all that wait, but for those that read like instructions
    #[arg(long, conflicts_with_all = ["accept", "reject", "memories"])]
    accept_all: bool,
}

/// Arguments of `memory undo`.
#[derive(Debug, clap::Args)]
pub struct UndoArgs {
    /// The change's number [default: the newest that can be undone]
    change: Option<i64>,
    /// List changes instead
    #[arg(long, conflicts_with = "change")]
    list: bool,
}

/// Adds a memory.
pub fn add(args: &AddArgs, invocation: &Invocation) -> anyhow::Result<()> {
    let project = match (&args.project, args.everywhere) {
        (Some(project), _) => Some(named_project(project, invocation)),
        (None, true) => None,
        (None, false) => Some(this_project(invocation)?),
    };
    let draft = LessonDraft { title: args.title.clone(), lesson: text(&args.text)?, kind: Some(args.kind) };
    let memories = Memories::open(invocation)?;
    let request = AddMemory { draft, project, replaces: args.replaces.clone() };
    let added = memories.ask(memories.engine.add_memory(&memories.who, request))?;
    if let Some(file) = &added.said_by {
        tell("note", format_args!("your rule file {file} says this already"));
    }
    say(&added.memory, "kept", invocation)
}

/// Changes a memory.
pub fn edit(args: &EditArgs, invocation: &Invocation) -> anyhow::Result<()> {
    let project = match (&args.project, args.everywhere) {
        (Some(project), _) => Some(named_project(project, invocation)),
        (None, true) => Some(String::new()),
        (None, false) => None,
    };
    let lesson = args.text.as_deref().map(text).transpose()?;
    let edit = EditMemory { title: args.title.clone(), lesson, kind: args.kind, project };
    if edit.title.is_none() && edit.lesson.is_none() && edit.kind.is_none() && edit.project.is_none() {
        let refused = Refused::new("nothing to change");
        return Err(refused.hint("pass a new text, --title, --kind, --project or --everywhere").into());
    }
    let memories = Memories::with(invocation, &args.memory)?;
    let edited = memories.ask(memories.engine.edit_memory(&memories.who, &args.memory, edit))?;
    say(&edited, "changed", invocation)
}

/// Lists what waits, or accepts or rejects memories.
pub fn review(args: &ReviewArgs, invocation: &Invocation) -> anyhow::Result<()> {
    if args.accept_all {
        return accept_all(invocation);
    }
    let review = match (args.memories.as_slice(), args.accept, args.reject) {
        ([], _, _) => return waiting(invocation),
        (_, true, _) => MemoryReview::Accept,
        (_, false, true) => MemoryReview::Reject,
        (_, false, false) => {
            return Err(Refused::new("say what to do with them").hint("pass --accept or --reject").into());
        }
    };
    let word = match review {
        MemoryReview::Accept => "accepted",
        MemoryReview::Reject => "rejected",
    };
    for name in &args.memories {
        let memories = Memories::with(invocation, name)?;
        let reviewed = memories.ask(memories.engine.review_memory(&memories.who, name, review))?;
        say(&reviewed, word, invocation)?;
    }
    Ok(())
}

fn accept_all(invocation: &Invocation) -> anyhow::Result<()> {
    let memories = Memories::open(invocation)?;
    let (accepted, left) = memories.ask(memories.engine.accept_waiting(&memories.who))?;
    let output = &invocation.output;
    if output.form == Form::Json {
        return output.json(&json!({ "accepted": accepted, "left": left }));
    }
    output.text(&format!("{} accepted\n", thousands(accepted.len() as u64)))?;
    if !left.is_empty() {
        let count = thousands(left.len() as u64);
        tell("note", format_args!("{count} read like instructions and still wait: read them one by one"));
    }
    Ok(())
}

fn waiting(invocation: &Invocation) -> anyhow::Result<()> {
    let request = ListMemories { state: Some(StateFilter::Waiting), limit: WAITING_MAX, ..ListMemories::default() };
    let page = match Memories::in_use(invocation)? {
        Some(memories) => Some(memories.ask(memories.engine.list_memories(&memories.who, &request))?),
        None => None,
    };
    let output = &invocation.output;
    match (output.form, page.filter(|page| !page.memories.is_empty())) {
        (Form::Json, Some(page)) => output.json(&infold_control::memories_json(&page, 0, WAITING_MAX)),
        (Form::Json, None) => output.json(&json!({ "memories": [] })),
        (Form::Text, Some(page)) => Ok(output.text(&table(&page.memories, &output.style))?),
        (Form::Text, None) => {
            tell("note", "no memory waits for you");
            Ok(())
        }
    }
}

/// Undoes a change, or lists changes.
pub fn undo(args: &UndoArgs, invocation: &Invocation) -> anyhow::Result<()> {
    let memories = Memories::open(invocation)?;
    if args.list {
        return changes(&memories, invocation);
    }
    let (number, what, undone) = memories.ask(memories.engine.undo_memories(&memories.who, args.change))?;
    let output = &invocation.output;
    match output.form {
        Form::Json => output.json(&json!({ "change": number, "what": what, "memories": undone })),
        Form::Text => {
            let count = match undone.as_slice() {
                [one] => one.to_string(),
                many => format!("{} memories", thousands(many.len() as u64)),
            };
            Ok(output.text(&format!("undone: change {number} ({what}) of {count}\n"))?)
        }
    }
}

fn changes(memories: &Memories, invocation: &Invocation) -> anyhow::Result<()> {
    let changes = memories.ask(memories.engine.memory_changes(&memories.who))?;
    let output = &invocation.output;
    if output.form == Form::Json {
        return output.json(&infold_control::memory_changes_json(&changes));
    }
    if changes.is_empty() {
        tell("note", "no memory was changed yet");
        return Ok(());
    }
    let column = |heading, align| Column { heading, align };
    let mut table = Table::new(vec![
        column("CHANGE", Align::Right),
        column("WHAT", Align::Left),
        column("MEMORIES", Align::Right),
        column("MEMORY", Align::Left),
        column("WHEN", Align::Left),
    ]);
    for change in &changes {
        let what = if change.is_undone { format!("{} (undone)", change.what) } else { change.what.clone() };
        table.row(vec![
            (Tone::Strong, change.number.to_string()),
            (if change.is_undone { Tone::Faint } else { Tone::Plain }, what),
            (Tone::Plain, thousands(change.count)),
            (Tone::Plain, one_line(&change.memory)),
            (Tone::Faint, ago(now_ms(), change.at_ms)),
        ]);
    }
    Ok(output.text(&table.draw(&output.style))?)
}

fn say(memory: &Memory, word: &str, invocation: &Invocation) -> anyhow::Result<()> {
    let output = &invocation.output;
    match output.form {
        Form::Json => output.json(&infold_control::memory_json(memory)),
        Form::Text => {
            let id = output.style.tone(Tone::Strong, memory.id.as_str());
            Ok(output.text(&format!("{word} {id}  {}\n", one_line(memory.lesson.title.as_str())))?)
        }
    }
}

/// The text that was typed, or what standard input has.
fn text(typed: &str) -> anyhow::Result<String> {
    if typed != "-" {
        return Ok(typed.to_owned());
    }
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(TEXT_BYTES_MAX).read_to_end(&mut bytes)?;
    String::from_utf8(bytes).map_err(|_| Refused::new("standard input is not UTF-8").into())
}
