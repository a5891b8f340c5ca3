//! FR-004, budgets: what passes through a branch is counted by infold, warned of at 80 %, and at 100 %
//! the branch folds and its parent gets what there is.

use anyhow::Result;
use serde_json::{Value, json};

use crate::support::{Program, lines_about, of_type, roomy};

const BUDGET: u64 = 1_500;

/// Opens a branch with a small budget in the session `s`.
async fn small_branch(program: &Program) -> Result<String> {
    let arguments = json!({"session_id": "s", "description": "Read all the logs", "budget": BUDGET});
    let opened = program.done("branch_create", arguments).await?;
    Ok(opened["branch_id"].as_str().unwrap_or_default().to_owned())
}

fn number(body: &Value, field: &str) -> u64 {
    body[field].as_u64().unwrap_or_else(|| panic!("{field} in {body}"))
}

/// Hands in short results until one no longer fits, and returns the answer to that one.
async fn feed_until_folded(program: &Program, branch: &str) -> Result<Value> {
    let mut used = number(&program.look_at(branch).await?, "budget_used");
    for step in 0.. {
        let result = json!({
            "tool_name": "read_log",
            "arguments": {"path": format!("/var/log/{step}.log")},
            "content": lines_about(&format!("log {step}"), 250),
        });
        let recorded = program.record("s", result).await?;
        if !recorded["folded"].is_null() {
            assert!(step > 5, "it folded after {step} results already");
            return Ok(recorded);
        }
        let status = program.look_at(branch).await?;
        assert_eq!(status["status"], "active");
        assert_eq!(number(&status, "budget_used"), used + number(&recorded, "tokens"), "usage shows as it grows");
        used = number(&status, "budget_used");
        assert!(used < BUDGET, "{status}");
    }
    unreachable!("the loop has no end of its own")
}

#[tokio::test]
async fn fr_004_results_past_the_budget_fold_the_branch_and_its_parent_gets_the_partial_result() -> Result<()> {
    let program = Program::start(roomy()).await?;
    let branch = small_branch(&program).await?;
    let breaking = feed_until_folded(&program, &branch).await?;

    let folded = &breaking["folded"];
    assert_eq!(breaking["shown"], Value::Null, "what does not fit is not shown: {breaking}");
    assert_eq!((&folded["branch_id"], &folded["status"]), (&json!(branch), &json!("timeout")));
    assert_eq!((&folded["reason"], &folded["parent_branch_id"]), (&json!("budget exhausted"), &Value::Null));
    let result = folded["result"].as_str().unwrap_or_default();
    for part in ["[Partial result: budget exhausted.", "Read all the logs", "read_log ×", "/var/log/0.log", "log "] {
        assert!(result.contains(part), "{part} is missing in {result}");
    }
    assert_eq!(breaking["context_state"]["active_branch_id"], Value::Null);
    assert!(number(&breaking["context_state"], "main_thread_tokens") > 0, "the parent grows by the result");

    // The caller of the API has the notice, but the model does not yet: it is in the model's next answer, once.
    let status = program.look_at(&branch).await?;
    assert_eq!((&status["status"], &status["reason"]), (&json!("timeout"), &json!("budget exhausted")));
    assert_eq!((number(&status, "budget_used"), &status["result"]), (BUDGET, &json!(result)));
    let notice = &status["notices"][0];
    assert_eq!((&notice["branch_id"], &notice["result"]), (&json!(branch), &json!(result)), "{status}");
    assert!(program.look_at(&branch).await?.get("notices").is_none(), "a parent gets a notice once");
    Ok(())
}

#[tokio::test]
async fn fr_004_the_notice_comes_with_whatever_answer_is_next() -> Result<()> {
    let program = Program::start(roomy()).await?;
    let branch = small_branch(&program).await?;
    let breaking = feed_until_folded(&program, &branch).await?;
    let opened = program.done("branch_create", json!({"session_id": "s", "description": "Go on"})).await?;
    assert_eq!(opened["notices"][0]["result"], breaking["folded"]["result"], "{opened}");

    let late = program.refused("branch_return", json!({"branch_id": branch, "message": "Too late."})).await?;
    assert_eq!(late.verdict(), ("branch_not_active", 409));
    assert_eq!(
        (&late.data["current_status"], &late.data["result"]),
        (&json!("timeout"), &breaking["folded"]["result"])
    );
    Ok(())
}

