//! SEC-004, who owns which session: claims travel into branches, and what belongs to somebody else answers as if it
//! were not there.

use anyhow::{Result, ensure};
use infold_testkit::{CallAnswer, McpHttp};
use serde_json::{Value, json};

use crate::support::{Api, Issuer, Program, in_thread, lines_about, roomy};

const CLAIMS: &str = "SELECT json_extract(state, '$.claims') FROM branches WHERE id = ?1";
/// Ids of the right form that nobody was ever given.
const NO_BRANCH: &str = "br_00000000-0000-8000-8000-000000000000";
const NO_RESULT: &str = "res_00000000-0000-4000-8000-000000000000";
const NO_SESSION: &str = "nobodys";

async fn open(mcp: &McpHttp, session: &str) -> Result<String> {
    let answer = mcp.call("branch_create", json!({"session_id": session, "description": "Work"})).await?;
    ensure!(answer.is_ok(), "{}", answer.summary());
    Ok(answer.text_field("branch_id"))
}

#[tokio::test]
async fn sec_004_a_tokens_claims_are_carried_into_the_branches_its_bearer_opens() -> Result<()> {
    let issuer = Issuer::new()?;
    let program = Program::start(issuer.believed_by(roomy())).await?;
    let full = issuer.token_with(json!({"sub": "alice", "scope": "write read"}))?;
    let (alice, _) = program.client_with(&full).await?;
    let outer = open(&alice, "s").await?;
    let lesser = issuer.token_with(json!({"sub": "alice", "scope": "read"}))?;
    let (alice_reading, _) = program.client_with(&lesser).await?;
    let inner = open(&alice_reading, "s").await?;
    let local = program.open("s", "The local user's own").await?;

    let database = program.database()?;
    let claims = database.json(CLAIMS, &outer)?;
    let carried = json!({"subject": "alice", "issuer": "https://issuer.example", "scopes": ["read", "write"]});
    assert_eq!(claims, carried);
    let claims = database.json(CLAIMS, &inner)?;
    assert_eq!(claims["scopes"], json!(["read"]), "a branch has its opener's rights, not its parent's");
    assert_eq!(database.json(CLAIMS, &local)?, json!({}), "the local user has no token to claim anything");
    let opening = "SELECT json_extract(payload, '$.claims') FROM events
                   WHERE branch = ?1 AND json_extract(payload, '$.type') = 'branch_opened'";
    assert_eq!(database.json(opening, &outer)?, carried, "the log has them too");
    Ok(())
}

#[tokio::test]
async fn sec_004_two_owners_can_use_one_name_and_never_meet() -> Result<()> {
    let issuer = Issuer::new()?;
    let program = Program::start(issuer.believed_by(roomy())).await?;
    let (alice, alices_api) = program.client_with(&issuer.token("alice")?).await?;
    let (bob, bobs_api) = program.client_with(&issuer.token("bob")?).await?;
    for (mcp, name) in [(&alice, "s"), (&bob, "s"), (&program.mcp, "s")] {
        open(mcp, name).await?;
    }
    for api in [&alices_api, &bobs_api, &program.api] {
        let sessions = api.get("/api/v1/sessions").await?.with_status(200)?;
        assert_eq!(sessions["sessions"].as_array().map(Vec::len), Some(1));
        let branches = api.get("/api/v1/sessions/s/branches").await?.with_status(200)?;
        assert_eq!(branches["total_branches"], 1);
    }
    Ok(())
}

/// Ids of what Alice has, or of what nobody has.
struct Names<'a> {
    session: &'a str,
    branch: &'a str,
    ref_id: &'a str,
}

