//! `infold scrub`: takes the secrets out of a text, or says where they are in files and folders.
//!
//! Fails closed: what cannot be scrubbed whole is not printed at all, and a file that could not be searched is no clean
//! one. A secret itself is never printed: a report has its place, its rule and its length.

mod files;

use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use infold_core::{Mask, ScrubError, Scrubbed};
use serde_json::{Value, json};

use super::Invocation;
use super::places::Places;
use crate::draw::{Align, Column, Table, Tone, thousands};
use crate::failure::{Refused, SecretsFound, tell};
use crate::file_scrubber::FileScrubber;
use crate::help;
use crate::output::Form;
use crate::telemetry;

/// Arguments of `scrub`.
#[derive(Debug, clap::Args)]
#[command(after_help = help::text(
    &[
        "Within one data folder, the same secret always gets the same placeholder. A report says where secrets are and \
         never what they are. `infold rules` lists what counts as a secret, and explains a find.",
        "With --check the exit code is 0 if there are no secrets and 4 if there are, or if a file could not be searched.",
    ],
    &[
        ("infold scrub < build.log > build.clean.log", ""),
        ("infold scrub --report .", "where secrets are in this folder"),
        ("infold scrub --check src .env.example", "for a script"),
        ("infold scrub --report --json . | jq '.secrets[].rule'", ""),
    ],
))]
pub struct ScrubArgs {
    /// Files and folders; without any, standard input
    #[arg(value_name = "PATH", value_hint = clap::ValueHint::AnyPath)]
    paths: Vec<PathBuf>,
    /// Say where the secrets are, and print no text
    #[arg(long)]
    report: bool,
    /// Like --report, and end with code 4 if there are any
    #[arg(long)]
    check: bool,
}

/// What was found in files.
#[derive(Default)]
struct ScrubReport {
    files: u64,
    secrets: Vec<ReportedSecret>,
    /// Files that could not be searched, and why.
    unsearched: Vec<(String, String)>,
    /// How many files are no text.
    binary: u64,
}

/// Where a secret is.
struct ReportedSecret {
    file: String,
    line: usize,
    column: usize,
    length: usize,
    rule: String,
}

/// Scrubs or reports, as the arguments say.
pub fn run(args: &ScrubArgs, invocation: &Invocation) -> anyhow::Result<()> {
    telemetry::log_only(&invocation.logging());
    let scrubber = FileScrubber::new(invocation)?;
    if args.report || args.check {
        let report = report(args, &scrubber, invocation)?;
        print_report(&report, invocation)?;
        return if args.check { report.verdict() } else { Ok(()) };
    }
    let bytes_max = invocation.in_force.settings.scrub.max_bytes;
    let text = match args.paths.as_slice() {
        [] => text_of(None, bytes_max)?,
        [file] if !file.is_dir() => text_of(Some(file), bytes_max)?,
        _ => {
            return Err(Refused::new("only one file can be printed without its secrets")
                .hint("name one file, or use --report or --check for several files and for folders")
                .into());
        }
    };
    let scrubbed = scrubber.scrub(vec![text])?;
    print_text(scrubbed.first().ok_or(ScrubError::Missing)?, invocation)
}

fn print_text(scrubbed: &Scrubbed, invocation: &Invocation) -> anyhow::Result<()> {
    match invocation.output.form {
        Form::Text => invocation.output.text(scrubbed.as_str())?,
        Form::Json => {
            invocation.output.json(&json!({"text": scrubbed.as_str(), "secrets_scrubbed": scrubbed.secrets()}))?;
        }
    }
    if scrubbed.secrets() > 0 && !invocation.globals.quiet {
        tell("note", format_args!("{} removed", counted(u64::from(scrubbed.secrets()), "secret")));
    }
    Ok(())
}

fn counted(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{} {noun}s", thousands(number)) }
}

