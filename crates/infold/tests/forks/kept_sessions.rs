//! Forks of sessions that infold has stored, over MCP: both transports, both eras.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use infold_testkit::{Era, McpHttp, McpStdio};
use serde_json::{Value, json};

use super::scene::read_whole;
use crate::support::{Program, in_thread, roomy};

const PROJECT: &str = "/projects/parser";

/// A session with a call in its main thread, and a branch that has folded.
async fn work(program: &Program) -> Result<String> {
    let brief = json!({"project_path": PROJECT, "description": "Find the parser", "prompt": "Look in src."});
    let opened = program.done("context_branch", brief).await?;
    let session = opened["session_id"].as_str().context("a session")?.to_owned();
    program.record(&session, json!({"tool_name": "grep", "content": "noise inside the branch"})).await?;
    program.done("context_return", json!({"project_path": PROJECT, "message": "It is in src/parse.rs."})).await?;
    let result = json!({"tool_name": "make", "content": "All tests passed.", "arguments": {"target": "test"}});
    program.record(&session, result).await?;
    Ok(session)
}

fn check(answer: &Value, session: &str) -> Result<()> {
    ensure!(answer["parent_session_id"] == session, "{answer}");
    ensure!(answer["session_id"].as_str().is_some_and(|id| id.starts_with("sess_")), "{answer}");
    let names: Vec<&String> = answer["stats"].as_object().context("stats")?.keys().collect();
    let expected = [
        "originalCount",
        "finalCount",
        "totalChars",
        "removedMessages",
        "compactionDetected",
        "compactionSliceIndex",
        "truncatedResults",
        "tierDistribution",
        "headTailApplied",
    ];
    ensure!(names == expected, "the figures have the names of their document: {names:?}");
    ensure!(answer["stats"]["originalCount"] == 2, "{answer}");
    ensure!(answer["context"]["chars"] == answer["stats"]["totalChars"], "{answer}");
    let preamble = answer["preamble"].as_str().context("a preamble")?;
    ensure!(preamble.starts_with("You are working with forked context from a parent agent session.\n"), "{preamble}");
    ensure!(preamble.contains("- Tool results: 2 full, 0 truncated to 3000 chars, 0 truncated to 500 chars\n"));
    Ok(())
}

#[tokio::test]
async fn a_session_is_forked_over_both_transports_and_in_both_eras() -> Result<()> {
    let program = Program::start(roomy()).await?;
    let session = work(&program).await?;
    let before = program.api.get(&format!("/api/v1/sessions/{session}")).await?.with_status(200)?;
    let arguments = json!({"project_path": PROJECT, "prompt": "Write its tests."});
    let mut children = Vec::new();

    for era in [Era::Legacy, Era::Modern] {
        let http = McpHttp::connect(program.daemon.base_url(), era).await?;
        let answer = http.call("context_fork", arguments.clone()).await?;
        ensure!(answer.is_ok(), "{}", answer.summary());
        let header = answer.context_state_header.clone().context("the parent's figures")?;
        ensure!(header.contains(&session), "the caller goes on in its own session: {header}");
        children.push(answer.structured.context("structure")?);

        let binary = Path::new(env!("CARGO_BIN_EXE_infold"));
        let mut stdio = McpStdio::start(binary, &program.daemon.home(), program.daemon.data(), &[], era).await?;
        let answer = stdio.call("context_fork", arguments.clone()).await?;
        ensure!(answer.is_ok(), "{}", answer.summary());
        ensure!(serde_json::from_str::<Value>(&answer.text).ok() == answer.structured, "{}", answer.text);
        children.push(answer.structured.context("structure")?);
        stdio.close().await?;
    }

    for child in &children {
        check(child, &session)?;
        let context = read_whole(&program, child["context"]["ref_id"].as_str().context("a handle")?).await?;
        ensure!(context.contains("It is in src/parse.rs.") && context.contains("All tests passed."), "{context}");
        ensure!(!context.contains("noise inside the branch"), "{context}");
        ensure!(child["context"]["chars"] == context.chars().count(), "{child}");
    }
    let after = program.api.get(&format!("/api/v1/sessions/{session}")).await?.with_status(200)?;
    assert_eq!(after, before, "a fork reads its parent and does no more");
    Ok(())
}

