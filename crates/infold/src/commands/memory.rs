//! `infold memory`: what branches have learnt. Without more it lists the memories of this project; the commands below look
//! at one, write and change them, judge those that wait, forget them, and take them along.

mod change;
mod explain;
mod forget;
mod list;
mod places;
mod show;
mod transfer;

use infold_core::Principal;
use infold_core::memory::MemoryKind;
use infold_engine::{Engine, Error};
use tokio::runtime::Runtime;

use super::Invocation;
use crate::failure::Refused;
use crate::{help, parts, telemetry};

/// Arguments of `memory`.
#[derive(Debug, clap::Args)]
#[command(after_help = help::text(
    &[
        "A memory is a lesson that a branch taught, or that you wrote, with what speaks for it. Branches that open are \
         given those that have to do with their task, as notes and not as instructions.",
        "Every change can be undone with `infold memory undo`, except forgetting, which leaves nothing behind.",
    ],
    &[
        ("infold memory", "list the memories of this project"),
        ("infold memory search 'snapshot tests fail'", "find some"),
        ("infold memory show mem_k3v9q0a7xd", "show one, with what speaks for it and where it was shown"),
        ("infold memory add --title 'Use pnpm' 'npm ci fails here'", "write one yourself"),
        ("infold memory review", "list those that wait for you"),
        ("infold memory forget --from import:team --yes", "forget all of an import"),
    ],
))]
pub struct MemoryArgs {
    #[command(subcommand)]
    action: Option<MemoryAction>,
}

#[derive(Debug, clap::Subcommand)]
enum MemoryAction {
    /// List memories: of this project, unless you say otherwise
    List(list::ListArgs),
    /// Find memories that have to do with a text, the best first
    Search(list::SearchArgs),
    /// Show a memory, with what speaks for it and where it was shown
    Show(show::ShowMemoryArgs),
    /// Say which memories a branch was given, and why
    Why(show::WhyArgs),
    /// Write a memory yourself
    Add(change::AddArgs),
    /// Change the words, the kind or the project of a memory
    Edit(change::EditArgs),
    /// List memories that wait for you, and accept or reject them
    Review(change::ReviewArgs),
    /// Undo a change of memories
    Undo(change::UndoArgs),
    /// Forget memories, without a trace
    Forget(forget::ForgetArgs),
    /// Print the memories that are in use, one JSON object a line
    Export(transfer::ExportArgs),
    /// Read memories from a file that `export` wrote
    Import(transfer::ImportArgs),
    /// Learn nothing from a session or a project, and show it nothing
    Silence(places::SilenceArgs),
    /// List projects that have memories, or make one project of two
    Projects(places::ProjectsArgs),
}

/// Does what was asked.
pub fn run(args: MemoryArgs, invocation: &Invocation) -> anyhow::Result<()> {
    telemetry::log_only(&invocation.logging());
    match args.action {
        None => list::run(&list::ListArgs::default(), invocation),
        Some(MemoryAction::List(args)) => list::run(&args, invocation),
        Some(MemoryAction::Search(args)) => list::search(&args, invocation),
        Some(MemoryAction::Show(args)) => show::run(&args, invocation),
        Some(MemoryAction::Why(args)) => show::why(&args, invocation),
        Some(MemoryAction::Add(args)) => change::add(&args, invocation),
        Some(MemoryAction::Edit(args)) => change::edit(&args, invocation),
        Some(MemoryAction::Review(args)) => change::review(&args, invocation),
        Some(MemoryAction::Undo(args)) => change::undo(&args, invocation),
        Some(MemoryAction::Forget(args)) => forget::run(&args, invocation),
        Some(MemoryAction::Export(args)) => transfer::export(&args, invocation),
        Some(MemoryAction::Import(args)) => transfer::import(&args, invocation),
        Some(MemoryAction::Silence(args)) => places::silence(&args, invocation),
        Some(MemoryAction::Projects(args)) => places::projects(&args, invocation),
    }
}

/// The engine on this data folder, with what is needed to ask it.
struct Memories {
    engine: Engine,
    runtime: Runtime,
    who: Principal,
}

impl Memories {
    /// Opens the database; `None` if nothing has been stored yet.
    fn in_use(invocation: &Invocation) -> anyhow::Result<Option<Self>> {
        let Some(folder) = invocation.data_folder_in_use()? else { return Ok(None) };
        Self::on(parts::engine(&folder, &invocation.in_force.settings)?).map(Some)
    }

    /// Opens the database, and makes it if there is none.
    fn open(invocation: &Invocation) -> anyhow::Result<Self> {
        Self::on(parts::engine(&invocation.data_folder()?, &invocation.in_force.settings)?)
    }

    fn on(engine: Engine) -> anyhow::Result<Self> {
        let memories = Self { engine, runtime: parts::asking_runtime()?, who: Principal::local() };
        memories.ask(memories.engine.mend_memories())?;
        Ok(memories)
    }

    /// Opens the database to look for one memory in it.
    fn with(invocation: &Invocation, memory: &str) -> anyhow::Result<Self> {
        Self::in_use(invocation)?.ok_or_else(|| {
            let absent = infold_core::Refusal::MemoryNotFound { memory: memory.to_owned() };
            parts::command_error(Error::from(absent))
        })
    }

    /// Waits for an answer of the engine.
    fn ask<T>(&self, answer: impl Future<Output = Result<T, Error>>) -> anyhow::Result<T> {
        self.runtime.block_on(answer).map_err(parts::command_error)
    }
}

/// The folder that the program was started in, which names a project.
fn this_project(invocation: &Invocation) -> Result<String, Refused> {
    let folder = invocation.surroundings.folder.as_ref().and_then(|folder| folder.to_str());
    folder.map(str::to_owned).ok_or_else(|| {
        Refused::new("the folder that you are in cannot be found out").hint("name a project with --project")
    })
}

/// A project as it was typed: a key, or a folder, which may be relative to this one.
fn named_project(name: &str, invocation: &Invocation) -> String {
    let is_key = name.len() == 16 && name.bytes().all(|letter| letter.is_ascii_hexdigit());
    match (&invocation.surroundings.folder, is_key) {
        (Some(folder), false) => folder.join(name).to_string_lossy().into_owned(),
        _ => name.to_owned(),
    }
}

/// Reads the word for a kind.
fn kind(word: &str) -> Result<MemoryKind, String> {
    MemoryKind::parse(word).ok_or_else(|| "it must be works, fails, fact or preference".to_owned())
}
