//! `infold memory list` and `infold memory search`: memories in a table.

use infold_core::memory::{Memory, MemoryKind, MemoryState, Trust};
use infold_engine::{AskStatus, ListMemories, ListedMemory, MemoryCounts, MemoryPage, StateFilter};

use super::{Memories, explain, kind, named_project, this_project};
use crate::commands::Invocation;
use crate::commands::sessions::now_ms;
use crate::draw::{Align, Column, Style, Table, Tone, ago, one_line, thousands};
use crate::failure::tell;
use crate::output::Form;

/// Columns that are left out where the terminal is narrow, in this order.
const MAY_GO: [&str; 4] = ["USED", "SHOWN", "FROM", "MADE"];
/// The heading of the column that is shortened before another one is left out.
const TITLE: &str = "TITLE";
/// If the title would get fewer columns than this, another column is left out instead.
const TITLE_COLUMNS_MIN: usize = 24;

/// Arguments of `memory list`.
#[derive(Debug, Default, clap::Args)]
pub struct ListArgs {
    /// Only memories that have to do with this text
    query: Vec<String>,
    #[command(flatten)]
    which: WhichArgs,
    /// Only memories that wait for you
    #[arg(long)]
    waiting: bool,
    /// Skip this many
    #[arg(long, value_name = "N", default_value_t = 0)]
    offset: u32,
}

/// Arguments of `memory search`.
#[derive(Debug, clap::Args)]
pub struct SearchArgs {
    /// What the memories should have to do with
    #[arg(required = true)]
    query: Vec<String>,
    /// Say why each was found, and whether a branch would be given it
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    which: WhichArgs,
}

/// Which memories to list.
#[derive(Debug, Clone, clap::Args)]
struct WhichArgs {
    /// Only memories that count in this project: a folder, or a project's key [default: this folder]
    #[arg(long, value_name = "PROJECT", conflicts_with = "all")]
    project: Option<String>,
    /// Memories of all projects
    #[arg(long)]
    all: bool,
    /// Only memories of a kind: works, fails, fact or preference
    #[arg(long, value_name = "KIND", value_parser = kind)]
    kind: Option<MemoryKind>,
    /// List at most this many
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: u32,
}

impl Default for WhichArgs {
    fn default() -> Self {
        Self { project: None, all: false, kind: None, limit: 50 }
    }
}

/// Lists memories.
pub fn run(args: &ListArgs, invocation: &Invocation) -> anyhow::Result<()> {
    let request = ListMemories {
        query: Some(args.query.join(" ")).filter(|query| !query.trim().is_empty()),
        state: Some(if args.waiting { StateFilter::Waiting } else { StateFilter::All }),
        offset: args.offset as usize,
        ..which(&args.which, invocation)?
    };
    print(request, invocation)
}

/// Finds memories that have to do with a text.
pub fn search(args: &SearchArgs, invocation: &Invocation) -> anyhow::Result<()> {
    let query = Some(args.query.join(" "));
    print(ListMemories { query, explain: args.explain, ..which(&args.which, invocation)? }, invocation)
}

fn which(args: &WhichArgs, invocation: &Invocation) -> anyhow::Result<ListMemories> {
    let project = match (&args.project, args.all) {
        (Some(project), _) => Some(named_project(project, invocation)),
        (None, true) => None,
        (None, false) => Some(this_project(invocation)?),
    };
    Ok(ListMemories { project, kind: args.kind, limit: args.limit as usize, ..ListMemories::default() })
}

