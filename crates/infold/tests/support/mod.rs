//! What the tests of the running program share: a daemon with a client and its JSON API, refusals of
//! every surface in one form, the database looked at from outside, secrets to plant, and tokens.

#![allow(dead_code, unused_imports, reason = "each test program uses a part of this")]

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
pub use leaks::{Secret, secrets, whereabouts};
pub use program::Program;
pub use refused::Refused;
pub use tokens::Issuer;

use std::time::Duration;

use infold_testkit::DaemonSetup;
use serde_json::{Map, Value, json};

/// How long anything that must happen may take. Far longer than it does.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// How often something that must happen is looked for.
pub const POLL: Duration = Duration::from_millis(10);

/// The program with its default settings.
pub fn infold() -> DaemonSetup {
    DaemonSetup::new(env!("CARGO_BIN_EXE_infold"))
}

/// The program with room for more openings a minute than a test makes.
pub fn roomy() -> DaemonSetup {
    infold().set("folding.max_branches_per_minute", 1_000)
}

/// What a call carries to say that it is made in `thread`: a branch, or `main`.
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
