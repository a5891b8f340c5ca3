//! `infold fork` and `infold replay`, run as a user runs them on recordings of real clients.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

#[path = "../cli/home.rs"]
#[allow(dead_code, reason = "what the tests of the command line need is more than what these do")]
mod home;

mod figures;
mod fork;
mod left_alone;
mod mistakes;
mod replay;

use std::path::PathBuf;

/// A recording that a real client made.
pub fn fixture(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name);
    path.canonicalize().unwrap().to_str().unwrap().to_owned()
}

/// One recording of each client, with what its name is in snapshots.
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
