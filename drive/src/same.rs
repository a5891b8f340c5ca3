//! Whether two programs do the same: the one before a change and the one after it.
//!
//! Both are given the same inputs, side by side. Compared are the bytes that a provider gets, what the tools answer,
//! the texts and files that commands make, and every figure. Words for people are not: tables, help, errors. What
//! differs by nature is taken out (`same/names.rs` lists it), and chance is made to repeat itself (`same/chance.c`).

mod commands;
mod compare;
mod moves;
mod names;
mod program;
mod requests;
mod scenes;
mod sessions;
mod values;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Result;
use clap::ValueEnum;
use infold_testkit::TempFolder;

use commands::What;
use compare::{Group, Pair};
use program::Program;
use sessions::SessionWay;
use xtask::workspace::Workspace;

/// What `cargo xtask same` takes.
#[derive(Debug, clap::Args)]
pub struct SameArguments {
    /// The program before the change, a release build.
    #[arg(long, value_name = "PATH", required_unless_present = "before_commit")]
    before: Option<PathBuf>,
    /// Build the program before the change from this commit.
    #[arg(long, value_name = "COMMIT", conflicts_with = "before")]
    before_commit: Option<String>,
    /// The program after the change; without this, the release build of this tree.
    #[arg(long, value_name = "PATH")]
    after: Option<PathBuf>,
    /// Compare only this group; can be given several times.
    #[arg(long, value_enum, value_name = "GROUP")]
    only: Vec<Subject>,
}

/// A group of comparisons, which can be run by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Subject {
    /// Requests that real clients sent.
    Requests,
    /// Recorded sessions, turn by turn.
    Sessions,
    /// Recorded sessions with their sub-tasks as branches.
    Branches,
    /// Scripted sessions: folds, references, budgets, rescues, rollbacks.
    Scenes,
    /// `infold fork`.
    Fork,
    /// `infold rescue`.
    Rescue,
    /// `infold replay`.
    Replay,
    /// `infold scrub`.
    Scrub,
}

impl Subject {
    fn name(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Sessions => "sessions",
            Self::Branches => "branches",
            Self::Scenes => "scenes",
            Self::Fork => "fork",
            Self::Rescue => "rescue",
            Self::Replay => "replay",
            Self::Scrub => "scrub",
        }
    }

    /// Whether there is nothing to compare without recordings.
    fn needs_recordings(self) -> bool {
        match self {
            Self::Requests | Self::Sessions | Self::Branches => true,
            Self::Scenes | Self::Fork | Self::Rescue | Self::Replay | Self::Scrub => false,
        }
    }
}

/// Compares the two programs; the exit code is a failure when anything differs.
pub fn run(workspace: &Workspace, arguments: &SameArguments) -> Result<ExitCode> {
    let folder = workspace.target().join("same");
    // Each run has folders of its own, so that two runs do not disturb each other. The one in memory may be mounted so
    // that no program can be started from it, so programs go into the other.
    let (compiled, scratch) = (TempFolder::inside(&folder.join("work"))?, TempFolder::in_memory()?);
    let chance = program::compile_chance(compiled.path())?;
    let programs = program::both(workspace, arguments, &folder, &chance)?;
    let data = workspace.test_data();
    let has_recordings = data.is_dir();
    if !has_recordings {
        println!("there are no recordings in {} (INFOLD_TEST_DATA names the folder)", data.display());
    }

    let mut groups = Vec::new();
    for subject in Subject::value_variants() {
        if !arguments.only.is_empty() && !arguments.only.contains(subject) {
            continue;
        }
        if subject.needs_recordings() && !has_recordings {
            println!("skipped: {}", subject.name());
            continue;
        }
        let started = Instant::now();
        let mut group = Group::new(subject.name(), &folder)?;
        compare_group(*subject, workspace, &programs, scratch.path(), &mut group)?;
        eprintln!("{}: {:.0} s", subject.name(), started.elapsed().as_secs_f64());
        groups.push(group);
    }

    println!("\n{:<10} {:>9} {:>9} {:>9}", "group", "compared", "same", "different");
    groups.iter().for_each(|group| println!("{}", group.line()));
    Ok(if groups.iter().all(Group::is_same) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn compare_group(
    subject: Subject,
    workspace: &Workspace,
    programs: &Pair<Program>,
    scratch: &Path,
    group: &mut Group,
) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let data = workspace.test_data();
    let play = |way: SessionWay, group: &mut Group| {
        let Some(sessions) = sessions::chosen(&data)? else { return Ok(()) };
        runtime.block_on(sessions::compare(programs, &sessions, way, group))
    };
    let command = |what: What, group: &mut Group| {
        let files = match what {
            What::Scrub => commands::files_with_secrets(workspace),
            What::Fork | What::Rescue | What::Replay => commands::files(workspace),
        };
        commands::compare(programs, &files, what, scratch, group)
    };
    match subject {
        Subject::Requests => runtime.block_on(requests::compare(programs, &data, group)),
        Subject::Sessions => play(SessionWay::InOneThread, group),
        Subject::Branches => play(SessionWay::InBranches, group),
        Subject::Scenes => runtime.block_on(scenes::compare(programs, group)),
        Subject::Fork => command(What::Fork, group),
        Subject::Rescue => command(What::Rescue, group),
        Subject::Replay => command(What::Replay, group),
        Subject::Scrub => command(What::Scrub, group),
    }
}