#[tokio::test]
async fn fr_004_a_warning_comes_once_at_four_fifths_before_the_end() -> Result<()> {
    let program = Program::start(roomy()).await?;
    let branch = small_branch(&program).await?;
    feed_until_folded(&program, &branch).await?;
    let events = program.api.events_until("s", |events| !of_type(events, "branch.folded").is_empty()).await?;

    let warnings = of_type(&events, "budget.warning");
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    let used = number(warnings[0], "budget_used");
    assert!(used * 100 >= BUDGET * 80 && used < BUDGET, "{warnings:?}");
    let before: u64 = events
        .iter()
        .take_while(|record| record["event"]["type"] != "budget.warning")
        .filter_map(|record| record["event"]["tokens"].as_u64())
        .sum();
    assert_eq!(before, used, "it says what was counted until then");
    let order: Vec<&str> = events.iter().rev().filter_map(|record| record["event"]["type"].as_str()).take(2).collect();
    assert_eq!(order, ["branch.folded", "budget.exhausted"]);
    Ok(())
}

#[tokio::test]
async fn fr_004_pages_that_are_read_back_are_counted_and_fold_the_branch_too() -> Result<()> {
    let program = Program::start(roomy()).await?;
    let branch = small_branch(&program).await?;
    let content = lines_about("the long log", 40_000);
    let kept = program.record("s", json!({"tool_name": "read_log", "content": content})).await?;
    let shown = kept["shown"].as_str().unwrap_or_default();
    assert!(shown.contains("read_result") && shown.len() < 4_000, "a reference replaces it: {shown}");
    assert!(number(&kept, "tokens") < 2_000, "and only the reference is counted: {kept}");

    let mut offset = json!(0);
    let refusal = loop {
        let arguments = json!({"ref_id": kept["ref_id"], "offset": offset, "limit": 1_000});
        let answer = program.call("read_result", arguments).await?;
        if answer.is_error {
            break crate::support::Refused::of(&answer)?;
        }
        offset = answer.field("next_offset");
        assert_eq!(program.look_at(&branch).await?["status"], "active");
    };
    assert!(offset.as_u64().is_some_and(|offset| offset >= 1_000), "some pages did fit");
    assert_eq!(refusal.verdict(), ("branch_folded", 409));
    assert_eq!((&refusal.data["status"], &refusal.data["reason"]), (&json!("timeout"), &json!("budget exhausted")));
    let result = &refusal.data["result"];
    assert!(result.as_str().is_some_and(|result| result.starts_with("[Partial result: budget exhausted.")), "{result}");

    let status = program.look_at(&branch).await?;
    assert_eq!((&status["status"], &status["result"]), (&json!("timeout"), result));
    assert!(status.get("notices").is_none(), "the call that broke the budget had the notice: {status}");
    Ok(())
}

#[tokio::test]
async fn fr_004_even_asking_for_the_status_inside_a_branch_is_paid_for() -> Result<()> {
    let program = Program::start(roomy()).await?;
    let branch = small_branch(&program).await?;
    let mut used = 0;
    let last = loop {
        let status = program.done("branch_status", json!({"branch_id": branch})).await?;
        if status["status"] != "active" {
            break status;
        }
        assert!(number(&status, "budget_used") > used, "{status}");
        used = number(&status, "budget_used");
    };
    assert_eq!((&last["status"], &last["reason"]), (&json!("timeout"), &json!("budget exhausted")));
    assert_eq!(last["notices"][0]["branch_id"], json!(branch), "{last}");
    Ok(())
}

#[tokio::test]
async fn fr_004_no_call_can_report_its_own_tokens() -> Result<()> {
    let program = Program::start(roomy()).await?;
    small_branch(&program).await?;
    let result = json!({"tool_name": "say", "content": "words ".repeat(100), "tokens": 1});
    let answer = program.api.post("/api/v1/sessions/s/results", &result).await?;
    assert_eq!(answer.refused()?.verdict(), ("invalid_input", 400));
    Ok(())
}
