//! Measures what scrubbing finds: the cases of other scanners, beside those scanners' own rules and one of them, and the
//! recorded sessions, in which every find that is no secret is a false alarm. Makes the tables of `docs/scrubbing.md`.
//!
//! The data is found through `INFOLD_TEST_DATA`; without it there is nothing to measure. Only figures leave this file.

mod other;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result};
use infold_core::{RuleSet, Scrubber};
use serde::Deserialize;

use crate::run_release_build;
use xtask::document;
use xtask::workspace::Workspace;

const DOCUMENT: &str = "docs/scrubbing.md";
const CASES: &str = "secrets/rule_cases.jsonl.gz";
const GITLEAKS: &str = "secrets/gitleaks.toml.gz";
const SESSIONS: &str = "sessions/normalized.jsonl.gz";
/// Longest text that is scrubbed here: longer than any of the data.
const TEXT_BYTES_MAX: usize = 1 << 30;
const MEGABYTE: f64 = 1e6;

/// Words that begin the ids of rules for values that only their name or place gives away.
const GENERAL: [&str; 12] = [
    "named",
    "bare",
    "worded",
    "flag",
    "header",
    "told",
    "url",
    "curl",
    "command",
    "connection",
    "bearer",
    "authorization",
];

/// A text of which somebody says whether it holds a secret of a kind.
#[derive(Debug, Deserialize)]
struct RuleCase {
    src: String,
    rule: String,
    label: String,
    text: String,
}

/// What one scanner makes of one source's cases.
#[derive(Debug, Default, Clone)]
struct CaseFigures {
    secrets: usize,
    found: usize,
    others: usize,
    flagged: usize,
    /// Of those, texts in which only a token of another kind was found.
    flagged_for_another: usize,
}

/// What a scanner finds in a text: the ids of its rules. Nothing else of a find is of interest.
type Finds = BTreeSet<String>;

/// What `cargo xtask secrets` takes.
#[derive(Debug, clap::Args)]
pub struct SecretsArguments {
    /// Leave out the other scanner, which has to be installed.
    #[arg(long)]
    alone: bool,
    /// Print the finds in recorded sessions, to judge them by hand.
    #[arg(long)]
    judge: bool,
}

