//! A disk that fails for a while: every so many writes, syncs or reads of the daemon get an error from the kernel. Whoever
//! is affected gets an error, nothing that failed was acknowledged, the daemon works again once the faults end, and
//! everything that was acknowledged is there.
//!
//! `INFOLD_FAULTS` says how many lives with a fault; `SEED` repeats a run. Needs `strace`.

use std::ffi::OsString;

use anyhow::{Context, Result, ensure};
use infold_testkit::{DaemonSetup, Rng, Seed, TempFolder};
use serde_json::{Value, json};

use crate::support::{Program, Refused, roomy};

/// Lives of the daemon, each with a fault of its own, unless the environment says otherwise.
const LIVES: usize = 5;
/// Calls in one life. Most are made after the faults.
const CALLS: usize = 100;
/// System calls of a thread that fail.
const FAILING: usize = 8;
/// Branches that are looked at again after the next life.
const KNOWN_MAX: usize = 200;
/// Calls at the end of a life that must succeed.
const LAST: usize = 10;
/// The system calls that fail, with the error that they get, and how many of a thread's succeed before the first one
/// fails, so that the daemon can start.
const FAULTS: [(&str, &str, usize); 5] = [
    ("pwrite64", "EIO", 60),
    ("fsync,fdatasync", "EIO", 15),
    ("pwrite64", "ENOSPC", 60),
    ("pread64", "EIO", 60),
    ("fsync,fdatasync", "ENOSPC", 15),
];

/// A branch as its client knows it.
struct Known {
    id: String,
    /// The message that it returned, if that was acknowledged; `None` if a return failed, so that either is right.
    returned: Option<Option<String>>,
}

/// What became of the calls of one life.
#[derive(Default)]
struct Tally {
    acknowledged: usize,
    failed: usize,
    /// Calls that were acknowledged since the last one that failed.
    in_a_row: usize,
}

fn lives() -> Result<usize> {
    match std::env::var("INFOLD_FAULTS") {
        Ok(text) => text.parse().with_context(|| format!("INFOLD_FAULTS must be a number, not {text:?}")),
        Err(_) => Ok(LIVES),
    }
}

/// The settings of all lives: a log that is written back often, so that faults hit that as well.
fn setup(data: &TempFolder) -> DaemonSetup {
    roomy()
        .set("folding.max_concurrent_per_session", 100_000)
        .set("folding.max_concurrent_per_instance", 100_000)
        .set("store.checkpoint_pages", 20)
        .data(data.join("data"))
}

/// The beginning of a command line that lets every so many calls of a program fail.
fn failing((calls, error, spared): (&str, &str, usize), every: usize) -> Vec<OsString> {
    let last = spared + (FAILING - 1) * every;
    let inject = format!("--inject={calls}:error={error}:when={spared}..{last}+{every}");
    let trace = format!("--trace={calls}");
    let flags = ["strace", "--follow-forks", "--quiet=all", "--signal=none", "--output=/dev/null", &trace, &inject];
    flags.map(Into::into).to_vec()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_that_fails_now_and_then_loses_nothing_that_was_acknowledged() -> Result<()> {
    let seed = Seed::announce("cargo test -p infold --test program trouble::faults")?;
    let outcome = fail_again_and_again(&seed).await;
    seed.explain(outcome)
}

async fn fail_again_and_again(seed: &Seed) -> Result<()> {
    let data = TempFolder::new()?;
    let mut rng = seed.rng(0);
    let mut known: Vec<Known> = Vec::new();
    let mut whole = Program::start(setup(&data)).await?;
    whole.daemon.terminate().await?;
    let (mut acknowledged, mut failed) = (0, 0);
    for life in 0..lives()? {
        let fault = FAULTS[life % FAULTS.len()];
        let every = 2 + rng.below(20);
        let what = format!("life {life}: {} fails with {}, one in {every}", fault.0, fault.1);
        let mut program = Program::start(setup(&data).wrapped_in(failing(fault, every))).await?;
        let worked = work(&program, life, &mut known, &mut rng).await;
        program.daemon.kill9().await?;
        let tally = worked.with_context(|| what.clone())?;
        eprintln!("{what}: {} acknowledged, {} failed", tally.acknowledged, tally.failed);
        acknowledged += tally.acknowledged;
        failed += tally.failed;
        ensure!(tally.in_a_row >= LAST, "{what}: it does not work again after the faults");

        whole.restart().await.with_context(|| what.clone())?;
        check(&whole, &known).await.with_context(|| what.clone())?;
        whole.daemon.terminate().await?;
        known.drain(..known.len().saturating_sub(KNOWN_MAX));
    }
    println!("figures: {acknowledged} calls acknowledged and found again, {failed} refused");
    Ok(())
}

/// Opens and folds branches while the disk fails.
async fn work(program: &Program, life: usize, known: &mut Vec<Known>, rng: &mut Rng) -> Result<Tally> {
    let mut tally = Tally::default();
    for number in 0..CALLS {
        let open: Vec<usize> = (0..known.len()).filter(|at| known[*at].returned == Some(None)).collect();
        let outcome = match rng.pick(&open) {
            Some(at) if rng.chance(40) => {
                let message = format!("Found in life {life}, call {number}");
                let arguments = json!({"branch_id": known[*at].id, "message": message});
                let folded = call(program, "branch_return", arguments).await?;
                known[*at].returned = folded.as_ref().map(|_| Some(message));
                folded
            }
            _ => {
                let session = format!("s-{}", rng.below(5));
                let arguments = json!({"session_id": session, "description": "Work", "parent_branch_id": "main"});
                let opened = call(program, "branch_create", arguments).await?;
                let id = opened.as_ref().and_then(|opened| opened["branch_id"].as_str()).map(str::to_owned);
                known.extend(id.map(|id| Known { id, returned: Some(None) }));
                opened
            }
        };
        match outcome {
            Some(_) => {
                tally.acknowledged += 1;
                tally.in_a_row += 1;
            }
            None => {
                tally.failed += 1;
                tally.in_a_row = 0;
            }
        }
    }
    Ok(tally)
}

/// Makes a call; `None` if it failed, which must be the store's fault and say so.
async fn call(program: &Program, tool: &str, arguments: Value) -> Result<Option<Value>> {
    let answer = program.call(tool, arguments).await?;
    if answer.is_ok() {
        return Ok(Some(answer.structured.clone().context("no structure")?));
    }
    let refused = Refused::of(&answer)?;
    let is_the_disks = ["store_failed", "disk_full", "database_damaged"].contains(&refused.code.as_str());
    ensure!(is_the_disks, "{tool} was refused with {refused:?}; the daemon said:\n{}", program.daemon.stderr());
    Ok(None)
}

/// Looks at everything that was acknowledged.
async fn check(program: &Program, known: &[Known]) -> Result<()> {
    ensure!(program.database()?.rows("PRAGMA integrity_check")? == ["ok"], "the database is damaged");
    for Known { id, returned } in known {
        let branch = program.look_at(id).await?;
        match returned {
            Some(Some(message)) => ensure!(branch["result"] == message.as_str(), "{message:?} was lost: {branch}"),
            Some(None) => ensure!(branch["status"] == "active", "it was never folded: {branch}"),
            None => ensure!(branch["status"] == "active" || branch["status"] == "completed", "{branch}"),
        }
    }
    Ok(())
}
