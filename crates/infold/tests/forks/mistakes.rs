//! What cannot be forked: a clear refusal each, and nothing stored.

use anyhow::Result;
use serde_json::{Value, json};

use super::scene::{FORKS, anthropic, opencode};
use crate::support::{Issuer, Program, roomy};

#[tokio::test]
async fn transcripts_that_are_none_are_a_clear_400_and_store_nothing() -> Result<()> {
    let program = Program::start(roomy()).await?;
    let before = program.database()?.contents()?;
    let good = anthropic(1, "fn parse()");
    let mut broken = good.clone();
    broken[1] = json!(7);
    let mut odd = opencode(2, "fn parse()");
    odd[1]["parts"] = json!("no parts at all");
    for (what, names, body) in [
        ("nothing at all", "parent_session_id", json!({})),
        ("nulls", "parent_session_id", json!({"transcript": null, "parent_session_id": null})),
        ("an empty list", "transcript", json!({"transcript": []})),
        ("an empty text", "transcript", json!({"transcript": ""})),
        ("a list of nothing", "transcript", json!({"transcript": [null, null]})),
        ("no conversation", "transcript", json!({"transcript": {"a": 1}})),
        ("plain words", "transcript", json!({"transcript": "Where is the parser?"})),
        ("bytes of a picture", "transcript", json!({"transcript": "\u{89}PNG\r\n\u{1a}\n\u{0}"})),
        ("an element that is none", "transcript", json!({"transcript": broken})),
        ("parts that are none", "transcript", json!({"transcript": odd})),
        ("another form than was said", "transcript", json!({"transcript": good, "format": "codex"})),
        ("a form that there is not", "format", json!({"transcript": good, "format": "word"})),
        ("a form of nothing", "format", json!({"parent_session_id": "s", "format": "codex"})),
        ("a profile that there is not", "profile", json!({"transcript": good, "profile": "all"})),
        ("a name that is none", "session_id", json!({"transcript": good, "session_id": "../child"})),
        ("a parent that is none", "parent_session_id", json!({"transcript": good, "parent_session_id": "a b"})),
        ("an empty prompt", "prompt", json!({"transcript": good, "prompt": "  "})),
        ("a long prompt", "prompt", json!({"transcript": good, "prompt": "x".repeat(10_001)})),
        ("a view of nothing", "branch_id", json!({"transcript": good, "branch_id": "main"})),
    ] {
        let refused = program.api.post(FORKS, &body).await?.refused()?;
        assert_eq!(refused.verdict(), ("invalid_input", 400), "{what}: {}", refused.message);
        assert_eq!(refused.unclear(names), None, "{what}");
        assert_eq!(program.database()?.contents()?, before, "{what}");
    }
    Ok(())
}

#[tokio::test]
async fn the_same_is_refused_over_mcp_in_its_documents_form() -> Result<()> {
    let program = Program::start(roomy()).await?;
    let with = |name: &str, value: Value| {
        let mut arguments = json!({"project_path": "/projects/p", "transcript": anthropic(1, "x")});
        arguments[name] = value;
        arguments
    };
    for (names, arguments) in [
        ("transcript", with("transcript", json!([]))),
        ("transcript", with("transcript", json!([1]))),
        ("transcript", with("transcript", json!("text"))),
        ("transcript", with("format", json!("opencode"))),
        ("format", with("format", json!("word"))),
        ("profile", with("profile", json!("all"))),
        ("new_session_id", with("new_session_id", json!("a b"))),
        ("format", json!({"project_path": "/projects/p", "format": "anthropic"})),
        ("not found", json!({"project_path": "/projects/p"})),
        ("not found", json!({"project_path": "/projects/p", "session_id": "never"})),
    ] {
        let refused = program.refused("context_fork", arguments.clone()).await?;
        assert_eq!(refused.rpc, Some(-32602), "{arguments}: {refused:?}");
        assert_eq!(refused.unclear(names), None, "{arguments}");
    }
    assert_eq!(program.database()?.number("SELECT count(*) FROM sessions")?, 0);
    Ok(())
}

#[tokio::test]
async fn anothers_session_is_as_absent_as_one_that_never_was() -> Result<()> {
    let issuer = Issuer::new()?;
    let program = Program::start(issuer.believed_by(roomy())).await?;
    program.open("mine", "Work").await?;
    let child = super::scene::forked(&program.api, &json!({"parent_session_id": "mine"})).await?;
    let before = program.database()?.contents()?;

    let (mcp, api) = program.client_with(&issuer.token("eve")?).await?;
    let theirs = api.post(FORKS, &json!({"parent_session_id": "mine"})).await?.refused()?;
    let absent = api.post(FORKS, &json!({"parent_session_id": "none"})).await?.refused()?;
    assert_eq!(theirs.verdict(), ("session_not_found", 404));
    assert_eq!(theirs.message.replace("mine", "none"), absent.message);
    let shown = api.get(&format!("{FORKS}/{}", child["session_id"].as_str().unwrap_or_default())).await?.refused()?;
    assert_eq!(shown.verdict(), ("session_not_found", 404));
    let read = mcp.call("read_result", json!({"ref_id": child["ref_id"]})).await?;
    assert!(!read.is_ok(), "{}", read.summary());
    assert_eq!(program.database()?.contents()?, before);

    // With a transcript it is a name like any other, and gives nothing away.
    let named = json!({"parent_session_id": "mine", "transcript": anthropic(1, "theirs")});
    let forked = super::scene::forked(&api, &named).await?;
    assert!(!forked.to_string().contains("Work"), "{forked}");
    Ok(())
}