/// Measures, and writes the tables.
pub fn run(workspace: &Workspace, arguments: &SecretsArguments) -> Result<ExitCode> {
    let data = workspace.test_data();
    if !data.join(CASES).exists() {
        println!("skipped: there are no cases in {} (INFOLD_TEST_DATA names the folder)", data.display());
        return Ok(ExitCode::SUCCESS);
    }
    if cfg!(debug_assertions) {
        return run_release_build(workspace);
    }
    let own = Scrubber::new([7; 32]).with_max_bytes(TEXT_BYTES_MAX);
    if arguments.judge {
        sessions(&data, &own, |rule, around| println!("{rule}: {around}"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let cases = cases(&data)?;
    let mut rules = String::new();
    infold_wire::open(&data.join(GITLEAKS))?.read_to_string(&mut rules)?;
    let borrowed = own.clone().with_rules(Arc::new(RuleSet::read(&[&rules])?));

    let scanned = |scrubber: &Scrubber| {
        let finds =
            cases.iter().map(|case| Ok(scrubber.report(&case.text)?.into_iter().map(|mask| mask.rule).collect()));
        finds.collect::<Result<Vec<Finds>>>()
    };
    let mut scanners = vec![
        ("infold".to_owned(), scanned(&own)?),
        ("infold's engine with gitleaks' rules".to_owned(), scanned(&borrowed)?),
    ];
    if !arguments.alone {
        scanners.push(other::scan(workspace, &data.join(CASES), cases.len())?);
    }
    let by_source = table(&cases, &scanners);
    let alarms = sessions(&data, &own, |_, _| {})?;
    document::put(&workspace.root.join(DOCUMENT), &[("cases", &by_source), ("alarms", &alarms)])?;
    println!("{by_source}\n{alarms}");
    Ok(ExitCode::SUCCESS)
}

fn cases(data: &Path) -> Result<Vec<RuleCase>> {
    let lines = BufReader::new(infold_wire::open(&data.join(CASES))?).lines();
    lines.map(|line| serde_json::from_str(&line?).context("a case is no JSON")).collect()
}

/// One row for each source and scanner.
fn table(cases: &[RuleCase], scanners: &[(String, Vec<Finds>)]) -> String {
    let mut text = String::from(
        "| cases of | scanner | secrets found | 95 % interval | others flagged | of them for another token |\n\
         |---|---|---|---|---|---|\n",
    );
    let sources: BTreeSet<&str> = cases.iter().map(|case| case.src.as_str()).collect();
    for source in sources {
        for (name, finds) in scanners {
            let mut figures = CaseFigures::default();
            for (case, finds) in cases.iter().zip(finds).filter(|(case, _)| case.src == source) {
                figures.add(case, finds);
            }
            let (low, high) = interval(figures.found, figures.secrets);
            let _ = writeln!(
                text,
                "| {source} | {name} | {} of {} ({:.1} %) | {low:.1} to {high:.1} % | {} of {} ({:.1} %) | {} |",
                figures.found,
                figures.secrets,
                percent(figures.found, figures.secrets),
                figures.flagged,
                figures.others,
                percent(figures.flagged, figures.others),
                figures.flagged_for_another,
            );
        }
    }
    text
}

impl CaseFigures {
    fn add(&mut self, case: &RuleCase, finds: &Finds) {
        if case.label == "T" {
            self.secrets += 1;
            self.found += usize::from(!finds.is_empty());
        } else {
            self.others += 1;
            self.flagged += usize::from(!finds.is_empty());
            let is_another = |rule: &String| !is_general(rule) && !is_of_family(rule, &case.rule);
            self.flagged_for_another += usize::from(!finds.is_empty() && finds.iter().all(is_another));
        }
    }
}

/// Whether a rule is about values that only their name or place gives away.
fn is_general(rule: &str) -> bool {
    rule.split('-').next().is_some_and(|first| GENERAL.contains(&first)) || rule.contains("generic")
}

/// Whether two rules are about the same service, by the words of their ids.
fn is_of_family(rule: &str, other: &str) -> bool {
    let words = |rule: &str| rule.split(['-', '.']).map(str::to_owned).collect::<BTreeSet<_>>();
    let common =
        ["api", "key", "token", "secret", "access", "id", "client", "personal", "np", "user", "password", "1", "2"];
    words(rule).intersection(&words(other)).any(|word| !common.contains(&word.as_str()))
}

fn percent(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 }
}

/// Wilson's interval of a share, in percent.
fn interval(part: usize, whole: usize) -> (f64, f64) {
    const Z: f64 = 1.96;
    if whole == 0 {
        return (0.0, 100.0);
    }
    let (share, whole) = (part as f64 / whole as f64, whole as f64);
    let middle = (share + Z * Z / (2.0 * whole)) / (1.0 + Z * Z / whole);
    let half = Z / (1.0 + Z * Z / whole) * (share * (1.0 - share) / whole + Z * Z / (4.0 * whole * whole)).sqrt();
    (100.0 * (middle - half).max(0.0), 100.0 * (middle + half).min(1.0))
}

/// A recorded session's texts.
#[derive(Debug, Deserialize)]
struct SessionTexts {
    source: String,
    events: Vec<EventText>,
}

#[derive(Debug, Deserialize)]
struct EventText {
    #[serde(default)]
    t: Option<serde_json::Value>,
}

/// The finds in recorded sessions, by source and rule. `see` gets each find with the words around it.
fn sessions(data: &Path, scrubber: &Scrubber, mut see: impl FnMut(&str, &str)) -> Result<String> {
    const AROUND_BYTES: usize = 60;
    let mut by_source: BTreeMap<String, (usize, BTreeMap<String, usize>)> = BTreeMap::new();
    for line in BufReader::new(infold_wire::open(&data.join(SESSIONS))?).lines() {
        let session: SessionTexts = serde_json::from_str(&line?).context("a session is no JSON")?;
        let (bytes, rules) = by_source.entry(session.source).or_default();
        for text in session.events.iter().filter_map(|event| event.t.as_ref()?.as_str()) {
            *bytes += text.len();
            for mask in scrubber.report(text)? {
                let start = text.floor_char_boundary(mask.span.start.saturating_sub(AROUND_BYTES));
                let end = text.ceil_char_boundary((mask.span.end + AROUND_BYTES).min(text.len()));
                see(&mask.rule, &text[start..end]);
                *rules.entry(mask.rule).or_default() += 1;
            }
        }
    }
    let mut table =
        String::from("| sessions of | megabytes | finds | finds per megabyte | by rule |\n|---|---|---|---|---|\n");
    for (source, (bytes, rules)) in by_source {
        let finds: usize = rules.values().sum();
        let megabytes = bytes as f64 / MEGABYTE;
        let by_rule: Vec<String> = rules.iter().map(|(rule, finds)| format!("{rule} {finds}")).collect();
        let _ = writeln!(
            table,
            "| {source} | {megabytes:.1} | {finds} | {:.2} | {} |",
            finds as f64 / megabytes.max(f64::MIN_POSITIVE),
            if by_rule.is_empty() { "–".to_owned() } else { by_rule.join(", ") }
        );
    }
    Ok(table)
}
