//! FR-007, time: a branch whose time is over folds by itself, whoever is alive to do it.

use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};

use crate::support::{Program, of_type, roomy};

/// How many branches may return too late before something other than a busy machine is at fault.
const TRIES_MAX: usize = 5;

/// The time of a branch that is to end by itself: a busy machine must be able to make a few calls in it.
const SHORT_SECONDS: u64 = 5;

async fn open_for(program: &Program, seconds: u64) -> Result<String> {
    let arguments = json!({
        "session_id": "s", "description": "Takes too long", "timeout_seconds": seconds, "parent_branch_id": "main",
    });
    let opened = program.done("branch_create", arguments).await?;
    assert_eq!(opened["timeout_seconds"], seconds);
    Ok(opened["branch_id"].as_str().unwrap_or_default().to_owned())
}

/// Follows what happens until `folds` branches have folded. Following asks for nothing, so whatever
/// folds does so by itself.
async fn folded(program: &Program, folds: usize) -> Result<Vec<Value>> {
    let events = program.api.events_until("s", |events| of_type(events, "branch.folded").len() >= folds).await?;
    Ok(of_type(&events, "branch.folded").into_iter().cloned().collect())
}

#[tokio::test]
async fn fr_007_a_branch_whose_time_is_over_folds_though_nobody_asks() -> Result<()> {
    let program = Program::start(roomy()).await?;
    let branch = open_for(&program, SHORT_SECONDS).await?;
    program.record("s", json!({"tool_name": "find", "content": "so far: three files"})).await?;

    let ends = folded(&program, 1).await?;
    assert_eq!((&ends[0]["branch_id"], &ends[0]["status"]), (&json!(branch), &json!("timeout")));
    assert_eq!(ends[0]["reason"], "timed out");
    assert!(ends[0]["message"].as_str().is_some_and(|result| result.contains("so far: three files")), "{ends:?}");
    let lived_ms = program.database()?.number(
        "SELECT at - (SELECT opened_at FROM branches WHERE id = branch) FROM events WHERE status IS NOT NULL",
    )?;
    assert!((5_000..10_000).contains(&lived_ms), "it had its time, and not much more: {lived_ms} ms");

    let status = program.look_at(&branch).await?;
    assert_eq!((&status["status"], &status["result"]), (&json!("timeout"), &ends[0]["message"]));
    assert_eq!(status["notices"][0]["reason"], "timed out", "the parent gets a notice: {status}");
    let late = program.refused("branch_return", json!({"branch_id": branch, "message": "Too late."})).await?;
    assert_eq!((late.verdict(), &late.data["result"]), (("branch_not_active", 409), &ends[0]["message"]));
    Ok(())
}

#[tokio::test]
async fn fr_007_time_goes_on_while_the_daemon_is_dead() -> Result<()> {
    let mut program = Program::start(roomy()).await?;
    let overdue = open_for(&program, SHORT_SECONDS).await?;
    let due_later = open_for(&program, SHORT_SECONDS + 2).await?;
    program.daemon.kill9().await?;
    // The first deadline passes while nobody is there to see it.
    tokio::time::sleep(Duration::from_secs(SHORT_SECONDS) + Duration::from_millis(200)).await;
    assert_eq!(program.database()?.number("SELECT count(*) FROM branches WHERE open = 1")?, 2);

    program.restart().await?;
    let ends = folded(&program, 2).await?;
    let reported: Vec<(&Value, &Value)> = ends.iter().map(|end| (&end["branch_id"], &end["reason"])).collect();
    assert_eq!(reported, [(&json!(overdue), &json!("timed out")), (&json!(due_later), &json!("timed out"))]);
    let status = program.look_at(&due_later).await?;
    assert_eq!(status["status"], "timeout");
    assert_eq!(status["notices"].as_array().map(Vec::len), Some(2), "each parent gets a notice: {status}");
    Ok(())
}

#[tokio::test]
async fn fr_007_a_branch_that_returned_in_time_is_left_alone() -> Result<()> {
    let program = Program::start(roomy()).await?;
    // On a busy machine a branch may return too late. That says nothing, and another one is tried.
    let mut opened = Vec::new();
    let in_time = loop {
        let branch = open_for(&program, 1).await?;
        program.fold(&branch, "In time.").await?;
        opened.push(json!(branch));
        let status = program.look_at(&branch).await?;
        if status["status"] == "completed" {
            break branch;
        }
        assert!(opened.len() < TRIES_MAX, "none of {TRIES_MAX} returned within its second: {status}");
    };
    // The deadline of this branch is later, so when it folds, that of the other has passed.
    opened.push(json!(open_for(&program, 1).await?));

    let ends = folded(&program, opened.len()).await?;
    let reported: Vec<&Value> = ends.iter().map(|end| &end["branch_id"]).collect();
    assert_eq!(reported, opened.iter().collect::<Vec<_>>(), "each ends once");
    let status = program.look_at(&in_time).await?;
    assert_eq!((&status["status"], &status["result"]), (&json!("completed"), &json!("In time.")));
    Ok(())
}