/// Searches standard input, or all files that are named or in a named folder.
fn report(args: &ScrubArgs, scrubber: &FileScrubber, invocation: &Invocation) -> anyhow::Result<ScrubReport> {
    let bytes_max = invocation.in_force.settings.scrub.max_bytes;
    let mut report = ScrubReport::default();
    if args.paths.is_empty() {
        let text = text_of(None, bytes_max)?;
        report.files = 1;
        report.add("standard input", &text, scrubber.report(text.clone())?);
        return Ok(report);
    }
    let files = files::list(&args.paths)?;
    let bar = bar(files.len() as u64, invocation);
    for file in files {
        report.file(&file, scrubber, bytes_max);
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(report)
}

impl ScrubReport {
    fn file(&mut self, path: &Path, scrubber: &FileScrubber, bytes_max: usize) {
        let name = path.display().to_string();
        self.files += 1;
        let text = match files::read(path, bytes_max) {
            Ok(Some(text)) => text,
            Ok(None) => {
                self.binary += 1;
                return;
            }
            Err(reason) => {
                self.unsearched.push((name, reason));
                return;
            }
        };
        match scrubber.report(text.clone()) {
            Ok(masks) => self.add(&name, &text, masks),
            Err(error) => self.unsearched.push((name, error.to_string())),
        }
    }

    fn add(&mut self, file: &str, text: &str, masks: Vec<Mask>) {
        let mut places = Places::new(text);
        for mask in masks {
            let (line, column) = places.of(mask.span.start);
            let file = file.to_owned();
            self.secrets.push(ReportedSecret { file, line, column, length: mask.span.len(), rule: mask.rule });
        }
    }

    /// What `--check` ends with.
    fn verdict(&self) -> anyhow::Result<()> {
        if self.secrets.is_empty() && self.unsearched.is_empty() {
            return Ok(());
        }
        let found = counted(self.secrets.len() as u64, "secret");
        let unsearched = match self.unsearched.len() as u64 {
            0 => String::new(),
            files => format!(", and {} could not be searched", counted(files, "file")),
        };
        Err(SecretsFound(format!("{found} found{unsearched}")).into())
    }
}

fn print_report(report: &ScrubReport, invocation: &Invocation) -> anyhow::Result<()> {
    let output = &invocation.output;
    match output.form {
        Form::Json => output.json(&as_json(report))?,
        Form::Text if report.secrets.is_empty() => {}
        Form::Text => {
            let heading = |heading, align| Column { heading, align };
            let mut table = Table::new(vec![
                heading("WHERE", Align::Left),
                heading("RULE", Align::Left),
                heading("BYTES", Align::Right),
            ]);
            for secret in &report.secrets {
                let place = format!("{}:{}:{}", secret.file, secret.line, secret.column);
                table.row(vec![
                    (Tone::Plain, place),
                    (Tone::Plain, secret.rule.clone()),
                    (Tone::Plain, thousands(secret.length as u64)),
                ]);
            }
            output.text(&table.draw(&output.style))?;
        }
    }
    for (file, reason) in &report.unsearched {
        tell("warning", format_args!("{file} was not searched: {reason}"));
    }
    if !invocation.globals.quiet {
        let binary = if report.binary > 0 { format!(" ({} no text)", thousands(report.binary)) } else { String::new() };
        let (secrets, files) = (counted(report.secrets.len() as u64, "secret"), counted(report.files, "file"));
        tell("note", format_args!("{secrets} in {files}{binary}"));
    }
    Ok(())
}

fn as_json(report: &ScrubReport) -> Value {
    let secrets = report.secrets.iter().map(|secret| {
        json!({
            "file": secret.file,
            "line": secret.line,
            "column": secret.column,
            "bytes": secret.length,
            "rule": secret.rule,
        })
    });
    let unsearched = report.unsearched.iter().map(|(file, reason)| json!({"file": file, "reason": reason}));
    json!({
        "files": report.files,
        "binary_files": report.binary,
        "secrets": secrets.collect::<Vec<_>>(),
        "not_searched": unsearched.collect::<Vec<_>>(),
    })
}

fn bar(files: u64, invocation: &Invocation) -> ProgressBar {
    let is_hidden = invocation.globals.quiet || !io::stderr().is_terminal();
    let target = if is_hidden { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let style = ProgressStyle::with_template("{bar:32} {percent:>3} %  {pos} of {len} files  {eta} left");
    ProgressBar::with_draw_target(Some(files), target)
        .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// The text of a file, or of standard input.
pub(super) fn text_of(file: Option<&Path>, bytes_max: usize) -> anyhow::Result<String> {
    match file {
        Some(file) => whole_text(file, bytes_max),
        None => input(bytes_max),
    }
}

fn whole_text(file: &Path, bytes_max: usize) -> anyhow::Result<String> {
    let refused = |reason: String| Refused::new(format!("{} cannot be searched: {reason}", file.display()));
    match files::read(file, bytes_max) {
        Ok(Some(text)) => Ok(text),
        Ok(None) => Err(refused("it is not UTF-8".to_owned()).hint("convert it first, for example with iconv").into()),
        Err(reason) => Err(refused(reason).into()),
    }
}

fn input(bytes_max: usize) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    io::stdin().lock().take(bytes_max as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > bytes_max {
        return Err(Refused::new(format!("the input is longer than {bytes_max} bytes"))
            .hint("split it, or raise the bound with --set scrub.max_bytes=N")
            .into());
    }
    String::from_utf8(bytes).map_err(|_| {
        Refused::new("the input is not UTF-8, so it cannot be searched for secrets")
            .hint("convert it first, for example with iconv")
            .into()
    })
}
