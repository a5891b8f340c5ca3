//! Finds transcripts in folders: those that the user names, and those in which clients store theirs. Only file names
//! are read, no files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use std::{fs, io};

use anyhow::Context;

use crate::failure::Refused;
use crate::settings::Surroundings;

/// How deep folders are searched. Clients nest their own at most four deep.
const DEPTH_MAX: usize = 12;
/// Fewest characters that a shortened id must have.
const PREFIX_CHARS_MIN: usize = 4;
/// Most ids that are listed if a shortened one is ambiguous.
const MATCHES_SHOWN_MAX: usize = 8;
/// The endings of transcripts' names.
pub const ENDINGS: [&str; 4] = [".jsonl", ".jsonl.gz", ".json", ".json.gz"];

/// The files that were named, and the transcripts in the folders that were named, each once and in a fixed order.
pub fn expand(names: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for name in names {
        if name.is_dir() {
            let before = files.len();
            collect(name, 0, &mut files)?;
            if files.len() == before {
                return Err(Refused::new(format!("no transcript in {}", name.display()))
                    .hint(format!("transcripts end in {}", ENDINGS.join(", ")))
                    .into());
            }
        } else if name.exists() {
            files.push(name.clone());
        } else {
            return Err(Refused::new(format!("no file {}", name.display()))
                .hint("give the paths of transcripts, or of folders that contain some")
                .into());
        }
    }
    let mut seen = BTreeSet::new();
    files.retain(|file| seen.insert(file.canonicalize().unwrap_or_else(|_| file.clone())));
    Ok(files)
}

/// The latest recordings of this user's clients, at most `count_max`, the latest first.
pub fn recorded(surroundings: &Surroundings, count_max: usize) -> Vec<PathBuf> {
    let mut files = of_clients(surroundings);
    files.sort_by_cached_key(|file| std::cmp::Reverse(modified(file)));
    files.truncate(count_max);
    files
}

/// The latest recording of the client's session with this id, or with the only id that begins with it.
pub fn of_session(typed: &str, surroundings: &Surroundings) -> Result<Option<PathBuf>, Refused> {
    by_id(typed, of_clients(surroundings))
}

pub(super) fn by_id(typed: &str, files: Vec<PathBuf>) -> Result<Option<PathBuf>, Refused> {
    let begins = |file: &&PathBuf| session_id(file).is_some_and(|id| id.starts_with(typed));
    let ids: BTreeSet<&str> = files.iter().filter(begins).filter_map(|file| session_id(file)).collect();
    let id = match ids.first() {
        Some(first) if *first == typed => *first,
        Some(first) if ids.len() == 1 && typed.len() >= PREFIX_CHARS_MIN => *first,
        Some(_) if typed.len() >= PREFIX_CHARS_MIN => {
            let shown: Vec<&str> = ids.iter().copied().take(MATCHES_SHOWN_MAX).collect();
            return Err(Refused::new(format!("session id {typed} is ambiguous, it could be {}", shown.join(", ")))
                .hint("type more of it")
                .code("session_ambiguous"));
        }
        Some(_) | None => return Ok(None),
    };
    let of_session = files.iter().filter(|file| session_id(file) == Some(id));
    Ok(of_session.max_by_key(|file| modified(file)).cloned())
}

/// All recordings of this user's clients, except in folders that cannot be read.
fn of_clients(surroundings: &Surroundings) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for folder in client_folders(surroundings).iter().filter(|folder| folder.is_dir()) {
        // The user did not name these folders, so one that cannot be read is no reason to stop.
        let _ = collect(folder, 0, &mut files);
    }
    files
}

/// The folders in which Claude Code and Codex store their sessions.
fn client_folders(surroundings: &Surroundings) -> Vec<PathBuf> {
    let home = surroundings.text("HOME").map(PathBuf::from);
    let folder = |variable: &str, below_home: &str| {
        surroundings.text(variable).map(PathBuf::from).or_else(|| home.as_ref().map(|home| home.join(below_home)))
    };
    let claude = folder("CLAUDE_CONFIG_DIR", ".claude").map(|folder| folder.join("projects"));
    let codex = folder("CODEX_HOME", ".codex").map(|folder| folder.join("sessions"));
    claude.into_iter().chain(codex).collect()
}

/// The session's id in a client's file name: `<id>.jsonl`, or `rollout-<time>-<id>.jsonl`.
fn session_id(file: &Path) -> Option<&str> {
    let name = file.file_name()?.to_str()?.strip_suffix(".jsonl")?;
    if !name.starts_with("rollout-") {
        return Some(name);
    }
    // An id is a UUID, which has 36 characters; the time before it has dashes, too.
    name.len().checked_sub(36).and_then(|start| name.get(start..))
}

fn collect(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let unreadable = || format!("cannot read the folder {}", folder.display());
    let mut entries: Vec<_> = fs::read_dir(folder)
        .and_then(Iterator::collect::<io::Result<Vec<_>>>)
        .with_context(unreadable)?
        .into_iter()
        .map(|entry| (entry.path(), entry.file_type()))
        .collect();
    entries.sort_by(|one, other| one.0.cmp(&other.0));
    for (path, file_type) in entries {
        let file_type = file_type.with_context(unreadable)?;
        if file_type.is_dir() {
            if depth < DEPTH_MAX {
                collect(&path, depth + 1, files)?;
            }
        } else if is_session(&path) {
            files.push(path);
        }
    }
    Ok(())
}

/// Whether a file that was found may be a session. Recordings of subagents are in the same folders; they belong to
/// their session and would be counted twice.
fn is_session(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_agents = name.starts_with("agent-") || name.ends_with(".meta.json");
    !is_agents && ENDINGS.iter().any(|ending| name.ends_with(ending))
}

fn modified(file: &Path) -> Option<SystemTime> {
    fs::metadata(file).and_then(|data| data.modified()).ok()
}
