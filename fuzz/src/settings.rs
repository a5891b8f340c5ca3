//! Settings: whatever is written in a file, a variable or a flag, what is wrong with it is named.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use tempfile::TempDir;

use crate::program::settings::{Assignment, FlagValues, Surroundings, gather, resolve};

static FOLDER: LazyLock<(TempDir, PathBuf)> = LazyLock::new(|| {
    let folder = TempDir::new().expect("a temporary folder can be made");
    let file = folder.path().join("settings.toml");
    (folder, file)
});

/// The first byte says where the rest is written: a file, a flag or a variable.
pub(crate) fn check(input: &[u8]) {
    let Some((place, rest)) = input.split_first() else { return };
    match place % 4 {
        0 => check_flag(rest),
        1 => check_variable(rest),
        _ => check_file(rest),
    }
}

fn check_file(bytes: &[u8]) {
    let file = &FOLDER.1;
    fs::write(file, bytes).expect("a temporary file can be written");
    let variables = [("INFOLD_CONFIG".to_owned(), OsString::from(file))].into();
    let named = file.display().to_string();
    check_named(&Surroundings { variables, folder: None }, FlagValues::default(), &named);
}

fn check_flag(bytes: &[u8]) {
    let Ok(assignment) = String::from_utf8_lossy(bytes).parse::<Assignment>() else { return };
    let named = assignment.key.clone();
    check_named(&Surroundings::default(), FlagValues { set: vec![assignment], ..FlagValues::default() }, &named);
}

fn check_variable(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let Some((name, value)) = text.split_once('=') else { return };
    let name = format!("INFOLD_{}", name.to_ascii_uppercase());
    if name == "INFOLD_CONFIG" {
        return;
    }
    let variables = [(name.clone(), OsString::from(value))].into();
    check_named(&Surroundings { variables, folder: None }, FlagValues::default(), &name);
}

/// Whatever is wrong, the messages name where.
fn check_named(surroundings: &Surroundings, flags: FlagValues, named: &str) {
    let problems = match gather(surroundings, flags).and_then(resolve) {
        Ok(_) => return,
        Err(problems) => problems,
    };
    assert!(!problems.is_empty(), "something is wrong, and nothing is said");
    for problem in problems.iter() {
        assert!(problem.message.contains(named), "{named:?} is not named in: {problem}");
    }
}
