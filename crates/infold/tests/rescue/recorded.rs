//! Every recorded session, rescued to several windows and read again.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use infold_core::transcript::{Item, Kind, Transcript, Voice};
use infold_core::{Counter, Family};
use infold_wire::ReadLimits;
use serde_json::{Value, json};

use super::counted::user_messages;
use super::home::Home;
use super::sessions::lines;

const WINDOWS: [u64; 3] = [20_000, 60_000, 120_000];

/// The recorded sessions; empty where there are none. `INFOLD_RECORDED_EVERY` takes one of so many.
fn recordings() -> Vec<PathBuf> {
    let data = std::env::var_os("INFOLD_TEST_DATA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"), PathBuf::from);
    let Ok(folder) = fs::read_dir(data.join("sessions/raw")) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = folder.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let every: usize = std::env::var("INFOLD_RECORDED_EVERY").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    paths.into_iter().step_by(every).collect()
}

fn transcript(path: &Path) -> Transcript {
    let limits = ReadLimits::with_entry_bytes_max(1 << 26);
    infold_wire::Reader::new(infold_wire::open(path).unwrap(), None, limits)
        .unwrap()
        .into_transcript()
        .unwrap()
        .transcript
}

/// What the client would load: what the last compaction kept, and what came after it.
fn loaded(transcript: &Transcript) -> Vec<&Item> {
    let is_compaction = |item: &Item| matches!(item.kind, Kind::Compaction { .. });
    let from = transcript.items.iter().rposition(is_compaction).unwrap_or(0);
    let mut items = Vec::new();
    for item in &transcript.items[from..] {
        items.push(item);
        if let Kind::Compaction { kept, .. } = &item.kind {
            items.extend(kept);
        }
    }
    items
}

fn spoken_words<'a>(items: &[&'a Item]) -> Vec<&'a str> {
    items
        .iter()
        .filter(|item| matches!(item.kind, Kind::User { voice: Voice::Person, .. }))
        .map(|item| item.text())
        .collect()
}

#[test]
fn every_recorded_session_fits_and_reads_back_whole() {
    let recordings = recordings();
    if recordings.is_empty() {
        eprintln!("skipped: no recorded sessions; INFOLD_TEST_DATA names the folder that has them");
        return;
    }
    let mut written = 0;
    let mut refused = 0;
    std::thread::scope(|scope| {
        let (half, rest) = recordings.split_at(recordings.len() / 2);
        let workers =
            [half, rest].map(|part| scope.spawn(move || part.iter().map(|path| check(path)).collect::<Vec<_>>()));
        for outcome in workers.into_iter().flat_map(|worker| worker.join().unwrap()) {
            written += outcome.0;
            refused += outcome.1;
        }
    });
    eprintln!("{written} rescued, {refused} refused as too small");
    assert!(written > refused, "{written} rescued, {refused} refused");
}

/// Rescues one recording to every window, and returns how many rescues were written and how many were refused.
fn check(path: &Path) -> (usize, usize) {
    let (mut written, mut refused) = (0, 0);
    let before = fs::read(path).unwrap();
    let original = transcript(path);
    let home = Home::new();
    for window in WINDOWS {
        let (output, window) = (home.join("project"), window.to_string());
        let arguments = ["rescue", path.to_str().unwrap(), "--output", output.to_str().unwrap(), "--force"];
        let ended = home.run(&[&arguments[..], &["--window", &window, "--reserve", "0", "--json"]].concat());
        if ended.code == 3 {
            assert!(ended.stderr.contains("what has to stay needs"), "{}", ended.stderr);
            refused += 1;
            continue;
        }
        let report = super::sessions::printed(&ended);
        check_written(&report, &original, path, &home);
        written += 1;
    }
    assert_eq!(fs::read(path).unwrap(), before, "the original must not change");
    (written, refused)
}

fn check_written(report: &Value, original: &Transcript, path: &Path, home: &Home) {
    let new = report["written"]["path"].as_str().unwrap();
    let new_path = PathBuf::from(new.replace("HOME", home.join("").to_str().unwrap().trim_end_matches('/')));
    let rescued = transcript(&new_path);
    let (before, after) = (loaded(original), loaded(&rescued));
    let receipt = |text: &&&str| !text.starts_with("[infold rescue: receipt]");
    let said_after: Vec<&str> = spoken_words(&after).iter().filter(receipt).copied().collect();
    assert_eq!(said_after, spoken_words(&before), "the person's words changed in {}", report["session_id"]);

    let mut open: BTreeMap<&str, u64> = BTreeMap::new();
    for item in &after {
        match &item.kind {
            Kind::Call { id, .. } => *open.entry(id).or_default() += 1,
            Kind::Result { id, .. } => *open.get_mut(id.as_str()).expect("a result without its call") -= 1,
            Kind::Reasoning { .. } => panic!("reasoning is left"),
            _ => {}
        }
    }
    assert!(open.values().all(|count| *count == 0), "calls without results");

    let family = report["model"].as_str().map_or(Family::Claude, Family::of_model);
    let counter = Counter::new(family);
    let tokens: u64 = after
        .iter()
        .map(|item| match &item.kind {
            Kind::Call { .. } => counter.count_call(item.text()),
            _ => counter.count_item(item),
        })
        .sum();
    assert!(tokens <= report["room_tokens"].as_u64().unwrap(), "{tokens} tokens: {}", report["room_tokens"]);
    check_lines(report, path, home, new);
    check_receipt(report, path, home, new);
    check_handles(report, original, home);
}

