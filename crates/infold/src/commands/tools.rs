//! `infold tools`: tools of other MCP servers, found as `tool_search` finds them for models. No server is started: what
//! is known of tools is in the database.

use infold_core::strip_hostile;
use infold_engine::{NamedTools, ServerTool};

use super::Invocation;
use crate::draw::{Align, Column, Style, Table, Tone, fitted, one_line, thousands};
use crate::failure::tell;
use crate::gateway::configured;
use crate::help;
use crate::output::Form;
use crate::{parts, telemetry};

/// Tools that are shown of those that fit a query, if --limit does not say how many.
const FOUND_DEFAULT: u32 = 10;
/// Tools that are listed without a query.
const LISTED_DEFAULT: u32 = 10_000;
/// The heading of the column that is shortened before another one is left out.
const WORDS: &str = "DESCRIPTION";
/// If descriptions would get fewer columns than this, another column is left out instead.
const WORDS_COLUMNS_MIN: usize = 30;
/// Most columns of a description.
const WORDS_COLUMNS_MAX: usize = 80;
/// Columns that are left out where the terminal is narrow, in this order.
const MAY_GO: [&str; 3] = ["SERVER", "CALL", "TOKENS"];

/// Arguments of `tools`.
#[derive(Debug, clap::Args)]
#[command(after_help = help::text(
    &[
        "Finds what the tool tool_search finds for a model. CALL is the tool by which a model calls it where it is not \
         listed: tool_call_read for tools that only read, tool_call for all others. TOKENS is what its definition takes \
         in a request that lists it.",
        "Only servers that were used or listed at least once are known; tools that wait for `infold approve` are left out.",
    ],
    &[
        ("infold tools", "list all tools"),
        ("infold tools create an issue", "the tools that fit best"),
        ("infold tools read file --json | jq '.tools[0].input_schema'", ""),
    ],
))]
pub struct ToolsArgs {
    /// What the tool does, or its name
    query: Vec<String>,
    /// Show at most this many [default: 10 with a query, otherwise all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: Option<u32>,
}

/// Prints the tools that fit, or all.
pub fn run(args: &ToolsArgs, invocation: &Invocation) -> anyhow::Result<()> {
    let query = Some(args.query.join(" ")).filter(|query| !query.trim().is_empty());
    let usual = if query.is_some() { FOUND_DEFAULT } else { LISTED_DEFAULT };
    let limit = args.limit.unwrap_or(usual) as usize;
    let tools = load(invocation)?;

    let output = &invocation.output;
    if output.form == Form::Json {
        return output.json(&infold_control::tools_json(&tools, query.as_deref(), limit));
    }
    let found = tools.find(query.as_deref(), limit);
    match (tools.callable.len(), found.len()) {
        (0, _) => tell("note", "no tools of other servers are known; `infold servers` lists the servers"),
        (all, 0) => tell("note", format!("none of the {all} tools fits: say what the tool does in other words")),
        _ => output.text(&text(&found, &output.style))?,
    }
    Ok(())
}

fn load(invocation: &Invocation) -> anyhow::Result<NamedTools> {
    telemetry::log_only(&invocation.logging());
    let Some(folder) = invocation.data_folder_in_use()? else { return Ok(NamedTools::default()) };
    let engine = parts::engine(&folder, &invocation.in_force.settings)?;
    let configured = configured(invocation);
    parts::asking_runtime()?.block_on(engine.named_tools(&configured)).map_err(parts::command_error)
}

fn text(found: &[&ServerTool], style: &Style) -> String {
    let left = |heading| Column { heading, align: Align::Left };
    let right = |heading| Column { heading, align: Align::Right };
    let mut table = Table::new(vec![left("NAME"), left("SERVER"), left("CALL"), right("TOKENS"), left(WORDS)]);
    for tool in found {
        let first_line = tool.definition.description.trim().lines().next().unwrap_or_default();
        let words = one_line(&strip_hostile(first_line));
        table.row(vec![
            (Tone::Strong, tool.name.to_string()),
            (Tone::Plain, one_line(tool.definition.server.as_str())),
            (Tone::Plain, tool.lane.tool().name().to_owned()),
            (Tone::Plain, thousands(tool.tokens)),
            (Tone::Plain, fitted(&words, WORDS_COLUMNS_MAX, style)),
        ]);
    }
    table.cut_to_fit(WORDS, WORDS_COLUMNS_MIN, &MAY_GO, style).draw(style)
}
