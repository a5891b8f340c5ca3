//! Counts samples through the program: `infold count --json`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use infold_core::Family;
use serde::Deserialize;
use tempfile::TempDir;

use super::samples::{Sample, TextKind};

/// Files that are counted by one run of the program: as many names as a command line takes.
const FILES_MAX: usize = 4_000;

#[derive(Debug, Deserialize)]
struct Printed {
    inputs: Vec<PrintedInput>,
}

#[derive(Debug, Deserialize)]
struct PrintedInput {
    counts: Vec<PrintedCount>,
}

#[derive(Debug, Deserialize)]
struct PrintedCount {
    tokens: f64,
}

/// What the program counts in each sample: the sum over its texts.
pub(super) fn counted(program: &Path, samples: &[Sample]) -> Result<Vec<f64>> {
    let folder = TempDir::new()?;
    let mut counted = vec![0.0; samples.len()];
    for family in Family::ALL {
        for (kind, name) in [(TextKind::Result, "text"), (TextKind::Message, "message"), (TextKind::Call, "call")] {
            let mut files: Vec<(usize, PathBuf)> = Vec::new();
            for (at, sample) in samples.iter().enumerate().filter(|(_, sample)| sample.family() == family) {
                for text in sample.texts.iter().filter(|text| text.kind == kind) {
                    let path = folder.path().join(files.len().to_string());
                    fs::write(&path, &text.text)?;
                    files.push((at, path));
                }
            }
            for files in files.chunks(FILES_MAX) {
                let tokens = count(program, folder.path(), family, name, files)?;
                files.iter().zip(tokens).for_each(|((at, _), tokens)| counted[*at] += tokens);
            }
        }
    }
    Ok(counted)
}

fn count(program: &Path, folder: &Path, family: Family, kind: &str, files: &[(usize, PathBuf)]) -> Result<Vec<f64>> {
    let mut command = Command::new(program);
    command.args(["count", "--json", "--model", family.as_str(), "--as", kind]);
    command.args(files.iter().map(|(_, path)| path)).env("INFOLD_DATA", folder.join("data"));
    let ended = command.output().with_context(|| format!("{} does not start", program.display()))?;
    ensure!(ended.status.success(), "infold count failed: {}", String::from_utf8_lossy(&ended.stderr));
    let printed: Printed = serde_json::from_slice(&ended.stdout).context("infold count printed no JSON")?;
    let tokens: Vec<f64> = printed.inputs.iter().filter_map(|input| Some(input.counts.first()?.tokens)).collect();
    ensure!(tokens.len() == files.len(), "infold count left inputs out");
    Ok(tokens)
}
