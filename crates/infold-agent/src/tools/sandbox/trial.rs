//! Finds out how well commands are confined here, by confining one that tries to get out.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

use super::{Confinement, NetworkAccess, SandboxLevel, SandboxWish};

/// How long the trial may take. It takes milliseconds.
const TRIAL_MAX: Duration = Duration::from_secs(20);
/// Writes inside, and tries to write and to empty a file outside.
const SCRIPT: &str = "echo in > \"$1/inside\"; echo out > \"$2/outside\"; echo out > \"$2/kept\"; exit 0";
/// What the file outside holds.
const KEPT: &[u8] = b"kept";

/// How well commands are confined, and the words for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxTrial {
    /// The level.
    pub level: SandboxLevel,
    /// The level in words, with the reason if there is no sandbox.
    pub words: String,
}

/// Finds out how well `infold confine` of this program confines commands. `scratch` is an empty folder of infold's own,
/// outside of what commands may write.
///
/// # Errors
///
/// Why no command may run: the wish is more than this machine can.
pub async fn try_out(
    program: &Path,
    wish: SandboxWish,
    network: NetworkAccess,
    scratch: &Path,
) -> Result<SandboxTrial, String> {
    let none = |why: &str| SandboxTrial {
        level: SandboxLevel::NONE,
        words: format!("{} ({why})", SandboxLevel::NONE.describe()),
    };
    if wish == SandboxWish::Off {
        return Ok(none("`sandbox` is `off`"));
    }
    match (wish, tried(program, network, scratch).await) {
        (SandboxWish::Required, Ok(level)) if !level.is_full() || level.network != network => Err(format!(
            "`sandbox` is `required`, and this machine can do no more than this: {}. Set it to `best` to run commands \
             all the same",
            level.describe()
        )),
        (SandboxWish::Required, Err(why)) => Err(format!("`sandbox` is `required`, and there is none: {why}")),
        (SandboxWish::Required | SandboxWish::Best | SandboxWish::Off, Ok(level)) => {
            Ok(SandboxTrial { level, words: level.describe() })
        }
        (SandboxWish::Best | SandboxWish::Off, Err(why)) => Ok(none(&why)),
    }
}

async fn tried(program: &Path, network: NetworkAccess, scratch: &Path) -> Result<SandboxLevel, String> {
    let (inner, outer) = (scratch.join("in"), scratch.join("out"));
    let made = [&inner, &outer].into_iter().try_for_each(std::fs::create_dir_all);
    made.and_then(|()| std::fs::write(outer.join("kept"), KEPT)).map_err(|error| format!("no trial: {error}"))?;
    let confinement = Confinement { writable: vec![inner.clone()], hidden: Vec::new(), network };
    let mut command = Command::new(program);
    command.arg0("infold").args(confinement.arguments(SandboxLevel::NONE)).arg("--tell");
    command.args(["--", "/bin/sh", "-c", SCRIPT, "sh"]).args([&inner, &outer]).current_dir(&inner);
    command.env_clear().stdin(Stdio::null()).kill_on_drop(true);
    let output = timeout(TRIAL_MAX, command.output()).await.map_err(|_| "the trial took too long".to_owned())?;
    let output = output.map_err(|error| format!("{}: {error}", program.display()))?;
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    let first_line = output.stdout.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let level: SandboxLevel = serde_json::from_slice(first_line).map_err(|_| said.clone())?;
    if !inner.join("inside").exists() {
        return Err(format!("a confined command could not write in its own folder: {said}"));
    }
    let is_out = outer.join("outside").exists() || std::fs::read(outer.join("kept")).is_ok_and(|now| now != KEPT);
    if is_out {
        // Whatever the kernel says is in force did not hold.
        return Ok(SandboxLevel { landlock_abi: 0, ..level });
    }
    Ok(level)
}
