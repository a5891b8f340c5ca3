//! What memories know of the place that they come from: its rule files.

use std::fs;
use std::path::Path;

use anyhow::Result;
use serde_json::{Value, json};

use super::TASK;
use crate::support::{Program, roomy};

const OTHER_RULE: &str = "Deploys wait in the queue of the harbour master.";
const RULE: &str = "Run `just fixtures` before the snapshot tests of the parser.";

/// Teaches a lesson in a folder, by a branch that ends there, and waits until it was learnt.
pub(super) async fn teaches(program: &Program, folder: &Path, title: &str, lesson: &str) -> Result<()> {
    let opening =
        json!({"description": TASK, "prompt": "Mend them.", "project_path": folder, "inject_memories": false});
    program.done("context_branch", opening).await?;
    let lessons = json!([{"title": title, "lesson": lesson}]);
    program.done("context_return", json!({"message": "Done.", "project_path": folder, "lessons": lessons})).await?;
    program.done("memory_search", json!({"query": TASK, "project_path": folder})).await?;
    Ok(())
}

fn kept(program: &Program) -> Result<Vec<String>> {
    program.database()?.rows("SELECT json_extract(content, '$.lesson') FROM memories ORDER BY made_at, id")
}

#[tokio::test]
async fn what_a_rule_file_says_already_becomes_no_lesson() -> Result<()> {
    let program = Program::start(roomy()).await?;
    let project = tempfile::tempdir()?;
    let (root, inner) = (project.path(), project.path().join("crates/parser"));
    super::git(root, &["init", "-q"])?;
    fs::create_dir_all(&inner)?;
    fs::create_dir_all(program.daemon.home().join(".claude"))?;
    fs::write(root.join("CLAUDE.md"), format!("# Here\n\n- {RULE}\n- {OTHER_RULE}\n"))?;
    fs::write(program.daemon.home().join(".claude/CLAUDE.md"), "Never push to a branch of somebody else.\n")?;
    fs::write(root.join("AGENTS.md"), "@more.md\n")?;
    fs::write(root.join("more.md"), "Integration tests need docker.\n")?;

    teaches(&program, &inner, "Fixtures", &format!("Always {}", RULE.replace('R', "r"))).await?;
    teaches(&program, root, "Deploys", OTHER_RULE).await?;
    teaches(&program, root, "Pushing", "Never push to somebody else's branch.").await?;
    assert!(kept(&program)?.is_empty(), "{:?}", kept(&program)?);

    let other_command = RULE.replace("fixtures", "snapshots");
    let included = "Integration tests need docker.";
    teaches(&program, root, "Snapshots", &other_command).await?;
    teaches(&program, root, "Docker", included).await?;
    assert_eq!(
        kept(&program)?,
        [&other_command, included],
        "other commands are new, and files that are included are not read"
    );

    fs::remove_file(root.join("CLAUDE.md"))?;
    teaches(&program, root, "Deploys", OTHER_RULE).await?;
    assert_eq!(kept(&program)?.len(), 3, "it is no longer a rule");
    Ok(())
}

#[tokio::test]
async fn an_agent_that_records_what_a_rule_file_says_learns_that_and_what_a_person_writes_is_kept() -> Result<()> {
    let program = Program::start(roomy()).await?;
    let project = tempfile::tempdir()?;
    fs::write(project.path().join("AGENTS.md"), RULE)?;
    let lesson = json!({"title": "Fixtures", "lesson": RULE, "project_path": project.path()});
    let answer = program.done("memory_record", lesson.clone()).await?;
    assert_eq!(answer, json!({"state": "not_kept", "note": "your rule file AGENTS.md says this already"}));
    assert!(kept(&program)?.is_empty());

    let path = project.path().to_string_lossy().into_owned();
    let add =
        program.daemon.program(&["memory", "add", "--title", "Fixtures", RULE, "--project", &path]).output().await?;
    let (out, said) = (String::from_utf8(add.stdout)?, String::from_utf8(add.stderr)?);
    assert!(
        out.starts_with("kept mem_") && said == "note: your rule file AGENTS.md says this already\n",
        "{out}{said}"
    );
    let body = json!({"title": "Fixtures", "lesson": RULE, "project": path});
    let made: Value = program.api.post("/api/v1/memories", &body).await?.with_status(201)?;
    assert_eq!(made["said_by"], "AGENTS.md");
    assert_eq!(kept(&program)?.len(), 2);
    Ok(())
}