/// Every call by which something that these ids name could be reached.
fn calls(names: &Names<'_>) -> Vec<(&'static str, Value)> {
    let Names { session, branch, ref_id } = names;
    let in_project = json!({"project_path": "/alices", "session_id": session});
    vec![
        ("branch_status", json!({"branch_id": branch})),
        ("branch_status", json!({"session_id": session})),
        ("branch_status", json!({"session_id": session, "branch_id": branch})),
        ("branch_return", json!({"branch_id": branch, "message": "Taken."})),
        ("branch_create", json!({"session_id": "bobs", "description": "Under it", "parent_branch_id": branch})),
        ("context_return", json!({"project_path": "/alices", "session_id": session, "message": "Taken."})),
        ("context_return", json!({"project_path": "/bobs", "branch_id": branch, "message": "Taken."})),
        ("context_rollback", json!({"project_path": "/bobs", "branch_id": branch})),
        ("context_rollback", json!({"project_path": "/alices", "session_id": session, "branch_id": branch})),
        ("context_branch_status", in_project.clone()),
        ("context_list_branches", in_project),
        ("session_end", json!({"session_id": session})),
        ("read_result", json!({"ref_id": ref_id})),
    ]
}

fn api_calls(names: &Names<'_>) -> Vec<(&'static str, String, Value)> {
    let Names { session, branch, ref_id } = names;
    vec![
        ("GET", format!("/api/v1/sessions/{session}"), Value::Null),
        ("GET", format!("/api/v1/sessions/{session}/branches"), Value::Null),
        ("POST", format!("/api/v1/sessions/{session}/rollback"), json!({"branch_id": branch})),
        ("GET", format!("/api/v1/sessions/{session}/snapshot"), Value::Null),
        ("POST", format!("/api/v1/sessions/{session}/snapshot"), json!({"messages": ["Taken."]})),
        ("DELETE", format!("/api/v1/sessions/{session}"), Value::Null),
        ("GET", format!("/api/v1/branches/{branch}"), Value::Null),
        ("POST", format!("/api/v1/branches/{branch}/return"), json!({"message": "Taken."})),
        ("GET", format!("/api/v1/results/{ref_id}"), Value::Null),
        ("GET", format!("/api/v1/archive/{branch}"), Value::Null),
        ("GET", format!("/api/v1/archive?session_id={session}"), Value::Null),
    ]
}

/// Everything that Bob gets to see, with the names he asked for written alike.
async fn seen_by(bob: &McpHttp, api: &Api, names: &Names<'_>) -> Result<Vec<String>> {
    let alike =
        |text: String| text.replace(names.session, "NAME").replace(names.branch, "NAME").replace(names.ref_id, "NAME");
    let mut seen = Vec::new();
    for (tool, arguments) in calls(names) {
        let CallAnswer { result, jsonrpc_error, context_state_header, .. } = bob.call(tool, arguments).await?;
        seen.push(alike(format!("{tool}: {result} {jsonrpc_error:?} {context_state_header:?}")));
    }
    let thread = bob.call_with_meta("branch_status", json!({"session_id": "bobs"}), in_thread(names.branch)).await?;
    seen.push(alike(format!("in their thread: {:?} {}", thread.jsonrpc_error, thread.result)));
    for (method, path, body) in api_calls(names) {
        let request = api.request(method.parse()?, &path);
        let request = if body.is_null() { request } else { request.json(&body) };
        let answer = crate::support::ApiAnswer::read(request).await?;
        seen.push(alike(format!("{method} {path}: {} {}", answer.status, answer.text)));
    }
    Ok(seen)
}

