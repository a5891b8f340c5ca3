//! Keeps `docs/requirements.md` honest: what it names exists, and what exists is named.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// What the documents require.
const REQUIRED: [&str; 27] = [
    "FR-001", "FR-002", "FR-003", "FR-003a", "FR-004", "FR-005", "FR-006", "FR-007", "FR-008", "FR-009", "FR-010",
    "SEC-001", "SEC-002", "SEC-003", "SEC-004", "SEC-005", "SC-001", "SC-003", "SC-004", "ENH-1", "ENH-2", "ENH-3",
    "ENH-4", "ENH-5", "ENH-6", "ENH-7", "ENH-8",
];

/// The folders whose tests are named for requirements.
const FOLDERS: [&str; 4] = ["tests/requirements", "tests/agent", "tests/agent_context", "tests/proxy"];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn table() -> Result<String> {
    let path = crates().join("../docs/requirements.md");
    fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
}

/// What the table names, as (file, function). In a row, a file's name applies to the functions after it.
fn named(table: &str) -> Vec<(String, String)> {
    let is_name = |word: &str| word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    let mut named = Vec::new();
    for row in table.lines().filter(|line| line.starts_with('|')) {
        let mut file = None;
        for word in row.split('`').skip(1).step_by(2) {
            match &file {
                _ if word.ends_with(".rs") => file = Some(word.to_owned()),
                Some(file) if is_name(word) => named.push((file.clone(), word.to_owned())),
                Some(_) | None => {}
            }
        }
    }
    named
}

/// The tests in a source, by name.
fn tests_in(source: &str) -> Vec<String> {
    let after_test = source.split("#[test]").skip(1).chain(source.split("#[tokio::test").skip(1));
    let name = |text: &str| Some(text.split_once("fn ")?.1.split_once('(')?.0.to_owned());
    after_test.filter_map(name).collect()
}

#[test]
fn every_test_that_the_table_names_exists() -> Result<()> {
    let named = named(&table()?);
    assert!(named.len() > 40, "the table names only {named:?}");
    for (file, function) in named {
        let path = crates().join(&file);
        let source = fs::read_to_string(&path).with_context(|| format!("the table names {file}"))?;
        assert!(tests_in(&source).contains(&function), "{file} has no test {function}");
    }
    Ok(())
}

#[test]
fn every_test_that_is_named_for_a_requirement_is_in_the_table() -> Result<()> {
    let in_table: BTreeSet<String> = named(&table()?).into_iter().map(|(_, function)| function).collect();
    for folder in FOLDERS {
        for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder))? {
            let path = entry?.path();
            if path.extension().is_none_or(|ending| ending != "rs") {
                continue;
            }
            let tests = tests_in(&fs::read_to_string(&path)?);
            let is_named = |test: &&String| ["fr_", "sec_", "sc_", "enh_"].iter().any(|kind| test.starts_with(kind));
            for test in tests.iter().filter(is_named) {
                assert!(in_table.contains(test), "{} has {test}, which the table lacks", path.display());
            }
        }
    }
    Ok(())
}

#[test]
fn every_requirement_has_a_row_with_a_test_named_for_it() -> Result<()> {
    let table = table()?;
    for required in REQUIRED {
        let row = table.lines().find(|line| line.starts_with(&format!("| {required} |")));
        let row = row.with_context(|| format!("{required} has no row"))?;
        let prefix = format!("`{}_", required.to_lowercase().replace('-', "_"));
        assert!(row.contains(&prefix), "{required} has no test named for it: {row}");
    }
    Ok(())
}
