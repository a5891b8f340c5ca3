//! What becomes of memories: by what branches do with them, where they are, and when their index is gone.

mod clones;
mod distilling;
mod meaning;
mod merges;
mod places;
mod resources;
mod shown;

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::support::{Program, roomy};

const TASK: &str = "Mend the snapshot tests of the parser";
const LESSON: &str = "Run `just fixtures` before the parser's snapshot tests, or they fail with stale rows.";

async fn taught(program: &Program, session: &str, lesson: &str) -> Result<String> {
    let branch = program.open(session, TASK).await?;
    let lessons = json!([{"title": "Fixtures before the snapshot tests of the parser", "lesson": lesson}]);
    program.done("branch_return", json!({"branch_id": branch, "message": "Done.", "lessons": lessons})).await?;
    Ok(branch)
}

/// Opens a branch for the same task, and gives its id and what it was given.
async fn opened(program: &Program, session: &str, more: Value) -> Result<(String, String, Value)> {
    let mut arguments = json!({"session_id": session, "description": TASK});
    arguments.as_object_mut().context("an object")?.extend(more.as_object().cloned().unwrap_or_default());
    let opened = program.done("branch_create", arguments).await?;
    let text = |field: &str| opened[field].as_str().unwrap_or_default().to_owned();
    Ok((text("branch_id"), text("injected_context"), opened.clone()))
}

/// The name and the confidence of the only memory in a quotation.
fn only(injected: &str) -> Result<(String, String)> {
    let header = injected.lines().find_map(|line| line.strip_prefix("| mem_")).context("a header")?;
    let mut parts = header.split(" · ");
    let id = format!("mem_{}", parts.next().unwrap_or_default());
    let confidence = parts.find(|part| part.starts_with("confidence ")).context("a confidence")?;
    Ok((id, confidence.to_owned()))
}

#[tokio::test]
async fn only_memories_that_a_branch_relied_on_move_by_its_outcome() -> Result<()> {
    let program = Program::start(roomy()).await?;
    taught(&program, "first", LESSON).await?;
    let confidence = async |session: &str| anyhow::Ok(only(&opened(&program, session, json!({})).await?.1)?.1);
    assert_eq!(confidence("shown").await?, "confidence 0.80", "being shown changes nothing");
    assert_eq!(confidence("shown-again").await?, "confidence 0.80");

    let (branch, injected, _) = opened(&program, "helped", json!({})).await?;
    let (id, _) = only(&injected)?;
    let helped = json!({"branch_id": branch, "message": "It helped.", "memories_used": [id], "extract_memory": false});
    program.done("branch_return", helped).await?;
    assert_eq!(confidence("later").await?, "confidence 0.83");

    let (branch, ..) = opened(&program, "misled", json!({})).await?;
    let misled = json!({
        "branch_id": branch, "message": "It did not.", "failed": true, "memories_used": [id], "extract_memory": false,
    });
    program.done("branch_return", misled).await?;
    assert_eq!(confidence("last").await?, "confidence 0.71");

    let judged = program.done("memory_feedback", json!({"memory_id": id, "helpful": true})).await?;
    assert_eq!(judged["confidence"], 0.78);
    Ok(())
}

#[tokio::test]
async fn without_its_index_branches_open_without_memories_say_so_once_and_find_them_again() -> Result<()> {
    let program = Program::start(roomy()).await?;
    taught(&program, "first", LESSON).await?;
    assert!(opened(&program, "second", json!({})).await?.1.contains(LESSON));

    let database = rusqlite::Connection::open(program.daemon.data().join("infold.db"))?;
    database.busy_timeout(std::time::Duration::from_secs(10))?;
    database.execute_batch("DROP TABLE memory_words")?;
    let (_, injected, answer) = opened(&program, "third", json!({})).await?;
    assert_eq!(injected, "", "{answer}");
    assert!(answer["notes"][0].as_str().is_some_and(|note| note.contains("memories are not available")), "{answer}");
    let (.., answer) = opened(&program, "fourth", json!({})).await?;
    ensure!(answer.get("notes").is_none(), "it is said once: {answer}");

    let again = async {
        while !program.call("memory_search", json!({"query": TASK})).await?.text.contains(LESSON) {
            tokio::time::sleep(crate::support::POLL).await;
        }
        anyhow::Ok(())
    };
    tokio::time::timeout(crate::support::PATIENCE, again).await.context("the index is made anew by itself")??;
    assert!(opened(&program, "fifth", json!({})).await?.1.contains(LESSON));
    Ok(())
}

