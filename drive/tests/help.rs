//! The chores can be listed. This test also has cargo build the program together with all others, from which the test
//! command runs it.

use std::process::Command;

#[test]
fn every_chore_is_listed_and_explains_itself() {
    let help = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_drive")).args(arguments).output().map(|output| output.stdout);
        String::from_utf8_lossy(&output.unwrap_or_default()).into_owned()
    };
    let all = help(&["--help"]);
    for chore in ["conformance", "clients", "record", "model", "bench", "same", "page", "measure"] {
        assert!(all.contains(chore), "{all}");
        assert!(help(&[chore, "--help"]).contains("Usage: cargo xtask"), "{chore}");
    }
}
