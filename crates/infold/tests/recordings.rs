//! `infold fork` and `infold replay`, run as a user runs them on recordings of real clients.

use crate::cli::home;

mod figures;
mod fork;
mod left_alone;
mod mistakes;
mod replay;

use std::path::PathBuf;

/// The path of a fixture, which a real client recorded.
pub fn fixture(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name);
    path.canonicalize().unwrap().to_str().unwrap().to_owned()
}

/// The fixtures of each client, with their names in snapshots.
pub const EACH_CLIENT: [(&str, &str); 9] = [
    ("claude-code-tools", "claude-code/tools.jsonl"),
    ("claude-code-compacted", "claude-code/compacted.jsonl"),
    ("claude-code-large-result", "claude-code/large-result.jsonl"),
    ("codex-tools", "codex/rollout-tools.jsonl"),
    ("codex-compacted", "codex/rollout-compacted.jsonl"),
    ("codex-large-result", "codex/rollout-large-result.jsonl"),
    ("opencode-tools", "opencode/tools.json"),
    ("opencode-compacted", "opencode/compacted.json"),
    ("opencode-large-result", "opencode/large-result.json"),
];
