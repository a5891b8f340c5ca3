//! FR-003, returning; FR-008, failing; FR-009, folding what lies below first.

use anyhow::Result;
use serde_json::{Value, json};

use crate::support::{Program, lines_about, of_type, roomy};

#[tokio::test]
async fn fr_003_the_parent_grows_by_the_returned_message_and_by_nothing_else() -> Result<()> {
    let program = Program::start(roomy()).await?;
    let branch = program.open("s", "Search ten files").await?;
    for number in 0..5 {
        let content = lines_about(&format!("file {number}"), 3_000);
        program.record("s", json!({"tool_name": "read_file", "content": content})).await?;
    }
    let message = "It is in parser.rs, line 40: the loop ends one step too early.";
    let returned = program.fold(&branch, message).await?;
    assert_eq!((&returned["success"], &returned["message"]), (&json!(true), &json!(message)));
    assert!(returned["tokens_used"].as_u64().is_some_and(|tokens| tokens > 1_000), "{returned}");

    let detail = program.api.get(&format!("/api/v1/branches/{branch}")).await?.with_status(200)?;
    let context = program.done("context_branch_status", json!({"project_path": "/p", "session_id": "s"})).await?;
    let breakdown = &context["token_breakdown"];
    assert_eq!(breakdown["main_thread"], detail["message_tokens"], "{breakdown}");
    assert_eq!((&breakdown["total"], &breakdown["folded_total"]), (&detail["message_tokens"], &detail["tokens"]));
    let saved = detail["tokens"].as_u64().unwrap_or(0) - detail["message_tokens"].as_u64().unwrap_or(0);
    assert_eq!(returned["tokens_saved"], saved);
    assert_eq!((&detail["status"], &detail["message"]), (&json!("completed"), &json!(message)));
    Ok(())
}

#[tokio::test]
async fn fr_003_a_branch_returns_once() -> Result<()> {
    let program = Program::start(roomy()).await?;
    let branch = program.open("s", "Once").await?;
    program.fold(&branch, "The first answer.").await?;

    let again = json!({"branch_id": branch, "message": "Another answer."});
    let refused = program.refused("branch_return", again).await?;
    assert_eq!(refused.verdict(), ("branch_not_active", 409));
    assert_eq!(
        (&refused.data["current_status"], &refused.data["result"]),
        (&json!("completed"), &json!("The first answer."))
    );
    let again = json!({"project_path": "/p", "session_id": "s", "branch_id": branch, "message": "Another answer."});
    let refused = program.refused("context_return", again).await?;
    assert_eq!((refused.rpc, &refused.data["current_status"]), (Some(-32003), &json!("folded")), "{refused:?}");
    let path = format!("/api/v1/branches/{branch}/return");
    let answer = program.api.post(&path, &json!({"message": "Another answer."})).await?;
    assert_eq!(answer.refused()?.verdict(), ("branch_not_active", 409));

    let events = program.api.events_until("s", |events| !of_type(events, "branch.folded").is_empty()).await?;
    assert_eq!(of_type(&events, "branch.folded").len(), 1);
    assert_eq!(program.look_at(&branch).await?["result"], "The first answer.");
    Ok(())
}

#[tokio::test]
async fn fr_003_context_return_folds_the_active_branch_and_accounts_for_it() -> Result<()> {
    let program = Program::start(roomy()).await?;
    let arguments = json!({"project_path": "/p", "description": "Find it", "prompt": "Search."});
    let opened = program.done("context_branch", arguments).await?;
    let session = opened["session_id"].as_str().unwrap_or_default();
    program.record(session, json!({"tool_name": "grep", "content": lines_about("grep", 2_000)})).await?;

    let returned = program.done("context_return", json!({"project_path": "/p", "message": "Found three."})).await?;
    assert_eq!((&returned["branch_id"], &returned["status"]), (&opened["branch_id"], &json!("folded")));
    assert_eq!((&returned["message"], &returned["parent_branch_id"]), (&json!("Found three."), &Value::Null));
    let (summary, state) = (&returned["summary"], &returned["context_state"]);
    assert_eq!((&summary["operations_count"], &summary["secrets_scrubbed"]), (&json!(1), &json!(0)));
    let number = |value: &Value| value.as_u64().unwrap_or(u64::MAX);
    assert_eq!(number(&summary["tokens_folded"]), number(&summary["tokens_saved"]) + number(&state["total_tokens"]));
    assert_eq!((&state["active_branch_id"], &state["total_tokens"]), (&Value::Null, &state["main_thread_tokens"]));
    assert_eq!(returned["context_health"]["warning"], "none");
    Ok(())
}

