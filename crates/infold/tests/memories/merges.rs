//! What was learnt on a git branch weighs less elsewhere until its work is in the trunk.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::places::teaches;
use super::{TASK, git};
use crate::support::{PATIENCE, POLL, Program, roomy};

/// A repository with one commit in its trunk.
fn repository() -> Result<(TempDir, PathBuf)> {
    let outer = tempfile::tempdir()?;
    let root = outer.path().join("one");
    fs::create_dir_all(&root)?;
    git(&root, &["init", "-q"])?;
    commit(&root, "first")?;
    Ok((outer, root))
}

fn commit(folder: &Path, name: &str) -> Result<()> {
    fs::write(folder.join(name), name)?;
    git(folder, &["add", "."])?;
    git(folder, &["commit", "-q", "-m", name])
}

/// Waits until a query gives a row; it is looked for at every start of the daemon.
async fn until(program: &Program, query: &str) -> Result<()> {
    let seen = async {
        while program.database()?.rows(query)?.is_empty() {
            tokio::time::sleep(POLL).await;
        }
        anyhow::Ok(())
    };
    tokio::time::timeout(PATIENCE, seen).await.with_context(|| format!("{query} stays empty"))?
}

async fn ahead(program: &mut Program, name: &str) -> Result<()> {
    program.restart().await?;
    until(program, &format!("SELECT tip FROM memory_git_branches WHERE name = '{name}'")).await
}

async fn merged(program: &mut Program, name: &str) -> Result<()> {
    program.restart().await?;
    until(program, &format!("SELECT id FROM memories WHERE git_branch = '{name}' AND merged_at IS NOT NULL")).await
}

/// The score of the only memory that a branch is given which opens in a folder.
async fn score(program: &Program, folder: &Path) -> Result<f64> {
    let arguments = json!({"description": TASK, "prompt": "Mend the snapshot tests.", "project_path": folder});
    let opened = program.done("context_branch", arguments).await?;
    let id = opened["branch_id"].as_str().context("an id")?;
    let why = program.daemon.program(&["memory", "why", id, "--json"]).output().await?;
    let why: Value = serde_json::from_slice(&why.stdout)?;
    program
        .done("context_return", json!({"message": "Done.", "project_path": folder, "extract_memory": false}))
        .await?;
    why["memories"][0]["why"]["score"].as_f64().with_context(|| format!("a score: {why}"))
}

#[tokio::test]
async fn what_a_git_branch_learnt_counts_in_full_elsewhere_once_its_work_is_in_the_trunk() -> Result<()> {
    let mut program = Program::start(roomy()).await?;
    let (outer, one) = repository()?;
    let two = outer.path().join("two");
    git(&one, &["worktree", "add", "-q", "-b", "feature/rows", &two.to_string_lossy()])?;
    commit(&two, "rows")?;
    teaches(&program, &two, "Fixtures before the snapshot tests of the parser", super::LESSON).await?;
    ahead(&mut program, "feature/rows").await?;
    let before = score(&program, &one).await?;

    git(&one, &["merge", "-q", "--no-ff", "-m", "merge", "feature/rows"])?;
    git(&one, &["worktree", "remove", "--force", &two.to_string_lossy()])?;
    git(&one, &["branch", "-q", "-d", "feature/rows"])?;
    git(&one, &["pack-refs", "--all"])?;
    merged(&mut program, "feature/rows").await?;
    let after = score(&program, &one).await?;
    assert!(after > before * 1.3, "{before} became {after}");
    let id = program.database()?.rows("SELECT id FROM memories")?.remove(0);
    let shown = program.daemon.program(&["memory", "show", &id]).output().await?;
    let shown = String::from_utf8(shown.stdout)?;
    assert!(shown.contains("feature/rows, merged"), "{shown}");
    Ok(())
}

#[tokio::test]
async fn work_that_never_reached_the_trunk_stays_apart_however_its_branch_looks() -> Result<()> {
    let mut program = Program::start(roomy()).await?;
    let (_outer, root) = repository()?;
    // The one that is merged was learnt from first, so it is looked at last: then all others were looked at.
    for (name, lesson) in [
        ("merged", "Ports of the harbour are numbered from the north."),
        ("squashed", "Cranes lift at most forty tons in winter."),
        ("given-up", "Pilots answer on channel twelve after midnight."),
        ("empty", "Ferries carry the post of the islands."),
    ] {
        git(&root, &["checkout", "-q", "-b", name, "main"])?;
        if name != "empty" {
            commit(&root, name)?;
        }
        teaches(&program, &root, name, lesson).await?;
    }
    git(&root, &["checkout", "-q", "--detach", "main"])?;
    teaches(&program, &root, "Detached", "Lighthouses are painted every seven years.").await?;
    ahead(&mut program, "merged").await?;

    git(&root, &["checkout", "-q", "main"])?;
    git(&root, &["merge", "-q", "--squash", "squashed"])?;
    // In other words than its own commit: within one second the two would be the same commit.
    git(&root, &["commit", "-q", "-m", "all of squashed"])?;
    git(&root, &["branch", "-q", "-D", "squashed"])?;
    git(&root, &["branch", "-q", "-f", "given-up", "main"])?;
    git(&root, &["merge", "-q", "--no-ff", "-m", "merge", "merged"])?;
    merged(&mut program, "merged").await?;
    let rows = program
        .database()?
        .rows("SELECT coalesce(git_branch, '-') FROM memories WHERE merged_at IS NULL ORDER BY 1")?;
    assert_eq!(rows, ["-", "empty", "given-up", "squashed"]);
    Ok(())
}

