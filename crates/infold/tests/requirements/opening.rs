//! FR-001, opening branches, and FR-006, nesting them.

use anyhow::{Result, ensure};
use infold_testkit::{Era, McpHttp, McpStdio};
use serde_json::{Value, json};

use crate::support::{Program, infold, roomy};

fn is_branch_id(id: &Value) -> bool {
    let uuid = id.as_str().and_then(|id| id.strip_prefix("br_")).unwrap_or_default();
    let parts: Vec<usize> = uuid.split('-').map(str::len).collect();
    parts == [8, 4, 4, 4, 12] && uuid.chars().all(|c| c == '-' || c.is_ascii_hexdigit())
}

#[tokio::test]
async fn fr_001_branch_create_opens_a_branch_with_the_defaults_of_its_document() -> Result<()> {
    let program = Program::plain().await?;
    let opened = program.done("branch_create", json!({"session_id": "s", "description": "Find the cause"})).await?;
    assert!(is_branch_id(&opened["branch_id"]), "{opened}");
    assert_eq!((&opened["budget_allocated"], &opened["depth"]), (&json!(8192), &json!(1)), "{opened}");
    assert_eq!(opened["timeout_seconds"], 300);
    assert_eq!(opened["parent_branch_id"], Value::Null);

    let status = program.look_at(opened["branch_id"].as_str().unwrap_or_default()).await?;
    assert_eq!((&status["status"], &status["description"]), (&json!("active"), &json!("Find the cause")), "{status}");
    Ok(())
}

#[tokio::test]
async fn fr_001_every_parameter_is_taken_as_it_is_given() -> Result<()> {
    let program = Program::plain().await?;
    let arguments = json!({
        "session_id": "s", "description": "Find the cause", "prompt": "Look at the parser first.",
        "budget": 1234, "timeout_seconds": 42,
    });
    let opened = program.done("branch_create", arguments).await?;
    assert_eq!((&opened["budget_allocated"], &opened["timeout_seconds"]), (&json!(1234), &json!(42)));
    assert!(opened.get("notes").is_none(), "nothing was changed, so there is nothing to note: {opened}");

    let path = format!("/api/v1/branches/{}", opened["branch_id"].as_str().unwrap_or_default());
    let branch = program.api.get(&path).await?.with_status(200)?;
    assert_eq!(branch["prompt"], "Look at the parser first.");
    assert_eq!((&branch["budget_total"], &branch["timeout_seconds"]), (&json!(1234), &json!(42)));
    Ok(())
}

#[tokio::test]
async fn fr_001_wishes_over_the_maximum_are_capped_and_the_answer_says_so() -> Result<()> {
    let program = Program::plain().await?;
    let arguments =
        json!({"session_id": "s", "description": "A long one", "budget": 1_000_000, "timeout_seconds": 86_400});
    let opened = program.done("branch_create", arguments).await?;
    assert_eq!((&opened["budget_allocated"], &opened["timeout_seconds"]), (&json!(32768), &json!(600)));
    let notes = opened["notes"].to_string();
    assert!(
        notes.contains("budget was capped at 32768") && notes.contains("timeout_seconds was capped at 600"),
        "{notes}"
    );
    Ok(())
}

#[tokio::test]
async fn fr_001_context_branch_opens_one_in_the_projects_session() -> Result<()> {
    let program = Program::plain().await?;
    let arguments = json!({"project_path": "/projects/shop/", "description": "Find it", "prompt": "Search."});
    let opened = program.done("context_branch", arguments).await?;
    assert!(is_branch_id(&opened["branch_id"]), "{opened}");
    assert!(opened["session_id"].as_str().is_some_and(|id| id.starts_with("sess_")), "{opened}");
    assert_eq!((&opened["branch_depth"], &opened["parent_branch_id"]), (&json!(1), &Value::Null));
    assert_eq!(opened["context_state"]["active_branch_id"], opened["branch_id"]);

    let status = program.done("context_branch_status", json!({"project_path": "/projects//shop/./x/.."})).await?;
    assert_eq!(status["session_id"], opened["session_id"], "the same project by another spelling");
    assert_eq!(status["branch_path"], json!(["main", opened["branch_id"]]));
    Ok(())
}

