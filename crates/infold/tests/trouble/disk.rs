//! A disk that is full, and a database that is cut short under a running daemon: neither is ready.

use std::fs::{File, OpenOptions};
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use infold_testkit::TempFolder;
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::support::{PATIENCE, POLL, Program, infold, lines_about};

/// Bytes of the small disk.
const DISK_BYTES: u64 = 4 << 20;
/// Bytes at the end of a database that are lost: a few pages.
const HOLE_BYTES: u64 = 5 * 4096;

/// A small disk in memory, which only root can make. It is gone with the test.
struct SmallDisk {
    folder: TempFolder,
}

impl SmallDisk {
    /// Makes the disk; `None` where this process may not.
    fn new() -> Result<Option<Self>> {
        let folder = TempFolder::new()?;
        let options = format!("size={DISK_BYTES},mode=0700");
        let made = Command::new("mount").args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(folder.path()).output()?;
        if made.status.success() {
            return Ok(Some(Self { folder }));
        }
        let problem = String::from_utf8_lossy(&made.stderr).into_owned();
        if std::env::var("CI").is_ok_and(|ci| ci == "true") {
            bail!("only root can mount a disk, and CI must: {problem}");
        }
        eprintln!("skipped: only root can mount a disk ({problem})");
        Ok(None)
    }

    fn filler(&self) -> PathBuf {
        self.folder.join("filler")
    }

    /// Writes until nothing more fits.
    fn fill(&self) -> Result<()> {
        let mut file = File::create(self.filler())?;
        let chunk = [0_u8; 4096];
        loop {
            match std::io::Write::write(&mut file, &chunk) {
                Ok(0) => return Ok(()),
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::StorageFull => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn free(&self) -> Result<()> {
        Ok(std::fs::remove_file(self.filler())?)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily, because a daemon may still be ending on it.
        let _ = Command::new("umount").arg("--lazy").arg(self.folder.path()).status();
    }
}

/// Asks whether the daemon is ready until it says so, or says not so for this reason.
async fn ready_becomes(program: &Program, reason: Option<&str>) -> Result<()> {
    let until = Instant::now() + PATIENCE;
    loop {
        let answer = program.api.get("/readyz").await?;
        let said = match answer.status {
            200 => None,
            503 => answer.body["error"]["data"]["store"].as_str(),
            other => bail!("/readyz got {other}: {}", answer.text),
        };
        if said == reason {
            return Ok(());
        }
        ensure!(
            Instant::now() < until,
            "/readyz says {said:?}, not {reason:?}; the daemon:\n{}",
            program.daemon.stderr()
        );
        sleep(POLL).await;
    }
}

#[tokio::test]
async fn on_a_full_disk_the_daemon_is_not_ready_acknowledges_nothing_and_recovers() -> Result<()> {
    let Some(disk) = SmallDisk::new()? else { return Ok(()) };
    let program = Program::start(infold().data(disk.folder.join("data"))).await?;
    let before = program.open("s", "Opened while there was room").await?;
    ready_becomes(&program, None).await?;

    disk.fill()?;
    ready_becomes(&program, Some("disk_full")).await?;
    let refused = program.refused("branch_create", json!({"session_id": "t", "description": "No room"})).await?;
    assert_eq!(refused.verdict(), ("disk_full", 507), "{refused:?}");
    assert_eq!(refused.unclear("free some space"), None);
    let result = json!({"tool_name": "cat", "content": lines_about("the harbour", 8_000)});
    let answer = program.api.post("/api/v1/sessions/s/results", &result).await?;
    assert_eq!(answer.status, 507, "{}", answer.text);
    assert_eq!(program.api.get("/healthz").await?.status, 200, "it is alive all the same");

    disk.free()?;
    ready_becomes(&program, None).await?;
    program.open("t", "There is room again").await?;
    assert_eq!(program.look_at(&before).await?["status"], "active");
    assert_eq!(program.api.get("/api/v1/sessions/t/branches").await?.with_status(200)?["total_branches"], 1);
    Ok(())
}

#[tokio::test]
async fn a_database_that_is_cut_short_is_not_ready_and_is_refused_at_the_next_start() -> Result<()> {
    let mut program = Program::plain().await?;
    for number in 0..40 {
        let result = json!({"tool_name": "cat", "content": lines_about(&format!("harbour {number}"), 6_000)});
        program.record("s", result).await?;
    }
    // A daemon that ends writes its log back, so that all of it is in one file.
    program.daemon.terminate().await?;
    program.restart().await?;
    ready_becomes(&program, None).await?;

    let database = program.daemon.data().join("infold.db");
    let whole = std::fs::read(&database)?;
    cut(&database, whole.len() as u64 / 2)?;
    ready_becomes(&program, Some("database_damaged")).await?;
    assert!(program.daemon.stderr().contains("put a copy of the database back"), "{}", program.daemon.stderr());

    program.daemon.kill9().await?;
    for name in ["infold.db-wal", "infold.db-shm"] {
        std::fs::remove_file(program.daemon.data().join(name)).context(name)?;
    }
    cut(&database, whole.len() as u64 / 2)?;
    let error = format!("{:#}", program.daemon.restart().await.unwrap_err());
    assert!(error.contains("the database is damaged ("), "{error}");

    std::fs::write(&database, &whole)?;
    program.restart().await?;
    ready_becomes(&program, None).await?;
    assert_eq!(program.api.get("/api/v1/sessions/s").await?.status, 200);
    Ok(())
}

#[tokio::test]
async fn holes_in_a_database_are_found_at_the_start() -> Result<()> {
    let mut program = Program::plain().await?;
    for number in 0..40 {
        let result = json!({"tool_name": "cat", "content": lines_about(&format!("harbour {number}"), 6_000)});
        program.record("s", result).await?;
    }
    program.daemon.terminate().await?;
    let database = program.daemon.data().join("infold.db");
    let length = std::fs::metadata(&database)?.len();
    cut(&database, length - HOLE_BYTES)?;
    cut(&database, length)?;
    program.restart().await?;
    ready_becomes(&program, Some("database_damaged")).await
}

#[tokio::test]
async fn a_database_that_was_moved_away_under_the_daemon_is_not_ready() -> Result<()> {
    let program = Program::plain().await?;
    ready_becomes(&program, None).await?;
    let database = program.daemon.data().join("infold.db");
    std::fs::rename(&database, program.daemon.data().join("elsewhere"))?;
    ready_becomes(&program, Some("store_failed")).await
}

/// Sets the length of a file: cuts it short, or adds zeros.
fn cut(path: &std::path::Path, length: u64) -> Result<()> {
    Ok(OpenOptions::new().write(true).open(path)?.set_len(length)?)
}
