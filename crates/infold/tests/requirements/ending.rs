//! FR-010, ending a session: everything that is open folds, within a bounded time.

use std::time::Duration;

use anyhow::Result;
use rusqlite::Connection;
use serde_json::{Map, Value, json};

use crate::support::{Program, roomy};

#[tokio::test]
async fn fr_010_session_end_folds_every_open_branch_and_closes_the_session() -> Result<()> {
    let program = Program::start(roomy()).await?;
    let top = program.open("s", "Top").await?;
    let below = program.open("s", "Below").await?;
    let beside = program.open_under("s", "main", "Beside").await?;
    let other_branch = program.open("other", "Elsewhere").await?;

    let ended = program.done("session_end", json!({"session_id": "s"})).await?;
    assert_eq!(ended["branches_folded"], json!([below, beside, top]), "deepest first");
    assert_eq!(ended["branches_failed"], json!([]));
    assert_eq!(ended["context_state"]["active_branch_id"], Value::Null);
    for branch in [&top, &below, &beside] {
        let status = program.look_at(branch).await?;
        assert_eq!((&status["status"], &status["reason"]), (&json!("completed"), &json!("session ended")), "{status}");
    }
    assert_eq!(program.look_at(&other_branch).await?["status"], "active", "another session goes on");

    for (tool, arguments) in [
        ("branch_create", json!({"session_id": "s", "description": "Too late"})),
        ("branch_return", json!({"branch_id": top, "message": "Too late."})),
        ("session_end", json!({"session_id": "s"})),
    ] {
        assert_eq!(program.refused(tool, arguments).await?.verdict(), ("session_over", 409), "{tool}");
    }
    let answer = program.api.post("/api/v1/sessions/s/branches", &json!({"description": "Too late"})).await?;
    assert_eq!(answer.refused()?.verdict(), ("session_over", 409));
    Ok(())
}

#[tokio::test]
async fn fr_010_the_json_api_and_a_projects_path_end_a_session_too() -> Result<()> {
    let program = Program::start(roomy()).await?;
    let branch = program.open("s", "Work").await?;
    let ended = program.api.delete("/api/v1/sessions/s").await?.with_status(200)?;
    assert_eq!(ended["branches_folded"], json!([branch]));
    assert_eq!(program.api.delete("/api/v1/sessions/s").await?.refused()?.verdict(), ("session_over", 409));
    assert_eq!(program.api.delete("/api/v1/sessions/t").await?.refused()?.verdict(), ("session_not_found", 404));

    let arguments = json!({"project_path": "/p", "description": "Work", "prompt": "Work."});
    let opened = program.done("context_branch", arguments.clone()).await?;
    let ended = program.done("session_end", json!({"project_path": "/p"})).await?;
    assert_eq!(ended["branches_folded"], json!([opened["branch_id"]]));
    let again = program.done("context_branch", arguments).await?;
    assert_ne!(again["session_id"], opened["session_id"], "a project's next branch starts its next session");
    Ok(())
}

#[tokio::test]
async fn fr_010_session_end_tells_how_far_it_is() -> Result<()> {
    let program = Program::start(roomy()).await?;
    for _ in 0..3 {
        program.open("s", "Work").await?;
    }
    let meta = Map::from_iter([("progressToken".to_owned(), json!("end-1"))]);
    let answer = program.mcp.call_with_meta("session_end", json!({"session_id": "s"}), meta).await?;
    assert!(answer.is_ok(), "{}", answer.summary());
    let progress: Vec<&Value> =
        answer.notifications.iter().filter(|message| message["method"] == "notifications/progress").collect();
    let last = &progress.last().map(|message| &message["params"]).cloned().unwrap_or_default();
    assert_eq!((&last["progressToken"], &last["total"]), (&json!("end-1"), &json!(3.0)), "{:?}", answer.notifications);
    Ok(())
}

/// Another program that holds the database makes folding slow: the first branch waits for it, and by
/// then the time for ending the session is over.
#[tokio::test]
async fn fr_010_branches_that_do_not_fold_in_time_have_failed() -> Result<()> {
    let program = Program::start(roomy().set("folding.session_end_timeout_seconds", 1)).await?;
    let first = program.open("s", "First").await?;
    let second = program.open("s", "Second").await?;
    let third = program.open("s", "Third").await?;

    let holder = Connection::open(program.daemon.data().join("infold.db"))?;
    holder.execute_batch("BEGIN IMMEDIATE")?;
    let ending = program.done("session_end", json!({"session_id": "s"}));
    let letting_go = async {
        // This is much longer than the time for ending: a busy machine begins with it late.
        tokio::time::sleep(Duration::from_secs(4)).await;
        holder.execute_batch("ROLLBACK")
    };
    let (ended, let_go) = tokio::join!(ending, letting_go);
    let_go?;

    let ended = ended?;
    assert_eq!((&ended["branches_folded"], &ended["branches_failed"]), (&json!([third]), &json!([second, first])));
    let reason = "not folded within the time for ending the session";
    for (branch, status, reason) in
        [(&third, "completed", "session ended"), (&second, "failed", reason), (&first, "failed", reason)]
    {
        let shown = program.look_at(branch).await?;
        assert_eq!((&shown["status"], &shown["reason"]), (&json!(status), &json!(reason)), "{shown}");
    }
    assert_eq!(program.database()?.number("SELECT count(*) FROM branches WHERE open = 1")?, 0);
    Ok(())
}
