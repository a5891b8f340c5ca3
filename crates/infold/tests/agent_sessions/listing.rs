//! Sessions of infold's own agent: lists, searches, and whole logs.

use anyhow::{Context, Result};
use infold_testkit::model::{Script, Step};
use serde_json::{Value, json};

use super::scene::Scene;

async fn two_sessions() -> Result<Scene> {
    let secret = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let script = Script::new([
        Step::calling("I note it.", [("write", json!({ "path": "a.txt", "content": format!("harbour {secret}\n") }))]),
        Step::text("Noted."),
        Step::text("The lighthouse is white."),
    ]);
    let scene = Scene::start(script).await?;
    scene.done(&["exec", "Write down the harbour."]).await?;
    scene.done(&["exec", "What colour is the lighthouse?"]).await?;
    Ok(scene)
}

fn field<'v>(sessions: &'v Value, name: &str) -> Vec<&'v Value> {
    sessions["sessions"].as_array().into_iter().flatten().map(|session| &session[name]).collect()
}

#[tokio::test]
async fn sessions_are_listed_and_found_by_what_was_said_in_them() -> Result<()> {
    let scene = two_sessions().await?;
    let listed = scene.json(&["sessions", "--agent"]).await?;
    assert_eq!(field(&listed, "first_words"), ["What colour is the lighthouse?", "Write down the harbour."]);
    assert_eq!(field(&listed, "turns"), [1, 2]);
    assert_eq!(field(&listed, "model"), ["claude-opus-4-6"; 2]);
    let folder = scene.path("").canonicalize()?;
    assert_eq!(field(&listed, "folder"), [&json!(folder); 2]);
    let text = scene.done(&["sessions", "--agent"]).await?.text;
    assert!(text.contains("TURNS") && text.contains("claude-opus-4-6"), "{text}");

    for (words, found) in
        [("Lighthouse WHITE", 1), ("harbour noted", 1), ("a.txt", 1), ("harbour white", 0), ("the", 2)]
    {
        let listed = scene.json(&["sessions", "--agent", "--search", words]).await?;
        assert_eq!(field(&listed, "session_id").len(), found, "{words}: {listed}");
    }
    let refused = scene.run(&["sessions", "--search", "harbour"]).await?;
    assert_eq!(refused.code, Some(2), "{refused:#?}");
    Ok(())
}

#[tokio::test]
async fn a_session_is_exported_whole_and_without_secrets() -> Result<()> {
    let scene = two_sessions().await?;
    let listed = scene.json(&["sessions", "--agent", "--search", "harbour"]).await?;
    let session = field(&listed, "session_id")[0].as_str().context("no id")?.to_owned();

    let lines = scene.done(&["export", &session]).await?.text;
    let records: Vec<Value> = lines.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    let happened: Vec<&str> = records.iter().filter_map(|record| record["happened"].as_str()).collect();
    assert_eq!(happened, ["began", "instructed", "said", "answered", "result", "answered", "finished"]);
    assert!(records.iter().zip(1..).all(|(record, number)| record["record"] == number && record["at"].is_string()));
    assert!(lines.contains("harbour") && !lines.contains("ghp_a1B2"), "{lines}");

    let file = scene.path("session.md");
    let path = file.to_str().context("no path")?;
    let written = scene.json(&["export", &session, "--format", "markdown", "-o", path]).await?;
    assert_eq!((&written["records"], &written["format"]), (&json!(7), &json!("markdown")));
    let markdown = scene.file("session.md");
    for part in [
        "## User\n\nWrite down the harbour.",
        "## Model\n\nI note it.",
        "Call of `write`",
        "Result of `write`",
        "Noted.",
    ] {
        assert!(markdown.contains(part), "{part}: {markdown}");
    }
    let refused = scene.run(&["export", &session, "-o", path]).await?;
    assert_eq!(refused.code, Some(3), "{refused:#?}");
    assert_eq!(scene.file("session.md"), markdown);
    Ok(())
}
