//! Looks at the page of `infold replay` in a real browser, which can reach nobody.
//!
//! The browser prints the page as it is after its scripts have run, and every word of its console.

#[cfg(test)]
mod tests;

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail, ensure};
use infold_testkit::TempFolder;

use crate::IfAbsent;
use xtask::report::{Report, Totals};
use xtask::tools::on_path;
use xtask::workspace::Workspace;

/// Names under which the browser may be installed.
const BROWSERS: [&str; 2] = ["chromium", "chromium-browser"];
/// The chart must have a line for each policy.
const LINES_MIN: usize = 7;
/// The chart must have a bar for each policy.
const BARS_MIN: usize = 7;

/// Makes the page of the fixtures and looks at it.
pub fn run(workspace: &Workspace, program: &Path, absent: IfAbsent) -> Result<ExitCode> {
    let mut report = Report::default();
    match browser() {
        Err(error) if absent == IfAbsent::Skip => report.skip("page", &format!("{error:#}")),
        browser => report.stage("page", || check(workspace, browser?, program)),
    }
    Ok(report.finish())
}

fn check(workspace: &Workspace, browser: &str, program: &Path) -> Result<Totals> {
    let folder = TempFolder::inside(&workspace.target().join("page"))?;
    let page = folder.join("replay.html");
    let status = Command::new(program)
        .args(["replay", "--quiet", "--html"])
        .arg(&page)
        .arg(workspace.root.join("fixtures"))
        .env("INFOLD_DATA", folder.join("data"))
        .stdout(Stdio::null())
        .status()?;
    ensure!(status.success(), "infold replay failed");
    let seen = look(browser, &page, &folder.join("profile"))?;
    judge(&seen)?;
    Ok(Totals::one_passed())
}

/// The name of an installed browser.
fn browser() -> Result<&'static str> {
    BROWSERS.into_iter().find(|name| on_path(name)).context("chromium is missing")
}

/// What the browser made of a page.
#[derive(Debug)]
struct Seen {
    /// The page after its scripts have run.
    document: String,
    /// What was said on the console.
    console: Vec<String>,
}

fn look(browser: &str, page: &Path, profile: &Path) -> Result<Seen> {
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--enable-logging=stderr"])
        // No host name is resolved, so that the page can reach nobody.
        .args(["--host-resolver-rules=MAP * ~NOTFOUND", "--virtual-time-budget=5000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("file://{}", page.display()))
        .output()
        .with_context(|| format!("{browser} cannot be run"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{browser} failed: {said}");
    let console = said.lines().filter(|line| line.contains(":CONSOLE")).map(str::to_owned).collect();
    Ok(Seen { document: String::from_utf8_lossy(&output.stdout).into_owned(), console })
}

fn judge(seen: &Seen) -> Result<()> {
    if !seen.console.is_empty() {
        bail!("the page complains:\n{}", seen.console.join("\n"));
    }
    let chart = seen.document.split("<svg").nth(1).and_then(|rest| rest.split("</svg>").next()).unwrap_or_default();
    let lines = chart.split("<path").skip(1).filter(|path| path.contains(" d=\"M")).count();
    let bars = seen.document.matches("class=\"track\"").count();
    ensure!(lines >= LINES_MIN, "the chart has {lines} lines; {LINES_MIN} are wanted");
    ensure!(bars >= BARS_MIN, "there are {bars} bars; {BARS_MIN} are wanted");
    Ok(())
}
