//! Secrets in a transcript: in no answer, no file, no table and no log, also where one would be cut.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::scene::{FORKS, anthropic, claude_code, opencode};
use crate::support::{Program, Secret, roomy, secrets, whereabouts};

/// Results that hold each secret twice: where the cut of an old result goes through it, and where nothing is cut.
fn results(planted: &[Secret]) -> Vec<String> {
    let mut results = Vec::new();
    for secret in planted {
        results.push(format!("The {} one is {} and it works.", secret.kind, secret.text));
        let half = secret.text.chars().count() / 2;
        for limit in [500, 400, 3_000] {
            results.push(format!("{} {} {}", "x".repeat(limit - half), secret.text, "y".repeat(4_000)));
        }
    }
    results
}

/// A transcript whose newest results say nothing, so that the others are old.
fn with_results(results: &[String]) -> Vec<Value> {
    let mut all = Vec::new();
    for (number, result) in results.iter().enumerate() {
        let mut turn = opencode(1, result);
        for part in turn[1]["parts"].as_array_mut().into_iter().flatten() {
            if part["type"] == "tool" {
                part["callID"] = json!(format!("call_{number}"));
                part["state"]["input"]["content"] = json!(result);
            }
        }
        all.push(turn[1].clone());
    }
    all.extend(opencode(16, "nothing").as_array().cloned().unwrap_or_default());
    all
}

#[tokio::test]
async fn secrets_in_a_transcript_reach_neither_the_answer_nor_the_store_nor_the_log() -> Result<()> {
    let setup = roomy().set("telemetry.log_level", "trace").set("fork.char_budget", 60_000);
    let program = Program::start(setup).await?;
    let planted = secrets(11);
    let results = results(&planted);
    let open: String = results.iter().step_by(4).map(|result| format!("{result}\n")).collect();
    let mut answers = Vec::new();
    for profile in ["seed", "recall"] {
        for transcript in [
            json!(with_results(&results)),
            json!(claude_code(3, &open)),
            anthropic(30, &results[1]),
            json!([{"role": "user", "content": open}, {"role": "assistant", "content": open}]),
        ] {
            let body = json!({"transcript": transcript, "profile": profile, "prompt": open});
            let answer = program.api.post(FORKS, &body).await?;
            assert_eq!(answer.status, 201, "{}", answer.text);
            let child = answer.body["session_id"].as_str().context("a child")?.to_owned();
            answers.push(answer.text);
            answers.push(program.api.get(&format!("{FORKS}/{child}")).await?.text);
            answers.push(program.api.get(&format!("/api/v1/sessions/{child}")).await?.text);
        }
    }
    let arguments = json!({
        "project_path": "/p", "transcript": with_results(&results), "prompt": open,
        "idempotency_key": format!("key {}", planted[0].text),
    });
    answers.push(program.call("context_fork", arguments).await?.result.to_string());
    for bad in [
        json!({"transcript": [{"role": "user", "content": open}, {"role": open}]}),
        json!({"transcript": open}),
        json!({"transcript": [], "session_id": planted[0].text}),
        json!({"transcript": [{"role": "user", "content": "x"}], "session_id": planted[0].text}),
        json!({"transcript": [{"role": "user", "content": "x"}], "parent_session_id": planted[3].text}),
        json!({"transcript": [{"role": "user", "content": "x"}], "format": open}),
        json!({"transcript": [{"role": "user", "content": "x"}], "profile": open}),
    ] {
        answers.push(program.api.post(FORKS, &bad).await?.refused()?.message);
    }

    for secret in &planted {
        for answer in &answers {
            // A refusal may quote a wrong word to its caller, but not a secret.
            assert!(!secret.is_in(answer), "the {} secret is in {answer}", secret.kind);
        }
    }
    assert!(answers[0].contains("[SECRET:"), "they were seen and taken out: {}", answers[0]);
    assert_eq!(whereabouts(&planted, &program.daemon)?, Vec::<String>::new());
    Ok(())
}

#[tokio::test]
async fn nothing_is_forked_when_the_scrubber_fails() -> Result<()> {
    for fault in ["panic", "stall", "missing"] {
        let setup = roomy().set("testing.scrub_fault", fault).set("scrub.timeout_ms", 200);
        let program = Program::start(setup).await?;
        let planted = secrets(12);
        let body = json!({"transcript": [{"role": "user", "content": planted[0].text}]});
        let refused = program.api.post(FORKS, &body).await?.refused()?;
        assert_eq!(refused.verdict(), ("scrubbing_failed", 500), "{fault}");
        assert_eq!(program.database()?.number("SELECT count(*) FROM sessions")?, 0, "{fault}");
        assert_eq!(whereabouts(&planted, &program.daemon)?, Vec::<String>::new(), "{fault}");
    }
    Ok(())
}
