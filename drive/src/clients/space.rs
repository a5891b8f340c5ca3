//! Space that a model asks for, with the real agents through `infold run`: it reads long files and calls
//! `compact_context`; the next request is shorter, and `read_result` brings a line of what left it back.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use infold_testkit::model::work::{call, read_file};
use infold_testkit::model::{Decision, Received, Step};
use serde_json::json;

/// Long files that are read before the model asks.
const LOGS: usize = 4;
/// Lines of each. They are too few to be offloaded when they are first seen.
const LINES: usize = 320;
/// How a receipt of infold's begins.
const RECEIPT: &str = "[infold] You asked for space";
/// How the name of an offloaded result begins, and how long it is.
const HANDLE: (&str, usize) = ("res_", 40);

/// Writes the files, and returns the model's steps: it reads them, asks for space, and reads a line of the first back.
pub fn steps(project: &Path) -> Result<Vec<Step>> {
    let path = |number: usize| project.join(format!("log-{number:02}.txt"));
    for number in 1..=LOGS {
        let lines: String = (0..LINES).map(|at| line(number, at) + "\n").collect();
        std::fs::write(path(number), lines)?;
    }
    let mut steps: Vec<Step> = (1..=LOGS).map(|number| read_file(&path(number).to_string_lossy())).collect();
    steps.push(Step::seeing(|received| call(received, "compact_context", "I need space.", json!({}))));
    steps.push(Step::seeing(read_back));
    Ok(steps)
}

/// Checks the requests of one thread that made these steps.
pub fn check(turns: &[&Received]) -> Result<()> {
    let after = turns.iter().position(|turn| turn.holds(RECEIPT)).context("no request has a receipt")?;
    let (before, after, back) = (turns[after - 1], turns[after], turns.get(after + 1).context("it did not read back")?);
    ensure!(before.holds(&planted()), "the first file was not read whole:\n{}", before.shape());
    ensure!(!after.holds(&planted()), "the first file is still there:\n{}", after.shape());
    let (was, is) = (before.bytes.len(), after.bytes.len());
    ensure!(is + 2 * LINES * line(1, 0).len() < was, "{was} bytes became {is}");
    ensure!(back.holds(&planted()), "the line did not come back:\n{}", back.shape());
    let receipts = turns.last().map_or(0, |turn| turn.shows_times(RECEIPT));
    ensure!(receipts == 1, "there are {receipts} receipts");
    Ok(())
}

/// All lines look alike, so that a reference shows only the first ones.
fn line(number: usize, at: usize) -> String {
    format!("{at} log {number}: berth {} is quiet, nothing moves", number * 1_000 + at)
}

/// A line in the middle of the first file.
fn planted() -> String {
    line(1, LINES / 2)
}

/// Reads the planted line in the first result that has left.
fn read_back(received: &Received) -> Decision {
    let shown = received.shown();
    let found =
        shown.iter().find_map(|piece| piece.text.find(HANDLE.0).and_then(|at| piece.text.get(at..at + HANDLE.1)));
    match found {
        Some(handle) => {
            let arguments = json!({"ref_id": handle, "pattern": planted()});
            call(received, "read_result", "One line matters.", arguments)
        }
        None => Decision::Stuck("no result has left the request".to_owned()),
    }
}
