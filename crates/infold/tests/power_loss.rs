//! Pulls the plug: what the daemon acknowledged must survive whatever a power loss leaves on the disk.
//!
//! The real daemon runs under a tracer while several clients open, fold and roll back branches. The
//! trace says which bytes went to which file, when the kernel was made to keep them, and when each
//! answer left. From it thousands of disks are made as they may look if the power fails at a random
//! moment: what was synced is there, the rest is lost, kept or torn. Each is opened as the program
//! opens its database, and everything that was answered before that moment must be there once.
//!
//! With `store.synchronous = "normal"` the same test must find losses, or it would prove nothing.
//!
//! `INFOLD_IMAGES` says how many disks; `SEED` repeats a run. Needs `strace`.

mod image;
mod workload;

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use infold_testkit::{DaemonSetup, Disk, Era, McpHttp, Rng, Seed, TempFolder};
use serde_json::json;

use image::Verdict;
use workload::{Recording, Sync};

/// Disks that are made unless the environment says otherwise.
const IMAGES: usize = 10_000;

/// Disks that a real daemon is started on as well.
const SERVED: usize = 12;

/// One disk in this many is enough to show that losses are found where there are some.
const CONTROL_DIVISOR: usize = 10;

/// The least number of disks that is enough for that.
const CONTROL_MIN: usize = 100;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_power_loss_loses_nothing_that_was_acknowledged() -> Result<()> {
    let seed = Seed::announce("cargo test -p infold --test crashes power_loss::")?;
    let outcome = async {
        let recording = workload::record(Sync::Full, &seed).await?;
        let found = examine(&recording, images()?, &seed)?;
        println!("figures: synchronous = full, {} answers: {found}", recording.answers.len());

        ensure!(
            found.lossy == 0,
            "{} disks lack something that was acknowledged, such as {}",
            found.lossy,
            found.example
        );
        serve_some(&recording, &seed).await
    };
    seed.explain(outcome.await)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_sync_at_every_commit_a_power_loss_loses_something() -> Result<()> {
    let seed = Seed::announce("cargo test -p infold --test crashes power_loss::")?;
    let outcome = async {
        let recording = workload::record(Sync::Normal, &seed).await?;
        let found = examine(&recording, (images()? / CONTROL_DIVISOR).max(CONTROL_MIN), &seed)?;
        println!("figures: synchronous = normal, {} answers: {found}", recording.answers.len());
        ensure!(found.lossy > 0, "nothing was lost where it should have been, so the test is blind");
        Ok(())
    };
    seed.explain(outcome.await)
}

fn images() -> Result<usize> {
    match std::env::var("INFOLD_IMAGES") {
        Ok(text) => text.parse().with_context(|| format!("INFOLD_IMAGES must be a number, not {text:?}")),
        Err(_) => Ok(IMAGES),
    }
}

/// What was found on all disks.
#[derive(Debug, Default)]
struct Found {
    /// Disks that were looked at.
    disks: usize,
    /// Disks that lack something that was acknowledged.
    lossy: usize,
    /// Disks on which nothing had been acknowledged yet.
    early: usize,
    /// One thing that was lost.
    example: String,
}

impl Found {
    fn add(&mut self, verdict: Verdict) {
        self.disks += 1;
        match verdict {
            Verdict::Whole { acknowledged: 0 } => self.early += 1,
            Verdict::Whole { .. } => {}
            Verdict::Lost { what } => {
                self.lossy += 1;
                self.example = what;
            }
        }
    }

    fn merge(&mut self, other: Self) {
        self.disks += other.disks;
        self.lossy += other.lossy;
        self.early += other.early;
        if !other.example.is_empty() {
            self.example = other.example;
        }
    }
}

impl std::fmt::Display for Found {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { disks, lossy, early, .. } = self;
        write!(formatter, "{disks} disks, {lossy} with losses, {early} from before the first answer")
    }
}

/// Makes `count` disks and looks at each, on as many threads as the machine has processors.
fn examine(recording: &Recording, count: usize, seed: &Seed) -> Result<Found> {
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let outcomes = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|thread| {
                let mut rng = seed.rng(100 + thread as u64);
                let share = count / threads + usize::from(thread < count % threads);
                scope.spawn(move || examine_share(recording, share, &mut rng))
            })
            .collect();
        workers.into_iter().map(|worker| worker.join()).collect::<Vec<_>>()
    });

    let mut found = Found::default();
    for outcome in outcomes {
        match outcome {
            Ok(share) => found.merge(share?),
            Err(_) => bail!("a thread that looked at disks panicked"),
        }
    }
    Ok(found)
}

/// Makes `count` disks at random moments, in the order of the moments, and looks at each.
fn examine_share(recording: &Recording, count: usize, rng: &mut Rng) -> Result<Found> {
    let mut found = Found::default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let folder = TempFolder::in_memory()?;
    let mut disk = Disk::new(&recording.trace);
    for cut in random_cuts(recording, count, rng) {
        let image = folder.join("image");
        disk.advance(cut);
        make_image(&disk, cut, rng, &image)?;
        let required = recording.answered_before(cut);
        let verdict = runtime.block_on(image::examine(&image, required));
        found.add(verdict.with_context(|| format!("the power failed before line {cut} of the trace"))?);
        std::fs::remove_dir_all(&image)?;
    }
    Ok(found)
}

fn make_image(disk: &Disk<'_>, cut: usize, rng: &mut Rng, image: &Path) -> Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().mode(0o700).create(image)?;
    disk.lose_power(cut, rng, image)
}

/// Moments at which something happens, in order. Lines of the trace where nothing does are of no use.
fn random_cuts(recording: &Recording, count: usize, rng: &mut Rng) -> Vec<usize> {
    let steps = &recording.trace.steps;
    let mut cuts: Vec<usize> = (0..count).filter_map(|_| rng.pick(steps)).map(|step| step.ended + 1).collect();
    cuts.sort_unstable();
    cuts
}

/// Starts a real daemon on some of the disks: it must know what it acknowledged, and work on.
async fn serve_some(recording: &Recording, seed: &Seed) -> Result<()> {
    let mut rng = seed.rng(7);
    let mut disk = Disk::new(&recording.trace);
    for cut in random_cuts(recording, SERVED, &mut rng) {
        let folder = TempFolder::in_memory()?;
        let image = folder.join("image");
        disk.advance(cut);
        make_image(&disk, cut, &mut rng, &image)?;
        let daemon = DaemonSetup::new(env!("CARGO_BIN_EXE_infold")).data(&image).start().await;
        let daemon = daemon.with_context(|| format!("on the disk of line {cut}"))?;
        let client = McpHttp::connect(daemon.base_url(), Era::Modern).await?;
        for answer in recording.answered_before(cut) {
            let status = client.call("branch_status", json!({"branch_id": answer.operation.branch()})).await?;
            let known = status.text_field("branch_id") == answer.operation.branch();
            ensure!(known, "after line {cut} the daemon does not know {answer:?}: {}", status.summary());
        }
        let fresh = json!({"session_id": "after-the-power-loss", "description": "work on"});
        let opened = client.call("branch_create", fresh).await?;
        ensure!(opened.is_ok(), "after line {cut} no branch can be opened: {}", opened.summary());
    }
    Ok(())
}
