//! Forks of transcripts that are handed in over the JSON API.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::scene::{FORKS, anthropic, claude_code, forked, opencode, read_whole};
use crate::support::{Program, lines_about, roomy};

#[tokio::test]
async fn opencodes_and_claude_codes_transcripts_are_forked_and_read_back() -> Result<()> {
    let program = Program::start(roomy()).await?;
    let long = lines_about("src/parse.rs", 9_000);
    for (format, transcript) in [
        ("opencode", opencode(30, &long)),
        ("opencode", json!({"info": {"id": "ses_1", "title": "t"}, "messages": opencode(30, &long)})),
        ("claude-code", json!(claude_code(30, &long))),
        ("anthropic", anthropic(30, &long)),
    ] {
        let said = json!({
            "transcript": transcript, "format": format, "parent_session_id": "ses_1", "prompt": "Write its tests.",
        });
        let answer = forked(&program.api, &said).await?;
        let unsaid = forked(&program.api, &json!({"transcript": transcript})).await?;
        assert_eq!(answer["context"], unsaid["context"], "{format} is recognised");
        assert_eq!((&answer["parent_session_id"], &unsaid["parent_session_id"]), (&json!("ses_1"), &Value::Null));

        let stats = &answer["stats"];
        assert_eq!(stats["tierDistribution"], json!({"tier1": 5, "tier2": 10, "tier3": 15}), "{format}: {stats}");
        assert_eq!(stats["truncatedResults"], 25, "{format}: {stats}");
        assert_eq!(stats["compactionSliceIndex"], -1, "{format}: {stats}");
        let context = answer["context"].as_str().context("a context")?;
        assert_eq!(stats["totalChars"], context.chars().count(), "{format}");
        assert!(context.contains("Where is the parser?"), "{format}");
        let ref_id = answer["ref_id"].as_str().context("a handle")?;
        assert_eq!(read_whole(&program, ref_id).await?, context, "{format}");

        let child = answer["session_id"].as_str().context("a child")?;
        let again = program.api.get(&format!("{FORKS}/{child}")).await?.with_status(200)?;
        assert_eq!(again, answer, "{format}");
    }
    Ok(())
}

#[tokio::test]
async fn what_does_not_fit_the_budget_is_removed_and_the_child_is_shown_that() -> Result<()> {
    let program = Program::start(roomy().set("fork.char_budget", 20_000)).await?;
    let answer = forked(&program.api, &json!({"transcript": opencode(60, &lines_about("a file", 3_000))})).await?;
    assert!(answer["stats"]["removedMessages"].as_u64().is_some_and(|removed| removed > 0), "{}", answer["stats"]);
    assert!(answer["stats"]["totalChars"].as_u64().is_some_and(|chars| chars <= 20_000), "{}", answer["stats"]);
    let preamble = answer["preamble"].as_str().context("a preamble")?;
    assert!(preamble.contains("oldest messages removed to fit 20000 char budget"), "{preamble}");
    Ok(())
}

#[tokio::test]
async fn a_transcript_of_tens_of_megabytes_is_taken_where_no_other_body_is() -> Result<()> {
    let program = Program::start(roomy().set("server.transcript_bytes_max", 20 << 20)).await?;
    let body = json!({"transcript": opencode(1_000, &lines_about("a file", 12_000))}).to_string();
    assert!(body.len() > 10 << 20 && body.len() < 20 << 20, "{}", body.len());
    let request = |path: &str, body: String| {
        let request = program.api.request(reqwest::Method::POST, path);
        request.header("content-type", "application/json").body(body)
    };
    let answer = crate::support::ApiAnswer::read(request(FORKS, body.clone())).await?.with_status(201)?;
    assert_eq!(answer["stats"]["originalCount"], 1_001);
    let other_route = crate::support::ApiAnswer::read(request("/api/v1/scrub", body.clone())).await?;
    assert_eq!(other_route.refused()?.verdict(), ("body_too_large", 413));
    let too_much = json!({"transcript": "x".repeat(21 << 20)}).to_string();
    let refused = crate::support::ApiAnswer::read(request(FORKS, too_much)).await?.refused()?;
    assert_eq!(refused.verdict(), ("body_too_large", 413));
    Ok(())
}