/// Checks the receipt's count of the user's messages against the original and the new file, each counted separately.
fn check_receipt(report: &Value, path: &Path, home: &Home, new: &str) {
    let source = std::io::read_to_string(infold_wire::open(path).unwrap()).unwrap();
    let before: Vec<Value> = source.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (after, session) = (lines(new, home), &report["session_id"]);
    let said = report["user_messages"].as_u64().unwrap() as usize;
    assert_eq!(said, user_messages(&before), "in the original of {session}");
    assert_eq!(said, user_messages(&after), "in the new file of {session}");
    let receipt = format!("All {said} messages of the user that it still held are here, word for word.");
    assert!(said < 2 || after.iter().any(|line| line.to_string().contains(&receipt)), "{session}");
}

/// Checks that every handle gives back what was offloaded, whole, but for secrets.
fn check_handles(report: &Value, original: &Transcript, home: &Home) {
    let moved =
        ["offloaded", "shortened"].map(|list| report[list].as_array().unwrap().iter().map(move |one| (list, one)));
    for (list, moved) in moved.into_iter().flatten() {
        let content = read_back(moved["ref_id"].as_str().unwrap(), home);
        let is_original = |item: &&Item| match (&item.kind, list) {
            (Kind::Result { id, text, .. }, "offloaded") => moved["call_id"] == *id && is_same(&content, text),
            (Kind::Call { id, input, .. }, "shortened") => moved["call_id"] == *id && is_same(&content, input),
            _ => false,
        };
        assert!(loaded(original).iter().any(is_original), "{} of {}", moved["ref_id"], report["session_id"]);
    }
}

/// The whole text that a handle names, read page by page.
fn read_back(handle: &str, home: &Home) -> String {
    let mut content = String::new();
    let mut offset = Some(0);
    while let Some(from) = offset {
        let ended = home.run(&["result", handle, "--offset", &from.to_string(), "--limit", "65536", "--json"]);
        let page = super::sessions::printed(&ended);
        content.push_str(page["content"].as_str().unwrap());
        offset = page["next_offset"].as_u64();
    }
    content
}

/// Whether `masked` is `text` with placeholders in place of its secrets.
fn is_same(masked: &str, text: &str) -> bool {
    let mut parts = masked.split("[SECRET:");
    let Some(mut rest) = text.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let behind: Vec<&str> = parts.map(|part| part.split_once(']').map_or("", |(_, behind)| behind)).collect();
    let Some((last, between)) = behind.split_last() else { return rest.is_empty() };
    for part in between {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// Checks that lines out of which nothing was offloaded are what they were, but for their links and figures.
fn check_lines(report: &Value, path: &Path, home: &Home, new: &str) {
    let mut originals: BTreeMap<String, Value> = BTreeMap::new();
    let source = std::io::read_to_string(infold_wire::open(path).unwrap()).unwrap();
    for line in source.lines() {
        let line = plain(serde_json::from_str(line).unwrap());
        originals.insert(key(&line), line);
    }
    let moved = report["offloaded"].as_array().unwrap().len() + report["shortened"].as_array().unwrap().len();
    let new_lines = lines(new, home);
    let changed = new_lines.iter().filter(|line| {
        let line = plain((*line).clone());
        originals.get(&key(&line)) != Some(&line)
    });
    // The receipt, the note to the user, and what a compaction line holds change as well.
    let changed = changed.count();
    assert!(changed <= moved + 3, "{changed} lines changed, {moved} texts were moved");
}

/// A line without the fields that every rescue changes.
fn plain(mut line: Value) -> Value {
    for field in ["parentUuid", "sessionId", "ordinal"] {
        line[field] = Value::Null;
    }
    if line["message"]["usage"].is_object() {
        line["message"]["usage"] = Value::Null;
    }
    if line["type"] == "session_meta" {
        line["payload"]["id"] = json!("");
        line["payload"]["session_id"] = Value::Null;
    }
    line
}

/// What identifies a line: its id, or the whole line if it has none.
fn key(line: &Value) -> String {
    line["uuid"].as_str().map_or_else(|| line.to_string(), str::to_owned)
}