#[tokio::test]
async fn fr_008_a_failed_branch_hands_its_error_to_its_parent() -> Result<()> {
    let program = Program::start(roomy()).await?;
    let branch = program.open("s", "Try the fix").await?;
    let why = "The test still fails: expected 3, got 4.";
    let arguments = json!({"branch_id": branch, "message": why, "failed": true});
    let returned = program.done("branch_return", arguments).await?;
    assert_eq!((&returned["status"], &returned["message"]), (&json!("failed"), &json!(why)));

    let status = program.look_at(&branch).await?;
    assert_eq!((&status["status"], &status["reason"]), (&json!("failed"), &json!("reported failure")));
    assert_eq!(status["result"], why);
    let context = program.done("context_branch_status", json!({"project_path": "/p", "session_id": "s"})).await?;
    assert!(context["token_breakdown"]["main_thread"].as_u64().is_some_and(|tokens| tokens > 0), "{context}");
    Ok(())
}

#[tokio::test]
async fn fr_008_failures_are_kept_whole_for_anti_patterns() -> Result<()> {
    let program = Program::start(roomy()).await?;
    let branch = program.open("s", "Try the fix").await?;
    program.record("s", json!({"tool_name": "run_tests", "content": "expected 3, got 4"})).await?;
    let path = format!("/api/v1/branches/{branch}/return");
    let body = json!({"message": "It does not work.", "failed": true});
    program.api.post(&path, &body).await?.with_status(200)?;

    let kept = program.api.get(&format!("/api/v1/archive/{branch}")).await?.with_status(200)?;
    assert_eq!(kept["branch"]["status"], "failed");
    assert!(kept["steps"].to_string().contains("expected 3, got 4"), "with everything that happened in it: {kept}");
    let ends = "SELECT branch, generation, status FROM events WHERE status IS NOT NULL";
    assert_eq!(program.database()?.rows(ends)?, [format!("{branch} 1 failed")], "and something is learnt from it");
    Ok(())
}

#[tokio::test]
async fn fr_009_a_return_folds_everything_below_first_and_deepest_first() -> Result<()> {
    let program = Program::start(roomy()).await?;
    let top = program.open("s", "Top").await?;
    let middle = program.open_under("s", &top, "Middle").await?;
    let leaf = program.open_under("s", &middle, "Leaf").await?;
    let other = program.open_under("s", &top, "Other").await?;
    let beside = program.open_under("s", "main", "Beside").await?;

    let returned = program.fold(&top, "All done.").await?;
    assert_eq!(returned["folded_with_it"], json!([leaf, other, middle]));
    for below in [&leaf, &other, &middle] {
        let status = program.look_at(below).await?;
        assert_eq!(
            (&status["status"], &status["reason"]),
            (&json!("completed"), &json!("parent returning")),
            "{status}"
        );
    }
    assert_eq!(program.look_at(&beside).await?["status"], "active", "what does not lie below is left alone");

    let events = program.api.events_until("s", |events| of_type(events, "branch.folded").len() == 4).await?;
    let order: Vec<&Value> = of_type(&events, "branch.folded").into_iter().map(|event| &event["branch_id"]).collect();
    assert_eq!(order, [&json!(leaf), &json!(other), &json!(middle), &json!(top)]);
    Ok(())
}