#[tokio::test]
async fn fr_001_both_transports_and_both_eras_open_branches_in_one_session() -> Result<()> {
    let program = Program::plain().await?;
    let older = McpHttp::connect(program.daemon.base_url(), Era::Legacy).await?;
    let (home, data) = (program.daemon.home(), program.daemon.data());
    let binary = env!("CARGO_BIN_EXE_infold").as_ref();
    let mut stdio = McpStdio::start(binary, &home, data, &[], Era::Legacy).await?;
    let mut newer_stdio = McpStdio::start(binary, &home, data, &[], Era::Modern).await?;
    let arguments = |n: u32| json!({"session_id": "s", "description": format!("Part {n}"), "parent_branch_id": "main"});

    let answers = [
        program.mcp.call("branch_create", arguments(1)).await?,
        older.call("branch_create", arguments(2)).await?,
        stdio.call("branch_create", arguments(3)).await?,
        newer_stdio.call("branch_create", arguments(4)).await?,
    ];
    for answer in &answers {
        ensure!(answer.is_ok(), "{}", answer.summary());
        let meta = &answer.meta.clone().unwrap_or_default()["infold/contextState"];
        assert_eq!(meta["active_branch_id"], answer.field("branch_id"), "{meta}");
        if let Some(header) = &answer.context_state_header {
            assert_eq!(serde_json::from_str::<Value>(header)?, *meta, "the header and _meta say the same");
        }
    }
    assert!(answers[0].context_state_header.is_some() && answers[1].context_state_header.is_some());
    let all = program.api.get("/api/v1/sessions/s/branches").await?.with_status(200)?;
    assert_eq!((&all["total_branches"], &all["active_branches"]), (&json!(4), &json!(4)));
    Ok(())
}

#[tokio::test]
async fn fr_001_the_same_key_opens_one_branch_however_often_it_is_sent() -> Result<()> {
    let program = Program::plain().await?;
    let arguments = json!({"session_id": "s", "description": "Once", "idempotency_key": "k-1"});
    let first = program.done("branch_create", arguments.clone()).await?;
    assert_eq!(program.done("branch_create", arguments).await?, first);
    let other = json!({"session_id": "s", "description": "Something else", "idempotency_key": "k-1"});
    assert_eq!(program.refused("branch_create", other).await?.verdict(), ("idempotency_key_reused", 409));
    assert_eq!(program.database()?.number("SELECT count(*) FROM branches")?, 1);
    Ok(())
}

#[tokio::test]
async fn fr_006_branches_nest_to_the_depth_of_the_settings_and_no_further() -> Result<()> {
    let program = Program::plain().await?;
    for depth in 1..=3 {
        let opened = program.done("branch_create", json!({"session_id": "s", "description": "Deeper"})).await?;
        assert_eq!(opened["depth"], depth);
    }
    let refused = program.refused("branch_create", json!({"session_id": "s", "description": "Too deep"})).await?;
    assert_eq!(refused.verdict(), ("max_depth_exceeded", 400));
    assert_eq!((&refused.data["depth"], &refused.data["max_depth"]), (&json!(4), &json!(3)), "{refused:?}");

    let arguments = json!({"project_path": "/p", "session_id": "s", "description": "Too deep", "prompt": "Dig."});
    let refused = program.refused("context_branch", arguments).await?;
    assert_eq!((refused.rpc, refused.verdict()), (Some(-32003), ("max_depth_exceeded", 400)), "{refused:?}");
    let answer = program.api.post("/api/v1/sessions/s/branches", &json!({"description": "Too deep"})).await?;
    assert_eq!(answer.refused()?.verdict(), ("max_depth_exceeded", 400));
    assert_eq!(program.database()?.number("SELECT count(*) FROM branches")?, 3, "what was refused left nothing");
    Ok(())
}

#[tokio::test]
async fn fr_006_the_depth_can_be_set_and_siblings_do_not_add_to_it() -> Result<()> {
    let program = Program::start(roomy().set("folding.max_depth", 1)).await?;
    program.open("s", "First").await?;
    let refused = program.refused("branch_create", json!({"session_id": "s", "description": "Below it"})).await?;
    assert_eq!(refused.verdict(), ("max_depth_exceeded", 400));
    let arguments = json!({"session_id": "s", "description": "Beside it", "parent_branch_id": "main"});
    assert_eq!(program.done("branch_create", arguments).await?["depth"], 1);

    let deeper = Program::start(infold().set("folding.max_depth", 5)).await?;
    for depth in 1..=5 {
        let opened = deeper.done("branch_create", json!({"session_id": "s", "description": "Deeper"})).await?;
        assert_eq!(opened["depth"], depth);
    }
    Ok(())
}
