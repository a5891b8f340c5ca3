//! What scrubbing costs: on code, prose and JSON, beside rules that do not apply, and on texts that were made to waste
//! its time.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use infold_core::{RuleSet, Scrubber};

use super::figures::Table;
use xtask::workspace::Workspace;

/// How often each text is scrubbed; the best time counts, because everything else on the machine only adds to it.
const RUNS: usize = 5;
/// A text is repeated until it is this long.
const TEXT_BYTES: usize = 8 << 20;
const MEGABYTE: f64 = 1e6;
/// How many rules are added that do not apply to any of the texts.
const IDLE_RULES: usize = 2_000;
/// Targets: megabytes in a second, and how much longer an eight times longer text may take. It may take more than eight
/// times as long, because it does not fit into the processor's memory any more; work in squares would take 64 times.
const CODE_MB_MIN: f64 = 30.0;
const OTHER_MB_MIN: f64 = 15.0;
const EIGHT_TIMES_MAX: f64 = 14.0;
const IDLE_MAX: f64 = 1.1;

/// Texts that repeat what a rule begins with, ends with, or waits for.
const HOSTILE: [(&str, &str); 16] = [
    ("glued keys", "AIzaQw3rTyQw3rTyQw3rTyQw3rTyQw3rTyQw3r-"),
    ("prefixes", "ghp_"),
    ("prefixes of many rules", "ghp_sk-ant-xoxb-AKIAAIzaeyJglpat-"),
    ("beginnings of web tokens", "eyJ"),
    ("parts of web tokens", "eyJhbGciOiJIUzI1NiJ9."),
    ("assignments", "password="),
    ("addresses", "://a:"),
    ("openings of placeholders", "[SECRET:"),
    ("beginnings of keys", "-----BEGIN PRIVATE KEY-----\n"),
    ("percent signs", "%25"),
    ("escapes of escapes", "\\u005cu005c"),
    ("colour codes", "\x1b[31m"),
    ("base64 of base64", "WlhsS2FHSkhZMmxQYVVwSlZYcEpNVTVwU2prPQ"),
    ("lines of one token", "aB3dE5gH7j\n"),
    ("secrets of Kubernetes", "kind: Secret\ndata:\n"),
    ("heads of tables", "a,password\n"),
];

/// Measures; the exit code is a failure when a target is missed.
pub fn run(workspace: &Workspace) -> Result<ExitCode> {
    let scrubber = Scrubber::new([7; 32]).with_max_bytes(2 * TEXT_BYTES);
    let crowded = scrubber.clone().with_rules(Arc::new(with_idle_rules()?));
    let mut table = Table::default();
    for (name, suffixes, mb_min) in [
        ("code", &[".rs"][..], CODE_MB_MIN),
        ("prose", &[".md"][..], OTHER_MB_MIN),
        ("JSON", &[".jsonl", ".json"][..], OTHER_MB_MIN),
    ] {
        let text = repeated(&text_below(&workspace.root, suffixes)?, TEXT_BYTES);
        let (alone, beside) = taking_turns(&scrubber, &crowded, &text)?;
        let rate = text.len() as f64 / MEGABYTE / alone.as_secs_f64();
        table.show(&format!("{name}, megabytes in a second"), format!("{rate:.0}"));
        table.hold(&format!("{name}, against {mb_min} MB/s"), mb_min / rate, 1.0, "");
        let ratio = beside.as_secs_f64() / alone.as_secs_f64();
        table.hold(&format!("{name}, with {IDLE_RULES} rules more that do not apply"), ratio, IDLE_MAX, "x");
    }
    for (name, part) in HOSTILE {
        let short = best(&scrubber, &repeated(part, TEXT_BYTES / 8), 2)?;
        let long = best(&scrubber, &repeated(part, TEXT_BYTES), 2)?;
        table.show(&format!("8 MiB of {name}"), format!("{:.0} ms", long.as_secs_f64() * 1_000.0));
        table.hold(
            &format!("8 MiB of {name}, against 1 MiB"),
            long.as_secs_f64() / short.as_secs_f64(),
            EIGHT_TIMES_MAX,
            "x",
        );
    }
    Ok(table.finish())
}

/// The best times of both, which take turns so that the machine's moods meet both.
fn taking_turns(one: &Scrubber, other: &Scrubber, text: &str) -> Result<(Duration, Duration)> {
    let mut times = (Duration::MAX, Duration::MAX);
    for _ in 0..RUNS {
        times.0 = times.0.min(best(one, text, 1)?);
        times.1 = times.1.min(best(other, text, 1)?);
    }
    Ok(times)
}

fn best(scrubber: &Scrubber, text: &str, runs: usize) -> Result<Duration> {
    let mut best = Duration::MAX;
    for _ in 0..runs {
        let began = Instant::now();
        scrubber.scrub(text)?;
        best = best.min(began.elapsed());
    }
    Ok(best)
}

fn with_idle_rules() -> Result<RuleSet> {
    let mut idle = String::new();
    for number in 0..IDLE_RULES {
        let letters: String = format!("{number:04}").bytes().map(|digit| char::from(digit - b'0' + b'a')).collect();
        idle.push_str(&format!(
            "[[rules]]\nid = \"idle-{letters}\"\nkeywords = [\"zq{letters}_\"]\ntoken = 'zq{letters}_[0-9a-f]{{32}}'\n"
        ));
    }
    let files: Vec<&str> = RuleSet::built_in_files().iter().copied().chain([idle.as_str()]).collect();
    Ok(RuleSet::read(&files)?)
}

/// All texts of this repository whose names end so.
fn text_below(root: &Path, suffixes: &[&str]) -> Result<String> {
    let listed = std::process::Command::new("git").arg("ls-files").current_dir(root).output()?;
    let mut all = String::new();
    for name in String::from_utf8(listed.stdout)?.lines().filter(|name| suffixes.iter().any(|end| name.ends_with(end)))
    {
        let bytes = std::fs::read(root.join(name)).with_context(|| format!("cannot read {name}"))?;
        all.push_str(&String::from_utf8_lossy(&bytes));
        if all.len() > TEXT_BYTES {
            break;
        }
    }
    Ok(all)
}

fn repeated(text: &str, bytes: usize) -> String {
    text.repeat(bytes / text.len().max(1) + 1)
}
