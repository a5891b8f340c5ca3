//! Finds out how well commands are confined here, by confining one that tries to get out.

use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

use super::{Confinement, NetworkAccess, SandboxLevel, SandboxWish, bubblewrap};

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
    match (wish, best(program, wish, network, scratch).await) {
        (SandboxWish::Required, Ok(trial)) if !trial.level.is_full() || trial.level.network != network => Err(format!(
            "`sandbox` is `required`, and this machine can do no more than this: {}. Set it to `best` to run commands \
             all the same",
            trial.words
        )),
        (SandboxWish::Required, Err(why)) => Err(format!("`sandbox` is `required`, and there is none: {why}")),
        (_, Ok(trial)) => Ok(trial),
        (_, Err(why)) => Ok(none(&why)),
    }
}

/// What decides over files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Means {
    Landlock,
    Bubblewrap,
}

/// Tries one means after the other, until one keeps commands from writing elsewhere; else the first counts as far as it
/// goes, and what is wrong with the other is said.
async fn best(
    program: &Path,
    wish: SandboxWish,
    network: NetworkAccess,
    scratch: &Path,
) -> Result<SandboxTrial, String> {
    let order = match wish {
        SandboxWish::Bubblewrap => [Means::Bubblewrap, Means::Landlock],
        SandboxWish::Required | SandboxWish::Best | SandboxWish::Off => [Means::Landlock, Means::Bubblewrap],
    };
    let mut lacking = Vec::new();
    let mut so_far = None;
    for means in order {
        match tried(program, means, network, scratch).await {
            Ok(level) if level.keeps_writes() => {
                so_far = Some(level);
                break;
            }
            Ok(level) => so_far = so_far.or(Some(level)),
            Err(why) => lacking.push(why),
        }
    }
    let Some(level) = so_far else { return Err(lacking.join("; ")) };
    let is_as_wished = wish != SandboxWish::Bubblewrap || level.has_bubblewrap;
    let words = match lacking.join("; ") {
        why if !why.is_empty() && (!level.keeps_writes() || !is_as_wished) => format!("{} ({why})", level.describe()),
        _ => level.describe(),
    };
    Ok(SandboxTrial { level, words })
}

async fn tried(program: &Path, means: Means, network: NetworkAccess, scratch: &Path) -> Result<SandboxLevel, String> {
    let has_bubblewrap = means == Means::Bubblewrap;
    if has_bubblewrap && bubblewrap::program().is_none() {
        return Err("bubblewrap is not installed".to_owned());
    }
    let (inner, outer) = (scratch.join("in"), scratch.join("out"));
    let made = [&inner, &outer].into_iter().try_for_each(std::fs::create_dir_all);
    made.and_then(|()| std::fs::write(outer.join("kept"), KEPT)).map_err(|error| format!("no trial: {error}"))?;
    // What an earlier trial wrote says nothing about this one.
    let _ = (std::fs::remove_file(inner.join("inside")), std::fs::remove_file(outer.join("outside")));
    let confinement = Confinement { writable: vec![inner.clone()], hidden: Vec::new(), network };
    let asked = SandboxLevel { has_bubblewrap, ..SandboxLevel::NONE };
    let around = if has_bubblewrap { bubblewrap::steps(&confinement) } else { Vec::new() };
    let steps: Vec<OsString> = around.into_iter().chain([program.into()]).collect();
    let mut command = Command::new(&steps[0]);
    command.args(&steps[1..]).args(confinement.arguments(asked)).arg("--tell");
    command.args(["--", "/bin/sh", "-c", SCRIPT, "sh"]).args([&inner, &outer]).current_dir(&inner);
    command.env_clear().stdin(Stdio::null()).kill_on_drop(true);
    let output = timeout(TRIAL_MAX, command.output()).await.map_err(|_| "the trial took too long".to_owned())?;
    let output = output.map_err(|error| format!("{}: {error}", program.display()))?;
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    let first_line = output.stdout.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let level: SandboxLevel = serde_json::from_slice(first_line).map_err(|_| said.clone())?;
    let level = match means {
        Means::Landlock => level,
        Means::Bubblewrap => SandboxLevel { landlock_abi: 0, has_bubblewrap: true, ..level },
    };
    if !inner.join("inside").exists() {
        return Err(format!("a confined command could not write in its own folder: {said}"));
    }
    let is_out = outer.join("outside").exists() || std::fs::read(outer.join("kept")).is_ok_and(|now| now != KEPT);
    if is_out {
        // Whatever the kernel says is in force did not hold.
        return Ok(SandboxLevel { landlock_abi: 0, has_bubblewrap: false, ..level });
    }
    Ok(level)
}
