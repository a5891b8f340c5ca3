//! `infold result`: prints an offloaded result, for whoever has a shell and no MCP.

use infold_core::Principal;
use infold_engine::{Portion, ReadResult, ResultPart};

use super::Invocation;
use crate::failure::{Refused, tell};
use crate::help;
use crate::output::Form;
use crate::parts;
use crate::telemetry;

/// Most bytes printed at once, if the caller does not say how many: about what an agent's shell shows.
const LIMIT_DEFAULT_BYTES: usize = 24_000;

/// Arguments of `result`.
#[derive(Debug, clap::Args)]
#[command(after_help = help::text(
    &["Prints the beginning unless you ask for a part; standard error says how to continue."],
    &[
        ("infold result res_5b2438e4-96a7-43f7-b051-10a055bb0fbe", ""),
        ("infold result res_5b2438e4-… --lines 100-180", ""),
        ("infold result res_5b2438e4-… --grep 'error|warning' --context 2", ""),
    ],
))]
pub struct ResultArgs {
    /// The result's id, as the reference in the transcript shows it
    #[arg(value_name = "REF_ID")]
    pub ref_id: String,
    /// Print only these lines, counted from 1: A-B, A- or A
    #[arg(long, value_name = "A-B", conflicts_with_all = ["grep", "offset"])]
    pub lines: Option<String>,
    /// Print only lines that match this regular expression
    #[arg(long, value_name = "RE", conflicts_with = "offset")]
    pub grep: Option<String>,
    /// Print this many lines around each match
    #[arg(long, value_name = "N", default_value_t = 0, requires = "grep")]
    pub context: usize,
    /// Start at this byte
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    pub offset: usize,
    /// Print at most this many bytes, up to 65536
    #[arg(long, value_name = "BYTES", default_value_t = LIMIT_DEFAULT_BYTES)]
    pub limit: usize,
}

/// Prints the part that was asked for, and says on standard error how to read on.
pub fn run(args: &ResultArgs, invocation: &Invocation) -> anyhow::Result<()> {
    let portion = portion(args)?;
    telemetry::log_only(&invocation.logging());
    let Some(folder) = invocation.data_folder_in_use()? else { return Err(absent(&args.ref_id).into()) };
    let engine = parts::engine(&folder, &invocation.in_force.settings)?;
    let request = ReadResult {
        ref_id: args.ref_id.clone(),
        thread: Some("main".to_owned()),
        portion: portion.clone(),
        limit_bytes: args.limit,
    };
    let part = parts::asking_runtime()?.block_on(engine.read_result(&Principal::local(), &request));
    let part = part.map_err(|error| match error {
        infold_engine::Error::Refused(infold_core::Refusal::ResultNotFound { .. }) => absent(&args.ref_id).into(),
        other => parts::command_error(other),
    })?;

    match invocation.output.form {
        Form::Json => invocation.output.json(&infold_control::result_json(part.clone()))?,
        Form::Text => {
            invocation.output.text(&part.content)?;
            // Pages of bytes can be joined, so only the last one gets an end of line.
            let is_page = matches!(portion, Portion::Bytes { .. }) && part.next_offset.is_some();
            if !is_page && !part.content.ends_with('\n') && !part.content.is_empty() {
                invocation.output.text("\n")?;
            }
        }
    }
    if !invocation.globals.quiet {
        tell_how_to_read_on(&part, &portion);
    }
    Ok(())
}

fn portion(args: &ResultArgs) -> Result<Portion, Refused> {
    if let Some(pattern) = &args.grep {
        return Ok(Portion::Matches { pattern: pattern.clone(), context: args.context, first: 1 });
    }
    let Some(lines) = &args.lines else { return Ok(Portion::Bytes { offset: args.offset }) };
    let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
    let number = |text: &str| text.trim().parse::<usize>().ok().filter(|line| *line > 0);
    let last = if last.trim().is_empty() { Some(usize::MAX - 1) } else { number(last) };
    match (number(first), last) {
        (Some(first), Some(last)) if first <= last => Ok(Portion::Lines { first, last }),
        _ => Err(Refused::new(format!("invalid --lines {lines:?}")).hint("write 100-180, 100- or 100")),
    }
}

fn absent(ref_id: &str) -> Refused {
    Refused::new(format!("no result {ref_id:?} in this data folder"))
        .hint("results belong to one data folder: pass the --data that infold ran with")
        .code("result_not_found")
}

fn tell_how_to_read_on(part: &ResultPart, portion: &Portion) {
    if let Some(no_match) = &part.no_match {
        return tell("note", format_args!("{}", no_match.trim_matches(['[', ']'])));
    }
    if part.content.is_empty() && part.total_bytes > 0 {
        let (bytes, lines) = (part.total_bytes, part.total_lines);
        return tell("note", format_args!("nothing matches; the result has {bytes} bytes, {lines} lines"));
    }
    let Some(next) = part.next_offset else { return };
    let how = match portion {
        Portion::Bytes { .. } => format!("--offset {next}"),
        Portion::Lines { .. } => format!("--lines {next}-"),
        Portion::Matches { .. } => "a pattern that matches fewer lines".to_owned(),
    };
    tell("note", format_args!("{} bytes, {} lines in all; continue with {how}", part.total_bytes, part.total_lines));
}
