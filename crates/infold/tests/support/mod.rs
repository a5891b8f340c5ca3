//! What the tests of the running program share: a daemon with a client and its JSON API, refusals of
//! every surface in one form, the database looked at from outside, secrets to plant, and tokens.

mod api;
mod database;
mod events;
mod leaks;
mod program;
mod refused;
mod tokens;

pub use api::{Api, ApiAnswer};
pub use database::Database;
pub use events::of_type;
pub use leaks::{Secret, files_below, secrets, whereabouts};
pub use program::Program;
pub use refused::Refused;
pub use tokens::Issuer;

use std::time::Duration;

use infold_testkit::DaemonSetup;
use serde_json::{Map, Value, json};

/// How long anything that must happen may take. Far longer than it does.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// The pause between two looks at something that must happen.
pub const POLL: Duration = Duration::from_millis(10);

/// A daemon with its default settings, not started yet.
pub fn infold() -> DaemonSetup {
    DaemonSetup::new(env!("CARGO_BIN_EXE_infold"))
}

/// A daemon that allows more openings a minute than a test makes.
pub fn roomy() -> DaemonSetup {
    infold().set("folding.max_branches_per_minute", 1_000)
}

/// The `_meta` of a call that is made in `thread`: a branch, or `main`.
pub fn in_thread(thread: &str) -> Map<String, Value> {
    Map::from_iter([("infold/branchId".to_owned(), json!(thread))])
}

/// Lines that are about `topic`, `bytes` long or a little longer.
pub fn lines_about(topic: &str, bytes: usize) -> String {
    let mut text = String::new();
    let mut number = 0;
    while text.len() < bytes {
        number += 1;
        text.push_str(&format!("{number} {topic} said that all was well\n"));
    }
    text
}