#[tokio::test]
async fn a_child_is_shown_with_its_parent_and_worked_in_like_any_session() -> Result<()> {
    let program = Program::start(roomy()).await?;
    let session = work(&program).await?;
    let arguments = json!({"project_path": PROJECT, "new_session_id": "child", "profile": "recall"});
    let forked = program.done("context_fork", arguments).await?;
    assert_eq!((&forked["session_id"], &forked["profile"]), (&json!("child"), &json!("recall")));

    let list = program.api.get("/api/v1/sessions").await?.with_status(200)?;
    let listed = list["sessions"].as_array().context("sessions")?.iter().find(|one| one["session_id"] == "child");
    assert_eq!(listed.context("the child is listed")?["parent_session_id"], session);
    let brief = json!({"project_path": PROJECT, "session_id": "child", "description": "d", "prompt": "p"});
    let opened = program.done("context_branch", brief).await?;
    assert_eq!((&opened["session_id"], &opened["branch_depth"]), (&json!("child"), &json!(1)));
    let current = program.done("context_branch_status", json!({"project_path": PROJECT})).await?;
    assert_eq!(current["session_id"], session, "the project's own session is still its current one");

    let again = json!({"project_path": PROJECT, "new_session_id": "child"});
    assert_eq!(program.refused("context_fork", again).await?.verdict(), ("session_exists", 409));
    Ok(())
}

#[tokio::test]
async fn a_call_forks_the_view_of_the_thread_that_it_is_made_in() -> Result<()> {
    let program = Program::start(roomy()).await?;
    let brief = json!({"project_path": PROJECT, "description": "Find the parser", "prompt": "Look in src."});
    let opened = program.done("context_branch", brief).await?;
    let session = opened["session_id"].as_str().context("a session")?;
    program.record(session, json!({"tool_name": "grep", "content": "src/parse.rs:40"})).await?;
    let branch = opened["branch_id"].as_str().context("a branch")?;
    let seen_in_main = json!({"tool_name": "make", "content": "built in main", "branch_id": "main"});
    program.record(session, seen_in_main).await?;
    let arguments = json!({"project_path": PROJECT});
    let named = program.done_with("context_fork", arguments.clone(), in_thread(branch)).await?;
    for forked in [named, program.done("context_fork", arguments.clone()).await?] {
        let context = read_whole(&program, forked["context"]["ref_id"].as_str().context("a handle")?).await?;
        assert!(context.contains("Look in src.") && context.contains("src/parse.rs:40"), "{context}");
        assert!(!context.contains("built in main"), "a branch sees nothing of its parent: {context}");
    }
    let main = program.done_with("context_fork", arguments, in_thread("main")).await?;
    let context = read_whole(&program, main["context"]["ref_id"].as_str().context("a handle")?).await?;
    assert!(context.contains("built in main") && !context.contains("src/parse.rs:40"), "{context}");
    Ok(())
}

#[tokio::test]
async fn the_same_key_gives_the_same_child() -> Result<()> {
    let mut program = Program::start(roomy()).await?;
    work(&program).await?;
    let arguments = json!({"project_path": PROJECT, "idempotency_key": "once"});
    let first = program.done("context_fork", arguments.clone()).await?;
    program.restart().await?;
    assert_eq!(program.done("context_fork", arguments).await?, first);
    let other = json!({"project_path": PROJECT, "idempotency_key": "once", "prompt": "Something else."});
    assert_eq!(program.refused("context_fork", other).await?.verdict(), ("idempotency_key_reused", 409));
    assert_eq!(program.database()?.number("SELECT count(*) FROM sessions")?, 2);
    Ok(())
}

#[tokio::test]
async fn a_transcript_can_be_handed_in_over_mcp_too() -> Result<()> {
    let program = Program::start(roomy()).await?;
    for transcript in [super::scene::anthropic(3, "fn parse()"), super::scene::opencode(3, "fn parse()")] {
        let arguments = json!({"project_path": "/projects/new", "transcript": transcript});
        let forked = program.done("context_fork", arguments).await?;
        let context = read_whole(&program, forked["context"]["ref_id"].as_str().context("a handle")?).await?;
        assert!(context.contains("Where is the parser?") && context.contains("fn parse()"), "{context}");
        assert_eq!(forked["stats"]["tierDistribution"], json!({"tier1": 3, "tier2": 0, "tier3": 0}));
    }
    Ok(())
}
