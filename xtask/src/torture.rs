//! The long tier: the crash, power-loss and disk-fault tests, for longer than the test command runs them, and the soak.

use std::process::ExitCode;

use anyhow::Result;

use xtask::report::{Report, Totals, harness_totals};
use xtask::workspace::{Workspace, run_seeing_lines};

/// Crashes and images of an ordinary run: ten times what the test command does.
const KILLS: u64 = 5_000;
const IMAGES: u64 = 100_000;

/// Crashes and images with `--long`.
const KILLS_LONG: u64 = 10_000;
const IMAGES_LONG: u64 = 1_000_000;

/// Lives of the daemon on a disk that fails now and then.
const FAULTS: u64 = 100;
const FAULTS_LONG: u64 = 1_000;

/// Requests of the soak.
const SOAK: u64 = 20_000;
const SOAK_LONG: u64 = 200_000;

/// Schedules of the property tests.
const CASES: u64 = 20_000;
const CASES_LONG: u64 = 100_000;

/// What `cargo xtask torture` takes.
#[derive(Debug, clap::Args)]
pub struct TortureArguments {
    /// How often the daemon is killed.
    #[arg(long)]
    kills: Option<u64>,
    /// How many power losses are simulated.
    #[arg(long)]
    images: Option<u64>,
    /// How many lives of the daemon have a disk that fails now and then.
    #[arg(long)]
    faults: Option<u64>,
    /// How many requests the soak makes.
    #[arg(long)]
    soak: Option<u64>,
    /// Run the numbers that a release is held to.
    #[arg(long)]
    long: bool,
}

/// Runs all tests of the long tier; the exit code is a failure if any of them fails.
pub fn run(workspace: &Workspace, arguments: &TortureArguments) -> Result<ExitCode> {
    let (kills, images, cases) = match arguments.long {
        true => (KILLS_LONG, IMAGES_LONG, CASES_LONG),
        false => (KILLS, IMAGES, CASES),
    };
    let (faults, soak) = if arguments.long { (FAULTS_LONG, SOAK_LONG) } else { (FAULTS, SOAK) };
    let faults = arguments.faults.unwrap_or(faults).to_string();
    let soak = arguments.soak.unwrap_or(soak).to_string();
    let kills = arguments.kills.unwrap_or(kills).to_string();
    let images = arguments.images.unwrap_or(images).to_string();
    let cases = cases.to_string();

    let mut report = Report::default();
    let properties = ["test", "--package", "infold-core", "--package", "infold-engine"];
    report.stage("properties", || tests(workspace, &properties, ("PROPTEST_CASES", &cases)));
    let kill = ["test", "--package", "infold", "--test", "crashes", "--", "kill::", "--nocapture"];
    report.stage("kill", || tests(workspace, &kill, ("INFOLD_KILLS", &kills)));
    let power = ["test", "--package", "infold", "--test", "crashes", "--", "power_loss::", "--nocapture"];
    report.stage("power loss", || tests(workspace, &power, ("INFOLD_IMAGES", &images)));
    let fault = ["test", "--package", "infold", "--test", "program", "--", "trouble::faults", "--nocapture"];
    report.stage("disk faults", || tests(workspace, &fault, ("INFOLD_FAULTS", &faults)));
    report.stage("soak", || {
        let soak = ["run", "--quiet", "--package", "drive", "--", "bench", "soak", "--requests", &soak];
        let is_flat = workspace.cargo(&soak).status()?.success();
        Ok(if is_flat { Totals::one_passed() } else { Totals::one_failed() })
    });
    Ok(report.finish())
}

fn tests(workspace: &Workspace, arguments: &[&str], variable: (&str, &str)) -> Result<Totals> {
    let mut totals = Totals::default();
    let mut command = workspace.cargo(arguments);
    command.env(variable.0, variable.1);
    let succeeded = run_seeing_lines(&mut command, |line| {
        totals.add(harness_totals(line).unwrap_or_default());
    })?;
    if !succeeded && totals.failed == 0 {
        anyhow::bail!("the tests could not be built or run");
    }
    Ok(totals)
}
