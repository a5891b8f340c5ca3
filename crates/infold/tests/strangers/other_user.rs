//! Another user of the machine: a process with another uid, which only root can start. Where that is
//! not possible the tests say so; in CI they fail instead.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};

use anyhow::{Context, Result, bail, ensure};
use reqwest::Method;

use super::routes::{HEALTH, methods, paths};
use crate::support::Program;

/// The user who owns nothing.
pub const NOBODY: u32 = 65534;

/// Runs a command as the other user; `None` where this process may not.
fn as_nobody(command: &mut Command) -> Result<Option<Output>> {
    match command.current_dir("/").uid(NOBODY).gid(NOBODY).output() {
        Ok(output) => Ok(Some(output)),
        Err(error) if std::env::var("CI").is_ok_and(|ci| ci == "true") => {
            bail!("only root can act as another user, and CI must: {error}")
        }
        Err(error) => {
            eprintln!("skipped: only root can act as another user ({error})");
            Ok(None)
        }
    }
}

/// What the other user gets for requests of one method: each status with its path, in order.
fn statuses(program: &Program, method: &Method, paths: &[String], more: &[&str]) -> Result<Option<Vec<(u16, String)>>> {
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--show-error", "--max-time", "20", "--noproxy", "*"]).args(more);
    curl.args(["--write-out", "%{http_code} %{url_effective}\n"]);
    match *method {
        Method::HEAD => curl.arg("--head"),
        _ => curl.args(["--request", method.as_str()]),
    };
    for path in paths {
        curl.args(["--output", "/dev/null"]).arg(format!("{}{path}", program.daemon.base_url()));
    }
    let Some(output) = as_nobody(&mut curl)? else { return Ok(None) };
    ensure!(output.status.success(), "curl: {}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout)?;
    let read = |line: &str| {
        let (status, url) = line.split_once(' ')?;
        Some((status.parse().ok()?, url.strip_prefix(program.daemon.base_url())?.to_owned()))
    };
    let statuses: Vec<(u16, String)> = lines.lines().filter_map(read).collect();
    ensure!(statuses.len() == paths.len(), "{} answers to {} requests: {lines}", statuses.len(), paths.len());
    Ok(Some(statuses))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_user_of_the_machine_is_refused_on_every_route_but_health() -> Result<()> {
    let program = Program::plain().await?;
    program.open("some-session", "Not to be touched").await?;
    let before = program.database()?.contents()?;
    let paths = paths(&program).await?;
    for method in methods() {
        let Some(statuses) = statuses(&program, &method, &paths, &[])? else { return Ok(()) };
        for (status, path) in statuses {
            let refused = status == 401;
            let is_health = HEALTH.contains(&path.as_str());
            assert_eq!(refused, !is_health, "{method} {path} got {status}");
        }
    }
    let health = HEALTH.map(str::to_owned);
    let statuses = statuses(&program, &Method::GET, &health, &[])?.context("it worked before")?;
    assert!(statuses.iter().all(|(status, _)| *status == 200), "{statuses:?}");
    assert_eq!(program.database()?.contents()?, before, "nothing was touched");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_user_with_the_token_is_let_in() -> Result<()> {
    let program = Program::plain().await?;
    let token = std::fs::read_to_string(program.daemon.data().join("token"))?;
    let path = ["/api/v1/sessions".to_owned()];
    for header in [format!("Authorization: Bearer {}", token.trim()), format!("X-Infold-Token: {}", token.trim())] {
        let Some(statuses) = statuses(&program, &Method::GET, &path, &["--header", &header])? else { return Ok(()) };
        assert_eq!(statuses[0].0, 200);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_user_can_read_nothing_of_what_is_kept() -> Result<()> {
    let program = Program::plain().await?;
    program.open("s", "Private").await?;
    let data = program.daemon.data();
    let mut files: Vec<std::path::PathBuf> = Vec::new();
    for entry in std::fs::read_dir(data)? {
        files.push(entry?.path());
    }
    assert!(files.len() >= 2, "{files:?}");
    for file in files.iter().map(|file| file.as_path()).chain([data]) {
        let reads = if file == data { "ls" } else { "cat" };
        let Some(output) = as_nobody(Command::new(reads).arg(file))? else { return Ok(()) };
        assert!(!output.status.success(), "{} can be read", Path::new(file).display());
        let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(file)?) & 0o077;
        assert_eq!(mode, 0, "{} has rights for others", file.display());
    }
    Ok(())
}