#[tokio::test]
async fn when_a_later_branch_sees_other_code_the_memory_says_so_until_it_is_seen_again() -> Result<()> {
    let program = Program::start(roomy()).await?;
    let code =
        (1..20).map(|line| format!("fn parse_row_{line}(input: &str) -> Row {{ Row::empty() }}\n")).collect::<String>();
    let read = |content: &str| json!({"tool_name": "Read", "arguments": {"file_path": "/p/src/parser/rows.rs"}, "content": content});
    program.open("first", TASK).await?;
    program.record("first", read(&code)).await?;
    let branch = program.done("branch_status", json!({"session_id": "first"})).await?["branch_id"].clone();
    let lessons = json!([{"title": "Fixtures before the snapshot tests of the parser", "lesson": LESSON}]);
    program.done("branch_return", json!({"branch_id": branch, "message": "Done.", "lessons": lessons})).await?;

    let looks = async |session: &str, content: &str| {
        let (branch, injected, _) = opened(&program, session, json!({})).await?;
        program.record(session, read(content)).await?;
        program
            .done("branch_return", json!({"branch_id": branch, "message": "Read.", "extract_memory": false}))
            .await?;
        anyhow::Ok(injected)
    };
    let other = code.replace("Row::empty()", "Row::of(input)");
    assert!(!looks("second", &other).await?.contains("changed since"), "it was as it had been when this one opened");
    assert!(looks("third", &code).await?.contains(" · the code has changed since"));
    assert!(!looks("fourth", &code).await?.contains("changed since"), "it is as it was");

    program.record("in-the-main-thread", read(&other)).await?;
    let noted = async {
        while program.database()?.rows("SELECT memory FROM memory_marks WHERE changed = 1")?.is_empty() {
            tokio::time::sleep(crate::support::POLL).await;
        }
        anyhow::Ok(())
    };
    tokio::time::timeout(crate::support::PATIENCE, noted).await.context("the main thread is looked at too")??;
    assert!(looks("fifth", &code).await?.contains(" · the code has changed since"));
    Ok(())
}

#[tokio::test]
async fn a_lesson_that_an_agent_wrote_is_judged_by_its_words_whatever_files_its_branch_read() -> Result<()> {
    let program = Program::start(roomy()).await?;
    let task = json!({"description": "Change the functions of the harbour files", "prompt": "Read every file first."});
    let asked = |session: &str| {
        let mut asked = task.clone();
        asked["session_id"] = json!(session);
        asked
    };
    let branch = program.done("branch_create", asked("first")).await?["branch_id"].clone();
    let read = json!({"tool_name": "Read", "arguments": {"file_path": "/p/quay-01.rs"}, "content": "fn quay() {}"});
    program.record("first", read).await?;
    let lesson = "The harbour files are generated: change harbour.tmpl and run `just harbour`, never the files.";
    let lessons = json!([{"title": "The harbour files are generated", "lesson": lesson}]);
    program.done("branch_return", json!({"branch_id": branch, "message": "Done.", "lessons": lessons})).await?;
    let given = program.done("branch_create", asked("second")).await?;
    ensure!(given["injected_context"].as_str().is_some_and(|given| given.contains(lesson)), "{given}");
    Ok(())
}

#[tokio::test]
async fn what_a_branch_learnt_after_fetching_something_is_marked_as_from_outside() -> Result<()> {
    let program = Program::start(roomy()).await?;
    let branch = program.open("first", TASK).await?;
    let arguments = json!({"url": "https://example.com/how-to"});
    program.record("first", json!({"tool_name": "WebFetch", "arguments": arguments, "content": "a page"})).await?;
    let lessons = json!([{"title": "Fixtures before the snapshot tests of the parser", "lesson": LESSON}]);
    program.done("branch_return", json!({"branch_id": branch, "message": "Done.", "lessons": lessons})).await?;
    let (_, injected, _) = opened(&program, "second", json!({})).await?;
    assert!(injected.contains(" · from outside"), "{injected}");
    assert_eq!(program.database()?.rows("SELECT label FROM memories")?, ["host:example.com"]);
    Ok(())
}

#[tokio::test]
async fn nothing_is_shown_before_a_person_accepted_it_if_settings_say_so() -> Result<()> {
    let program = Program::start(roomy().set("memory.review", "all")).await?;
    taught(&program, "first", LESSON).await?;
    assert_eq!(opened(&program, "second", json!({})).await?.1, "");
    let id = program.database()?.rows("SELECT id FROM memories")?.remove(0);
    let accept = json!({"accept": true});
    let path = format!("/api/v1/memories/{id}/review");
    program.api.post(&path, &accept).await?.with_status(200)?;
    assert!(opened(&program, "third", json!({})).await?.1.contains(LESSON));
    Ok(())
}

#[tokio::test]
async fn worktrees_share_memories_and_other_folders_have_their_own() -> Result<()> {
    let home = tempfile::tempdir()?;
    let (one, two, other) = (home.path().join("one"), home.path().join("two"), home.path().join("other"));
    std::fs::create_dir_all(&one)?;
    std::fs::create_dir_all(&other)?;
    git(&one, &["init", "-q"])?;
    git(&one, &["commit", "-q", "--allow-empty", "-m", "first"])?;
    git(&one, &["worktree", "add", "-q", "-b", "feature", &two.to_string_lossy()])?;

    let program = Program::start(roomy()).await?;
    let arguments = |folder: &Path| json!({"description": TASK, "prompt": "Mend them.", "project_path": folder});
    program.done("context_branch", arguments(&one)).await?;
    let lessons = json!([{"title": "Fixtures before the snapshot tests of the parser", "lesson": LESSON}]);
    program.done("context_return", json!({"message": "Done.", "project_path": one, "lessons": lessons})).await?;
    let there = program.done("context_branch", arguments(&two)).await?;
    assert!(there["injected_context"].as_str().is_some_and(|injected| injected.contains(LESSON)), "{there}");
    let elsewhere = program.done("context_branch", arguments(&other)).await?;
    assert_eq!(elsewhere["injected_context"], Value::Null);
    Ok(())
}

fn git(folder: &Path, arguments: &[&str]) -> Result<()> {
    let identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"];
    let done = Command::new("git").current_dir(folder).args(identity).args(arguments).output()?;
    ensure!(done.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    Ok(())
}
