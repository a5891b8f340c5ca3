//! SEC-002, secrets: whatever way one comes in, it is in no answer, no file, no table and no log.

use anyhow::Result;
use infold_testkit::CallAnswer;
use serde_json::{Value, json};

use crate::support::{Program, Secret, lines_about, of_type, roomy, secrets, whereabouts};

/// A text with all of the secrets, each in a sentence of its own.
fn sentences(secrets: &[Secret]) -> String {
    secrets.iter().map(|secret| format!("The {} one is {} and it works.\n", secret.kind, secret.text)).collect()
}

/// Everything that a caller can read of an answer.
fn all_of(answer: &CallAnswer) -> String {
    format!("{} {:?} {:?}", answer.result, answer.context_state_header, answer.jsonrpc_error)
}

fn assert_clean(secrets: &[Secret], what: &str, text: &str) {
    for secret in secrets {
        assert!(!secret.is_in(text), "the {} secret is in {what}: {text}", secret.kind);
    }
}

#[tokio::test]
async fn sec_002_secrets_in_a_returned_message_do_not_reach_the_parent() -> Result<()> {
    let program = Program::start(roomy()).await?;
    let planted = secrets(1);
    let branch = program.open("s", "Find the keys").await?;
    let answer = program.call("branch_return", json!({"branch_id": branch, "message": sentences(&planted)})).await?;
    assert_clean(&planted, "the answer", &all_of(&answer));
    assert_eq!(answer.field("secrets_scrubbed"), json!(planted.len()), "{}", answer.text);
    let message = answer.text_field("message");
    assert!(message.contains("The github one is [SECRET:github-pat:"), "the rest stays: {message}");
    assert!(message.ends_with("and it works.\n"), "{message}");

    let opened =
        program.done("context_branch", json!({"project_path": "/p", "description": "d", "prompt": "p"})).await?;
    let token = &planted[0].text;
    let returned = program.done("context_return", json!({"project_path": "/p", "message": token})).await?;
    let summary = &returned["summary"];
    assert_eq!((&summary["secrets_scrubbed"], &summary["summary_redacted"]), (&json!(1), &json!(true)), "{opened}");
    assert_eq!(whereabouts(&planted, &program.daemon)?, Vec::<String>::new());
    Ok(())
}

#[tokio::test]
async fn sec_002_the_same_secret_has_the_same_placeholder_everywhere() -> Result<()> {
    let program = Program::start(roomy()).await?;
    let token = &secrets(2)[0].text;
    let first = program.open("s", "First").await?;
    let one = program.fold(&first, token).await?["message"].clone();
    let second = program.open("t", token).await?;
    let other = program.look_at(&second).await?["description"].clone();
    assert!(one.as_str().is_some_and(|text| text.starts_with("[SECRET:github-pat:")), "{one}");
    assert_eq!(one, other);
    Ok(())
}

#[tokio::test]
async fn sec_002_secrets_leave_no_trace_in_answers_files_tables_and_logs() -> Result<()> {
    let program = Program::start(roomy().set("telemetry.log_level", "trace")).await?;
    let planted = secrets(3);
    let text = sentences(&planted);
    let long = format!("{}{text}{}", lines_about("before", 5_000), lines_about("after", 5_000));
    let mut answers = Vec::new();

    let arguments = json!({
        "session_id": "s", "description": format!("Use {}", planted[0].text), "prompt": text, "budget": 32_768,
        "idempotency_key": format!("key {}", planted[3].text),
    });
    let opened = program.call("branch_create", arguments).await?;
    let branch = opened.text_field("branch_id");
    answers.push(all_of(&opened));
    let results = [
        json!({"tool_name": "cat", "content": text, "arguments": {"path": planted[2].text, "body": text}}),
        json!({"tool_name": "cat", "content": long, "call_id": "c-1"}),
        json!({"tool_name": format!("tool-{}", planted[2].text), "content": "nothing"}),
    ];
    let mut kept = Value::Null;
    for result in results {
        let recorded = program.record("s", result).await?;
        answers.push(recorded.to_string());
        kept = if recorded["ref_id"].is_null() { kept } else { recorded["ref_id"].clone() };
    }
    for arguments in [
        json!({"ref_id": kept, "limit": 65_536}),
        json!({"ref_id": kept, "pattern": "one is", "context": 2}),
        json!({"ref_id": kept, "pattern": format!("{}|works", planted[0].text)}),
    ] {
        answers.push(all_of(&program.call("read_result", arguments).await?));
    }
    answers.push(all_of(&program.call("branch_status", json!({"branch_id": branch})).await?));
    answers.push(all_of(&program.call("branch_return", json!({"branch_id": branch, "message": text})).await?));
    let project = json!({"project_path": "/p", "session_id": "s"});
    answers.push(all_of(&program.call("context_list_branches", project).await?));
    answers.push(all_of(&program.call("branch_return", json!({"branch_id": branch, "message": text})).await?));
    let snapshot = json!({"messages": [{"role": "user", "content": text}, {planted[0].text.as_str(): "as a name"}]});
    answers.push(program.api.post("/api/v1/sessions/s/snapshot", &snapshot).await?.with_status(200)?.to_string());
    for path in [
        "/api/v1/sessions/s/snapshot".to_owned(),
        format!("/api/v1/branches/{branch}"),
        format!("/api/v1/archive/{branch}"),
        format!("/api/v1/results/{}?limit=65536", kept.as_str().unwrap_or_default()),
        "/api/v1/sessions/s".to_owned(),
        "/metrics".to_owned(),
    ] {
        answers.push(program.api.get(&path).await?.text);
    }
    let events = program.api.events_until("s", |events| !of_type(events, "branch.folded").is_empty()).await?;
    answers.push(Value::from(events).to_string());
    let shown = program.daemon.program(&["show", "s"]).output().await?;
    answers.push(String::from_utf8_lossy(&shown.stdout).into_owned());

    for answer in &answers {
        assert_clean(&planted, "an answer", answer);
    }
    assert!(answers.iter().any(|answer| answer.contains("[SECRET:private-key:")), "they were seen and taken out");
    assert_eq!(whereabouts(&planted, &program.daemon)?, Vec::<String>::new());
    Ok(())
}

#[tokio::test]
async fn sec_002_secrets_where_ids_belong_are_not_stored_or_logged() -> Result<()> {
    let program = Program::start(roomy().set("telemetry.log_level", "trace")).await?;
    let planted = secrets(4);
    program.open("s", "Work").await?;
    for secret in &planted {
        let token = &secret.text;
        for (tool, arguments) in [
            ("branch_create", json!({"session_id": "s", "description": "x", "parent_branch_id": token})),
            ("branch_create", json!({"session_id": "s", "description": token.repeat(200)})),
            ("branch_return", json!({"branch_id": token, "message": "x"})),
            ("read_result", json!({"ref_id": token})),
            ("context_branch_status", json!({"project_path": format!("/{token}")})),
            ("branch_return", json!({token: "x"})),
        ] {
            program.refused(tool, arguments).await?;
        }
        // Whether it is refused for its length or just not found is all the same here.
        program.call("branch_status", json!({"session_id": "s", "branch_id": token})).await?;
        program.api.get(&format!("/api/v1/branches/{}", token.replace('\n', ""))).await?.refused()?;
    }
    assert_eq!(whereabouts(&planted, &program.daemon)?, Vec::<String>::new());
    Ok(())
}