#[tokio::test]
async fn a_hostile_repository_runs_nothing_and_holds_nothing_up() -> Result<()> {
    let mut program = Program::start(roomy()).await?;
    let (_outer, good) = repository()?;
    git(&good, &["checkout", "-q", "-b", "good"])?;
    commit(&good, "good")?;
    teaches(&program, &good, "Good work", "The good part of the work is done in good.rs.").await?;

    let (outer, bad) = repository()?;
    git(&bad, &["checkout", "-q", "-b", "bad"])?;
    commit(&bad, "bad")?;
    teaches(&program, &bad, "Bad work", "The bad part of the work is done in bad.rs.").await?;
    let canary = outer.path().join("canary");
    let script = outer.path().join("script");
    fs::write(&script, format!("#!/bin/sh\ntouch {}\n", canary.display()))?;
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    let script = script.to_string_lossy().into_owned();
    for setting in
        ["core.fsmonitor", "core.sshCommand", "core.pager", "pager.for-each-ref", "core.editor", "core.askPass"]
    {
        git(&bad, &["config", setting, &script])?;
    }
    for (setting, value) in [
        ("alias.for-each-ref", format!("!{script}")),
        ("core.hooksPath", outer.path().to_string_lossy().into_owned()),
        ("extensions.partialClone", "origin".to_owned()),
        ("remote.origin.promisor", "true".to_owned()),
        ("remote.origin.url", format!("ext::{script}")),
        ("protocol.ext.allow", "always".to_owned()),
    ] {
        git(&bad, &["config", setting, &value])?;
    }
    // The commit is gone, so that git would have to fetch it.
    let refs = bad.join(".git/refs/heads");
    fs::write(refs.join("bad"), format!("{}\n", "1".repeat(40)))?;
    fs::create_dir(bad.join(".git/refs/heads/main.d"))?;

    let (_outer, odd) = repository()?;
    for name in ["--help", "../../../../etc/passwd", "*", "with\u{1b}[31mcolour"] {
        fs::write(odd.join(".git/HEAD"), format!("ref: refs/heads/{name}\n"))?;
        teaches(&program, &odd, &format!("Odd {}", name.len()), &format!("The odd part number {} of it.", name.len()))
            .await?;
    }
    fs::write(odd.join(".git/packed-refs"), b"\xff\xfe not a reference\n".repeat(1_000))?;

    ahead(&mut program, "good").await?;
    git(&good, &["checkout", "-q", "main"])?;
    git(&good, &["merge", "-q", "good"])?;
    merged(&mut program, "good").await?;
    assert!(!canary.exists(), "nothing that the repository names was started");
    let others =
        program.database()?.rows("SELECT id FROM memories WHERE git_branch <> 'good' AND merged_at IS NOT NULL")?;
    assert!(others.is_empty(), "{others:?}");
    Ok(())
}

#[tokio::test]
async fn without_git_nothing_is_known_to_be_merged_and_all_goes_on() -> Result<()> {
    let setup = roomy().env("PATH", "/nowhere").set("telemetry.log_level", "debug");
    let mut program = Program::start(setup).await?;
    let (_outer, root) = repository()?;
    git(&root, &["checkout", "-q", "-b", "feature"])?;
    commit(&root, "feature")?;
    teaches(&program, &root, "Fixtures before the snapshot tests of the parser", super::LESSON).await?;
    program.restart().await?;
    let said = async {
        while !program.daemon.stderr().contains("git gave no answer") {
            tokio::time::sleep(POLL).await;
        }
    };
    tokio::time::timeout(PATIENCE, said).await.context("it is in the log")?;
    let there = json!({"description": TASK, "prompt": "Mend them.", "project_path": root});
    let opened = program.done("context_branch", there).await?;
    assert!(opened["injected_context"].as_str().is_some_and(|notes| notes.contains(super::LESSON)), "{opened}");
    Ok(())
}
