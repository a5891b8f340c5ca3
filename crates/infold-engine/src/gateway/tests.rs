//! The gateway's operations on a real store in a temporary folder.

mod figures;
mod named;
mod pins;
mod planted;
mod relayed;

use infold_core::gateway::ServerKey;

use crate::tests::Bench;

fn server() -> ServerKey {
    ServerKey::new("files")
}

/// A secret that the scrubber knows by its form.
fn secret() -> String {
    format!("ghp_{}", "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8")
}

/// Whether a text is in any file of the database.
fn is_on_disk(bench: &Bench, text: &str) -> bool {
    std::fs::read_dir(bench.folder.path()).unwrap().any(|file| {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        bytes.windows(text.len()).any(|window| window == text.as_bytes())
    })
}
