//! Where recordings are, for the tests that read them.

pub mod essence;

use std::path::{Path, PathBuf};

use infold_wire::{ReadLimits, open};

/// The limits that the program reads with.
pub const LIMITS: ReadLimits = ReadLimits { entry_bytes_max: 64 << 20, problems_max: 100 };

#[allow(clippy::print_stdout, reason = "whoever runs the tests has to see what was left out")]
/// All files that hold transcripts or requests, or none if there is no data.
pub fn recordings() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let data = std::env::var_os("INFOLD_TEST_DATA").map_or_else(|| root.join("../shared/data"), PathBuf::from);
    let mut files = Vec::new();
    let clients = ["claude-code", "codex", "opencode", "aider", "goose", "qwen-code"];
    for client in clients {
        walk(&data.join("clients").join(client), &mut files);
    }
    let mut sessions = Vec::new();
    walk(&data.join("sessions"), &mut sessions);
    sessions.sort();
    files.extend(sessions.into_iter().step_by(recorded_every()));
    files.retain(|path| is_recording(path));
    files.sort();
    if files.is_empty() {
        println!("skipped: there are no recordings in {}", data.display());
    }
    files
}

/// Of so many recorded sessions one is taken: `INFOLD_RECORDED_EVERY`, or all.
pub fn recorded_every() -> usize {
    std::env::var("INFOLD_RECORDED_EVERY").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() { walk(&path, files) } else { files.push(path) }
    }
}

fn is_recording(path: &Path) -> bool {
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let is_inside = |folder: &str| path.components().any(|part| part.as_os_str() == folder);
    let is_transcript = is_inside("transcripts")
        && !is_inside("qwen-code")
        && (name.ends_with(".jsonl") || name.starts_with("export-"));
    is_transcript || name == "requests.jsonl" || name == "session-messages.json" || name.ends_with(".jsonl.gz")
}

/// A file's bytes, decompressed.
#[allow(dead_code, reason = "not every test that shares this module needs the bytes")]
pub fn unpacked(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut open(path).unwrap(), &mut bytes).unwrap();
    bytes
}

/// A file's name, for messages that must not name a folder.
#[allow(dead_code, reason = "not every test that shares this module needs it")]
pub fn shown(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}
