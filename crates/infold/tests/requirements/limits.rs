//! SEC-003, how many branches there may be: five openings a minute, ten open in a session, a hundred in
//! the instance, which is the database and not the process; and where several principals come in, room for each.

use anyhow::Result;
use infold_testkit::{Era, McpStdio};
use serde_json::{Value, json};

use crate::support::{Issuer, Program, Refused, infold, roomy};

/// Tries to open a branch in `session` on each surface, and returns the three refusals.
async fn refused_everywhere(program: &Program, session: &str) -> Result<[Refused; 3]> {
    let wish = json!({"session_id": session, "description": "One more", "parent_branch_id": "main"});
    let of_branch = program.refused("branch_create", wish).await?;
    let wish = json!({
        "project_path": "/p", "session_id": session, "description": "One more", "prompt": "Work.",
        "parent_branch_id": "main",
    });
    let of_context = program.refused("context_branch", wish).await?;
    let wish = json!({"description": "One more", "parent_branch_id": "main"});
    let answer = program.api.post(&format!("/api/v1/sessions/{session}/branches"), &wish).await?;
    let of_api = answer.refused()?;
    let waits = of_api.data["retry_after_ms"].as_u64().map(|ms| ms.div_ceil(1_000).to_string());
    assert_eq!(answer.header("retry-after"), waits.as_deref(), "it says when to try again where that is known");

    assert_eq!(of_branch.rpc, None, "branch_* answers with a result that the model reads");
    assert_eq!(of_context.rpc, Some(-32003), "context_* answers with a JSON-RPC error");
    Ok([of_branch, of_context, of_api])
}

#[tokio::test]
async fn sec_003_the_sixth_opening_in_a_minute_is_refused() -> Result<()> {
    let mut program = Program::plain().await?;
    for number in 1..=5 {
        let branch = program.open("s", &format!("Opening {number}")).await?;
        program.fold(&branch, "Done at once.").await?;
    }
    for refused in refused_everywhere(&program, "s").await? {
        assert_eq!(refused.verdict(), ("rate_limit_exceeded", 429), "{refused:?}");
        assert_eq!(refused.data["max_branches_per_minute"], 5);
        let wait_ms = refused.data["retry_after_ms"].as_u64().unwrap_or(0);
        assert!((1..=60_000).contains(&wait_ms), "{refused:?}");
        assert_eq!(refused.unclear("branches a minute"), None);
    }
    program.open("another", "Other sessions are not held back").await?;

    program.restart().await?;
    let refused =
        program.refused("branch_create", json!({"session_id": "s", "description": "After a restart"})).await?;
    assert_eq!(refused.verdict(), ("rate_limit_exceeded", 429), "a restart resets nothing");
    Ok(())
}

#[tokio::test]
async fn sec_003_the_rate_can_be_set() -> Result<()> {
    let program = Program::start(infold().set("folding.max_branches_per_minute", 1)).await?;
    program.open("s", "The one").await?;
    let refused = program.refused("branch_create", json!({"session_id": "s", "description": "The second"})).await?;
    assert_eq!(refused.verdict(), ("rate_limit_exceeded", 429));
    Ok(())
}

#[tokio::test]
async fn sec_003_ten_siblings_are_open_in_a_session_and_the_eleventh_is_refused() -> Result<()> {
    let program = Program::start(roomy()).await?;
    let mut branches = Vec::new();
    for number in 1..=10 {
        branches.push(program.open_under("s", "main", &format!("Sibling {number}")).await?);
    }
    let all = program.api.get("/api/v1/sessions/s/branches").await?.with_status(200)?;
    assert_eq!(all["active_branches"], 10);
    let depths: Vec<&Value> = all["branches"].as_array().into_iter().flatten().map(|branch| &branch["depth"]).collect();
    assert_eq!(depths, vec![&json!(1); 10], "they are siblings");

    for refused in refused_everywhere(&program, "s").await? {
        assert_eq!(refused.verdict(), ("session_limit_exceeded", 429), "{refused:?}");
        assert_eq!(refused.data["max_concurrent_per_session"], 10);
        assert_eq!(refused.unclear("limit is 10"), None);
    }
    program.fold(&branches[4], "Done.").await?;
    program.open_under("s", "main", "There is room again").await?;
    Ok(())
}

