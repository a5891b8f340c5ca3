//! FR-003a, asking for a branch's status.

use anyhow::Result;
use serde_json::{Value, json};

use crate::support::{Program, roomy};

#[tokio::test]
async fn fr_003a_a_branch_is_found_by_its_id_and_as_its_sessions_active_one() -> Result<()> {
    let program = Program::start(roomy()).await?;
    let branch = program.open("s", "Look around").await?;
    let by_id = program.look_at(&branch).await?;
    let by_session = program.done("branch_status", json!({"session_id": "s"})).await?;
    for status in [&by_id, &by_session] {
        assert_eq!((&status["branch_id"], &status["session_id"]), (&json!(branch), &json!("s")));
        assert_eq!((&status["status"], &status["depth"]), (&json!("active"), &json!(1)));
        assert_eq!((&status["budget_total"], &status["description"]), (&json!(8192), &json!("Look around")));
        assert!(status["budget_used"].as_u64().is_some_and(|used| used > 0), "{status}");
        assert!(status["created_at"].as_str().is_some_and(|at| at.ends_with('Z')), "{status}");
        assert!(status.get("completed_at").is_none(), "{status}");
    }
    Ok(())
}

#[tokio::test]
async fn fr_003a_each_end_has_its_own_status() -> Result<()> {
    let program = Program::start(roomy()).await?;
    let completed = program.open_under("s", "main", "Does it").await?;
    program.fold(&completed, "Done.").await?;
    let failed = program.open_under("s", "main", "Cannot").await?;
    program.done("branch_return", json!({"branch_id": failed, "message": "No.", "failed": true})).await?;
    let arguments = json!({"session_id": "s", "description": "Too much", "budget": 40, "parent_branch_id": "main"});
    let exhausted = program.done("branch_create", arguments).await?["branch_id"].clone();
    let exhausted = exhausted.as_str().unwrap_or_default();
    program.record("s", json!({"tool_name": "say", "content": "many words ".repeat(12)})).await?;
    program.record("s", json!({"tool_name": "say", "content": "many words ".repeat(12)})).await?;

    for (branch, status) in [(completed.as_str(), "completed"), (&failed, "failed"), (exhausted, "timeout")] {
        let shown = program.look_at(branch).await?;
        assert_eq!(shown["status"], status, "{shown}");
        assert!(shown["completed_at"].is_string(), "{shown}");
    }
    Ok(())
}

#[tokio::test]
async fn fr_003a_where_there_is_no_branch_the_answer_says_so_without_an_error() -> Result<()> {
    let program = Program::start(roomy()).await?;
    let branch = program.open("s", "Soon over").await?;
    program.fold(&branch, "Done.").await?;
    let forged = format!("{}{}", &branch[..branch.len() - 4], "0000");
    for arguments in [
        json!({"session_id": "s"}),
        json!({"session_id": "never-seen"}),
        json!({"branch_id": "br_00000000-0000-8000-8000-000000000000"}),
        json!({"branch_id": forged}),
        json!({"branch_id": branch, "session_id": "never-seen"}),
    ] {
        let status = program.done("branch_status", arguments.clone()).await?;
        assert_eq!(status["branch_id"], Value::Null, "{arguments}: {status}");
        assert_eq!(status["status"], "No active branch found", "{arguments}");
    }
    Ok(())
}

#[tokio::test]
async fn fr_003a_one_of_the_two_is_required() -> Result<()> {
    let program = Program::start(roomy()).await?;
    let refused = program.refused("branch_status", json!({})).await?;
    assert_eq!(refused.verdict(), ("invalid_input", 400));
    assert!(refused.message.contains("branch_id") && refused.message.contains("session_id"), "{}", refused.message);
    Ok(())
}
