//! Clones of one repository: they are one project if a person says so.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use infold_testkit::DaemonSetup;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::places::teaches;
use super::{LESSON, TASK, git};
use crate::support::{Program, roomy};

/// A password that was never anyone's.
const PASSWORD: &str = "canary-Vq8-password";
const TITLE: &str = "Fixtures before the snapshot tests of the parser";

/// Two clones of one repository, and a folder that only says that it is one.
struct Clones {
    one: PathBuf,
    two: PathBuf,
    liar: PathBuf,
    _outer: TempDir,
}

impl Clones {
    fn new() -> Result<Self> {
        let outer = tempfile::tempdir()?;
        let at = |name: &str| outer.path().join(name);
        fs::create_dir_all(at("one"))?;
        git(&at("one"), &["init", "-q"])?;
        git(&at("one"), &["commit", "-q", "--allow-empty", "-m", "first"])?;
        let (from, to) = (at("one").to_string_lossy().into_owned(), at("two").to_string_lossy().into_owned());
        git(outer.path(), &["clone", "-q", &from, &to])?;
        git(&at("two"), &["remote", "set-url", "origin", "git@code.example:team/parser.git"])?;
        let with_password = format!("https://anna:{PASSWORD}@code.example/team/parser.git");
        git(&at("one"), &["remote", "add", "origin", &with_password])?;
        fs::create_dir_all(at("liar"))?;
        git(&at("liar"), &["init", "-q"])?;
        git(&at("liar"), &["remote", "add", "origin", "https://code.example/team/parser"])?;
        Ok(Self { one: at("one"), two: at("two"), liar: at("liar"), _outer: outer })
    }
}

/// What a branch is given that opens in a folder.
async fn given(program: &Program, folder: &Path) -> Result<String> {
    let arguments = json!({"description": TASK, "prompt": "Mend the snapshot tests.", "project_path": folder});
    let opened = program.done("context_branch", arguments).await?;
    let end = json!({"message": "Done.", "project_path": folder, "extract_memory": false});
    program.done("context_return", end).await?;
    Ok(opened["injected_context"].as_str().unwrap_or_default().to_owned())
}

async fn output(program: &Program, arguments: &[&str]) -> Result<String> {
    let ended = program.daemon.program(arguments).output().await?;
    anyhow::ensure!(ended.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ended.stderr));
    Ok(String::from_utf8(ended.stdout)?)
}

fn with_remotes() -> DaemonSetup {
    roomy().set("memory.projects", "remote")
}

#[tokio::test]
async fn clones_are_apart_until_a_person_joins_them() -> Result<()> {
    let (program, clones) = (Program::start(roomy()).await?, Clones::new()?);
    teaches(&program, &clones.one, TITLE, LESSON).await?;
    assert_eq!(given(&program, &clones.two).await?, "", "a folder only says of itself what its origin is");
    assert_eq!(given(&program, &clones.liar).await?, "");

    let listed = output(&program, &["memory", "projects"]).await?;
    let hint = listed.lines().find(|line| line.starts_with("same origin: ")).context("a hint")?;
    assert_eq!(listed.matches("same origin: ").count(), 3, "{listed}");
    assert!(hint.contains(" makes one project of them"), "{hint}");
    let (one, two) = (clones.one.to_string_lossy(), clones.two.to_string_lossy());
    output(&program, &["memory", "projects", "--join", &two, &one]).await?;
    assert!(given(&program, &clones.two).await?.contains(LESSON));
    assert_eq!(given(&program, &clones.liar).await?, "", "only what was named is joined");
    let listed: Value = serde_json::from_str(&output(&program, &["memory", "projects", "--json"]).await?)?;
    let counts: Vec<usize> = listed["projects"]
        .as_array()
        .context("projects")?
        .iter()
        .map(|project| project["clones"].as_array().map_or(0, Vec::len))
        .collect();
    assert_eq!(counts, [1, 1], "{listed}");
    Ok(())
}

#[tokio::test]
async fn with_a_setting_a_clone_joins_when_it_is_first_seen_whoever_made_it() -> Result<()> {
    let (program, clones) = (Program::start(with_remotes()).await?, Clones::new()?);
    teaches(&program, &clones.one, TITLE, LESSON).await?;
    assert!(given(&program, &clones.two).await?.contains(LESSON), "at its first opening");
    assert!(given(&program, &clones.liar).await?.contains(LESSON), "that is what the setting trusts");
    let elsewhere = tempfile::tempdir()?;
    git(elsewhere.path(), &["init", "-q"])?;
    git(elsewhere.path(), &["remote", "add", "origin", "https://code.example/team/other"])?;
    assert_eq!(given(&program, elsewhere.path()).await?, "");
    assert_eq!(given(&program, &tempfile::tempdir()?.path().join("none")).await?, "", "nor are folders without one");

    output(&program, &["memory", "undo"]).await?;
    assert_eq!(given(&program, &clones.liar).await?, "", "what was joined last is apart again");
    assert!(given(&program, &clones.two).await?.contains(LESSON));
    Ok(())
}

#[tokio::test]
async fn nothing_of_an_address_is_stored_or_shown() -> Result<()> {
    for setup in [roomy(), with_remotes()] {
        let (program, clones) = (Program::start(setup.set("telemetry.log_level", "trace")).await?, Clones::new()?);
        teaches(&program, &clones.one, TITLE, LESSON).await?;
        given(&program, &clones.two).await?;
        let noted = program.database()?.rows("SELECT DISTINCT remote FROM memory_projects")?;
        assert!(noted.len() == 1 && noted[0].len() == 32, "one hash for both addresses: {noted:?}");
        let listed = output(&program, &["memory", "projects"]).await?;
        for entry in fs::read_dir(program.daemon.data())? {
            let path = entry?.path();
            let Ok(bytes) = fs::read(&path) else { continue };
            for secret in [PASSWORD, "code.example", "team/parser"] {
                let is_there = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
                assert!(!is_there, "{secret} is in {}", path.display());
            }
        }
        let said = format!("{listed}{}", program.daemon.stderr());
        assert!(!said.contains(PASSWORD) && !said.contains("team/parser"), "{said}");
    }
    Ok(())
}

#[tokio::test]
async fn a_folder_that_points_to_another_repository_is_given_nothing_of_it() -> Result<()> {
    let program = Program::start(with_remotes()).await?;
    let clones = Clones::new()?;
    teaches(&program, &clones.one, TITLE, LESSON).await?;
    let theirs = clones.one.join(".git");
    let liars = tempfile::tempdir()?;
    for (name, is_link) in [("link", true), ("file", false)] {
        let liar = liars.path().join(name);
        fs::create_dir_all(&liar)?;
        match is_link {
            true => std::os::unix::fs::symlink(&theirs, liar.join(".git"))?,
            false => fs::write(liar.join(".git"), format!("gitdir: {}\n", theirs.display()))?,
        }
        assert_eq!(given(&program, &liar).await?, "", "{name}");
    }
    let common = liars.path().join("common");
    fs::create_dir_all(&common)?;
    git(&common, &["init", "-q"])?;
    fs::write(common.join(".git/commondir"), theirs.to_string_lossy().as_bytes())?;
    assert_eq!(given(&program, &common).await?, "", "commondir");
    assert!(given(&program, &clones.one).await?.contains(LESSON));
    Ok(())
}