#[tokio::test]
async fn sec_003_a_hundred_are_open_in_the_instance_and_the_next_is_refused_whichever_process_asks() -> Result<()> {
    let program = Program::start(roomy()).await?;
    let mut last = String::new();
    for session in 0..10 {
        for _ in 0..10 {
            last = program.open_under(&format!("s-{session}"), "main", "One of many").await?;
        }
    }
    assert_eq!(program.database()?.number("SELECT count(*) FROM branches WHERE open = 1")?, 100);
    let before = program.database()?.contents()?;
    for refused in refused_everywhere(&program, "eleventh").await? {
        assert_eq!(refused.verdict(), ("instance_limit_exceeded", 429), "{refused:?}");
        assert_eq!(refused.data["max_concurrent_per_instance"], 100);
        assert_eq!(refused.unclear("100 open branches"), None);
    }
    let binary = env!("CARGO_BIN_EXE_infold").as_ref();
    let (home, data) = (program.daemon.home(), program.daemon.data());
    let settings = ["folding.max_branches_per_minute=1000"];
    let mut stdio = McpStdio::start(binary, &home, data, &settings, Era::Modern).await?;
    let wish = json!({"session_id": "eleventh", "description": "From another process"});
    let answer = stdio.call("branch_create", wish.clone()).await?;
    assert_eq!(Refused::of(&answer)?.verdict(), ("instance_limit_exceeded", 429));
    assert_eq!(program.database()?.contents()?, before, "not even a session was started");

    program.fold(&last, "Done.").await?;
    let answer = stdio.call("branch_create", wish).await?;
    assert!(answer.is_ok(), "one has folded, so there is room: {}", answer.summary());
    Ok(())
}

#[tokio::test]
async fn sec_003_one_principal_leaves_room_for_the_others() -> Result<()> {
    let issuer = Issuer::new()?;
    let setup = issuer.believed_by(roomy()).set("folding.max_concurrent_per_session", 100);
    let program = Program::start(setup).await?;
    let mut shares = Vec::new();
    for subject in ["ann", "bob", "cid"] {
        let (mcp, _) = program.client_with(&issuer.token(subject)?).await?;
        let open =
            || mcp.call("branch_create", json!({"session_id": "s", "description": "x", "parent_branch_id": "main"}));
        let mut opened = 0;
        let refused = loop {
            let answer = open().await?;
            if !answer.is_ok() {
                break Refused::of(&answer)?;
            }
            opened += 1;
        };
        assert_eq!(refused.verdict(), ("principal_limit_exceeded", 429), "{refused:?}");
        assert_eq!(refused.data["open_branches"], opened);
        assert_eq!(refused.unclear("your share"), None);
        shares.push(opened);
    }
    assert_eq!(shares, [50, 25, 13], "each gets half of what is left");
    program.open("s", "The local user is one of them").await?;
    Ok(())
}

#[tokio::test]
async fn sec_003_after_the_clock_was_set_back_nobody_waits_longer_than_the_window() -> Result<()> {
    let mut program = Program::start(infold().set("folding.max_concurrent_per_session", 100)).await?;
    for number in 1..=5 {
        program.open_under("s", "main", &format!("Opening {number}")).await?;
    }
    // What was opened before the clock went back by a day lies in the future afterwards.
    program.daemon.terminate().await?;
    let database = rusqlite::Connection::open(program.daemon.data().join("infold.db"))?;
    database.execute("UPDATE branches SET opened_at = opened_at + 86400000", [])?;
    drop(database);
    program.restart().await?;
    for number in 6..=10 {
        program.open_under("s", "main", &format!("Opening {number}")).await?;
    }
    for refused in refused_everywhere(&program, "s").await? {
        assert_eq!(refused.verdict(), ("rate_limit_exceeded", 429), "{refused:?}");
        let wait_ms = refused.data["retry_after_ms"].as_u64().unwrap_or(0);
        assert!((1..=60_000).contains(&wait_ms), "{refused:?}");
    }
    Ok(())
}