fn print(request: ListMemories, invocation: &Invocation) -> anyhow::Result<()> {
    let (offset, limit) = (request.offset, request.limit);
    // One more shows that there are more.
    let request = ListMemories { limit: limit + 1, ..request };
    let page = match Memories::in_use(invocation)? {
        Some(memories) => memories.ask(memories.engine.list_memories(&memories.who, &request))?,
        None => MemoryPage { memories: Vec::new(), reasons: Vec::new(), counts: MemoryCounts::default(), asking: None },
    };
    let output = &invocation.output;
    if output.form == Form::Json {
        return output.json(&infold_control::memories_json(&page, offset, limit));
    }
    let has_more = page.memories.len() > limit;
    let shown = &page.memories[..page.memories.len().min(limit)];
    if request.explain {
        let rules = invocation.in_force.settings.memory.rules().injection;
        output.text(&explain::text(shown, &page.reasons, &rules, &output.style))?;
    } else if !shown.is_empty() {
        output.text(&table(shown, &output.style))?;
    }
    if invocation.globals.quiet {
        return Ok(());
    }
    match &page.counts {
        counts if shown.is_empty() && counts.live + counts.waiting == 0 => tell("note", "no memories yet"),
        _ if shown.is_empty() => tell("note", "no memories like that here; --all looks in all projects"),
        _ if has_more => tell("note", format_args!("there are more: --limit {}", limit * 2)),
        _ => {}
    }
    if page.counts.waiting > 0 {
        tell("note", format_args!("{} wait for you: `infold memory review`", thousands(page.counts.waiting)));
    }
    if let Some(asking) = &page.asking {
        tell("note", asked(asking));
    }
    Ok(())
}

/// What the model that writes lessons takes, in a line.
fn asked(asking: &AskStatus) -> String {
    let AskStatus { model, spending, tokens_per_day } = asking;
    let problem = spending.problem.as_ref().map_or_else(String::new, |problem| format!("; the last time: {problem}"));
    format!(
        "{} took {} of {} tokens today in {} requests to write lessons, and {} branches wait for it{problem}",
        one_line(model),
        thousands(spending.tokens),
        thousands(*tokens_per_day),
        thousands(spending.requests),
        thousands(spending.waiting),
    )
}

/// Memories in a table.
pub fn table(memories: &[ListedMemory], style: &Style) -> String {
    let now_ms = now_ms();
    let left = |heading| Column { heading, align: Align::Left };
    let right = |heading| Column { heading, align: Align::Right };
    let mut table = Table::new(vec![
        left("MEMORY"),
        left("KIND"),
        right("SURE"),
        left("STATE"),
        left("FROM"),
        right("SHOWN"),
        right("USED"),
        left("MADE"),
        left(TITLE),
    ]);
    for listed in memories {
        let memory = &listed.row.memory;
        let (tone, state) = state(memory);
        table.row(vec![
            (Tone::Strong, memory.id.to_string()),
            (Tone::Plain, memory.lesson.kind.as_str().to_owned()),
            (Tone::Plain, format!("{:.2}", listed.confidence)),
            (tone, state.to_owned()),
            (if memory.trust == Trust::Outside { Tone::Warn } else { Tone::Faint }, from(memory).to_owned()),
            (Tone::Plain, thousands(listed.row.shown)),
            (Tone::Plain, thousands(listed.row.used)),
            (Tone::Faint, ago(now_ms, memory.made_at_ms)),
            (Tone::Plain, one_line(memory.lesson.title.as_str())),
        ]);
    }
    table.cut_to_fit(TITLE, TITLE_COLUMNS_MIN, &MAY_GO, style).draw(style)
}

/// The word for what has become of a memory, and its tone.
pub fn state(memory: &Memory) -> (Tone, &'static str) {
    match memory.state {
        MemoryState::Live => (Tone::Good, "live"),
        MemoryState::Waiting => (Tone::Warn, "waiting"),
        MemoryState::Replaced(_) => (Tone::Faint, "replaced"),
        MemoryState::Rejected => (Tone::Faint, "rejected"),
    }
}

/// Where a memory comes from, in a word.
pub fn from(memory: &Memory) -> &'static str {
    match memory.trust {
        Trust::Outside => "outside",
        Trust::Person | Trust::Own => memory.origin.source.as_str(),
    }
}
