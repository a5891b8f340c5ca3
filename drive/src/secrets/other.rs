//! Another scanner that can be installed, betterleaks through its Python package, on the same cases.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::Finds;
use xtask::workspace::{Workspace, run};

const PACKAGE: &str = "pybetterleaks==0.6.2";

/// Reads cases, and prints for each the ids of the rules that found something, as a JSON array.
const SCRIPT: &str = r#"
import gzip, json, sys
import pybetterleaks
print(json.dumps(pybetterleaks.betterleaks_version()))
for line in gzip.open(sys.argv[1], "rt"):
    found = pybetterleaks.scan_text(json.loads(line)["text"])
    print(json.dumps([finding.rule_id for finding in found.findings]))
"#;

/// Installs the scanner if it is not there, and runs it on all cases.
pub(super) fn scan(workspace: &Workspace, cases: &Path, count: usize) -> Result<(String, Vec<Finds>)> {
    let folder = workspace.tools().join("bench").join("betterleaks");
    let python = folder.join("bin/python");
    if !python.exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
    }
    run(Command::new(&python).args(["-m", "pip", "install", "--quiet", PACKAGE]))?;
    let output = Command::new(&python).args(["-c", SCRIPT]).arg(cases).output().context("python does not start")?;
    ensure!(output.status.success(), "betterleaks failed: {}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8(output.stdout)?;
    let mut lines = printed.lines();
    let version: String = serde_json::from_str(lines.next().unwrap_or_default())?;
    let finds: Vec<BTreeSet<String>> = lines.map(serde_json::from_str).collect::<Result<_, _>>()?;
    ensure!(finds.len() == count, "betterleaks answered {} of {count} cases", finds.len());
    Ok((format!("betterleaks {version}"), finds))
}
