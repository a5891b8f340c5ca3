//! SEC-002 when the scrubber itself is broken: it panics, stalls or is missing. Every call that would
//! let text through fails, the branch stays active, nothing is stored, and nothing leaks.

use anyhow::Result;
use infold_testkit::TempFolder;
use serde_json::{Value, json};

use crate::support::{Program, Secret, roomy, secrets, whereabouts};

/// A branch that was opened while all was well, and a daemon on the same data whose scrubber is broken.
async fn broken(folder: &TempFolder, fault: &str) -> Result<(String, Program)> {
    let data = folder.join("data");
    let mut healthy = Program::start(roomy().data(&data)).await?;
    let branch = healthy.open("s", "Work").await?;
    healthy.daemon.terminate().await?;
    let setup = roomy().data(&data).set("testing.scrub_fault", fault).set("scrub.timeout_ms", 100);
    Ok((branch, Program::start(setup).await?))
}

/// Every call that carries text in or out, each with the secret in it.
fn calls(branch: &str, token: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("branch_return", json!({"branch_id": branch, "message": format!("it is {token}")})),
        ("context_return", json!({"project_path": "/p", "session_id": "s", "message": format!("it is {token}")})),
        ("branch_create", json!({"session_id": "s", "description": token})),
        ("branch_create", json!({"session_id": "s", "description": "plain", "prompt": token})),
        ("context_branch", json!({"project_path": "/p", "description": "plain", "prompt": token})),
        // Counting an answer in its branch means storing it.
        ("branch_status", json!({"branch_id": branch})),
    ]
}

async fn nothing_leaks(fault: &str) -> Result<()> {
    let folder = TempFolder::new()?;
    let (branch, program) = broken(&folder, fault).await?;
    let planted: Vec<Secret> = secrets(5).into_iter().take(1).collect();
    let token = &planted[0].text;
    let before = program.database()?.contents()?;

    for (tool, arguments) in calls(&branch, token) {
        let refused = program.refused(tool, arguments).await?;
        assert_eq!(refused.verdict(), ("scrubbing_failed", 500), "{tool}: {refused:?}");
        assert!(refused.message.contains("nothing was stored or returned"), "{tool}: {}", refused.message);
        assert_eq!(refused.rpc, tool.starts_with("context_").then_some(-32603), "{tool}");
        assert!(!planted[0].is_in(&format!("{refused:?}")), "{tool}: {refused:?}");
    }
    let api_calls = [
        (format!("/api/v1/branches/{branch}/return"), json!({"message": token})),
        ("/api/v1/sessions/s/results".to_owned(), json!({"tool_name": "cat", "content": token})),
        ("/api/v1/sessions/new/results".to_owned(), json!({"tool_name": "cat", "content": token})),
        ("/api/v1/sessions/s/snapshot".to_owned(), json!({"messages": [token]})),
        ("/api/v1/scrub".to_owned(), json!({"text": token})),
    ];
    for (path, body) in api_calls {
        let answer = program.api.post(&path, &body).await?;
        assert_eq!(answer.refused()?.verdict(), ("scrubbing_failed", 500), "{path}");
        assert!(!planted[0].is_in(&answer.text), "{path}: {}", answer.text);
    }

    let detail = program.api.get(&format!("/api/v1/branches/{branch}")).await?.with_status(200)?;
    assert_eq!(detail["status"], "active", "the branch goes on");
    assert_eq!(program.database()?.contents()?, before, "nothing was stored");
    assert_eq!(whereabouts(&planted, &program.daemon)?, Vec::<String>::new());
    assert_eq!(program.api.get("/readyz").await?.status, 503, "and it says that it cannot do its work");
    drop(program);

    let healthy = Program::start(roomy().data(folder.join("data"))).await?;
    let returned = healthy.fold(&branch, &format!("it is {token}")).await?;
    assert!(returned["message"].as_str().is_some_and(|message| message.starts_with("it is [SECRET:")), "{returned}");
    Ok(())
}

#[tokio::test]
async fn sec_002_nothing_leaks_when_the_scrubber_panics() -> Result<()> {
    nothing_leaks("panic").await
}

#[tokio::test]
async fn sec_002_nothing_leaks_when_the_scrubber_stalls() -> Result<()> {
    nothing_leaks("stall").await
}

#[tokio::test]
async fn sec_002_nothing_leaks_when_the_scrubber_is_missing() -> Result<()> {
    nothing_leaks("missing").await
}