#[tokio::test]
async fn sec_004_what_is_somebody_elses_answers_as_what_is_not_there() -> Result<()> {
    let issuer = Issuer::new()?;
    let program = Program::start(issuer.believed_by(roomy())).await?;
    let (alice, alices_api) = program.client_with(&issuer.token("alice")?).await?;
    let (bob, bobs_api) = program.client_with(&issuer.token("bob")?).await?;
    let branch = open(&alice, "alices").await?;
    let result = json!({"tool_name": "cat", "content": lines_about("Alice", 5_000)});
    let kept = alices_api.post("/api/v1/sessions/alices/results", &result).await?.with_status(200)?;
    let ref_id = kept["ref_id"].as_str().unwrap_or_default();
    open(&bob, "bobs").await?;
    bob.call("context_branch", json!({"project_path": "/bobs", "description": "Work", "prompt": "Work."})).await?;
    let before = alices_api.get("/api/v1/sessions/alices").await?.with_status(200)?;

    let foreign = seen_by(&bob, &bobs_api, &Names { session: "alices", branch: &branch, ref_id }).await?;
    let absent = seen_by(&bob, &bobs_api, &Names { session: NO_SESSION, branch: NO_BRANCH, ref_id: NO_RESULT }).await?;
    assert_eq!(foreign.len(), absent.len());
    for (foreign, absent) in foreign.iter().zip(&absent) {
        // Figures are left out: Bob's own branch uses a little more of its budget each time he asks.
        let figures = |text: &str| text.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
        assert_eq!(figures(foreign), figures(absent));
        assert!(!foreign.contains("Alice said"), "{foreign}");
    }
    let after = alices_api.get("/api/v1/sessions/alices").await?.with_status(200)?;
    assert_eq!(after, before, "nothing of Alice's has changed");

    let mine = alice.call("branch_return", json!({"branch_id": branch, "message": "Mine to fold."})).await?;
    assert!(mine.is_ok(), "{}", mine.summary());
    Ok(())
}

#[tokio::test]
async fn sec_004_nobody_receives_anothers_events() -> Result<()> {
    let issuer = Issuer::new()?;
    let program = Program::start(issuer.believed_by(roomy())).await?;
    let (alice, _) = program.client_with(&issuer.token("alice")?).await?;
    let (bob, bobs_api) = program.client_with(&issuer.token("bob")?).await?;
    open(&alice, "alices").await?;
    open(&bob, "bobs").await?;
    let events = bobs_api.stream_until("/api/v1/events?after=0", |events| events.len() >= 3).await?;
    let sessions: Vec<&Value> = events.iter().map(|record| &record["session_id"]).collect();
    assert_eq!(sessions, vec![&json!("bobs"); 3]);
    Ok(())
}

#[tokio::test]
async fn sec_004_a_branch_of_another_session_of_ones_own_is_not_found_in_this_one() -> Result<()> {
    let program = Program::start(roomy()).await?;
    let here = program.open("here", "Here").await?;
    let there = program.open("there", "There").await?;
    let status = program.done("branch_status", json!({"session_id": "here", "branch_id": there})).await?;
    assert_eq!(status["branch_id"], Value::Null);
    for (tool, arguments) in [
        ("branch_create", json!({"session_id": "here", "description": "Below", "parent_branch_id": there})),
        ("context_return", json!({"project_path": "/p", "session_id": "here", "branch_id": there, "message": "x"})),
        ("context_rollback", json!({"project_path": "/p", "session_id": "here", "branch_id": there})),
    ] {
        assert_eq!(program.refused(tool, arguments).await?.verdict(), ("branch_not_found", 404), "{tool}");
    }
    for branch in [&here, &there] {
        assert_eq!(program.look_at(branch).await?["status"], "active");
    }
    Ok(())
}

#[tokio::test]
async fn sec_004_a_permissive_validator_shares_sessions_and_still_carries_claims() -> Result<()> {
    let issuer = Issuer::new()?;
    let setup = issuer.believed_by(roomy()).set("auth.validator", "permissive");
    let program = Program::start(setup).await?;
    let (alice, _) = program.client_with(&issuer.token("alice")?).await?;
    let (bob, _) = program.client_with(&issuer.token("bob")?).await?;
    let branch = open(&alice, "shared").await?;
    let folded = bob.call("branch_return", json!({"branch_id": branch, "message": "Done by Bob."})).await?;
    assert!(folded.is_ok(), "{}", folded.summary());
    assert_eq!(program.look_at(&branch).await?["result"], "Done by Bob.");
    assert_eq!(program.database()?.json(CLAIMS, &branch)?["subject"], "alice");
    Ok(())
}
