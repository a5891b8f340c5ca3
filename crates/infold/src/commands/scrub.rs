//! `infold scrub`: takes the secrets out of a text, or says where they are in files and folders.
//!
//! Fails closed: what cannot be scrubbed whole is not printed at all, and a file that could not be searched is no clean
//! one. A secret itself is never printed: a report has its place, its rule and its length.

mod files;
pub(super) mod reading;

use std::io::{self, IsTerminal};
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
use reading::FileText;

/// Arguments of `scrub`.
#[derive(Debug, clap::Args)]
#[command(after_help = help::text(
    &[
        "Within one data folder, the same secret always gets the same placeholder. A report says where secrets are and \
         never what they are. `infold rules` lists what counts as a secret, and explains a find.",
        "With --check the exit code is 0 if there are no secrets and 4 if there are, or if a file could not be searched.",
        "A report is about text in UTF-8, in UTF-16 with a byte order mark, and in any other encoding that keeps ASCII. \
         Other files with zero bytes are binary: they are counted and not searched. Links in folders are counted and not \
         followed, and what git keeps in .git is left out. None of these makes --check fail.",
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
    /// How many files are no text. They were not searched.
    binary: u64,
    /// How many links in folders were not followed.
    links: u64,
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
        [] => reading::text_to_print(None, bytes_max)?,
        [file] if !file.is_dir() => reading::text_to_print(Some(file), bytes_max)?,
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
        let text = reading::text_to_search(None, bytes_max)?;
        report.files = 1;
        report.add("standard input", &text, scrubber.report(text.clone())?);
        return Ok(report);
    }
    let listed = files::list(&args.paths)?;
    report.links = listed.links;
    let bar = bar(listed.files.len() as u64, invocation);
    for file in listed.files {
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
        let text = match reading::of_file(path, bytes_max) {
            Ok(FileText::Utf8(text) | FileText::Decoded(text)) => text,
            Ok(FileText::Binary) => {
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

    /// What was left out, in brackets; nothing if that is nothing.
    fn left_out(&self) -> String {
        let binary = (self.binary > 0).then(|| format!("{} not searched", counted(self.binary, "binary file")));
        let links = (self.links > 0).then(|| format!("{} not followed", counted(self.links, "link")));
        let parts: Vec<String> = binary.into_iter().chain(links).collect();
        if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
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
        let (secrets, files) = (counted(report.secrets.len() as u64, "secret"), counted(report.files, "file"));
        tell("note", format_args!("{secrets} in {files}{}", report.left_out()));
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
        "links_not_followed": report.links,
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
