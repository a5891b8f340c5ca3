//! Where a chat begins: with a recorded session of its own, with one of another client, with another model.

use anyhow::{Result, ensure};

use super::scene::{ChatScene, USUAL, greeting_model, rests, say_and_wait};

#[tokio::test(flavor = "multi_thread")]
async fn the_demonstration_needs_no_key_folds_a_branch_and_stores_nothing() -> Result<()> {
    let chat = ChatScene::start(greeting_model()).await;
    let terminal = &mut chat.open(USUAL, &["--demo"]).await?;
    terminal.until_shows("May it write NOTES.md?").await?;
    let seen = terminal.scrollback().await?;
    ensure!(seen.contains("branch find out which files keep secrets out of requests: returned"), "{seen}");
    terminal.press("1").await?;
    terminal.until("the last words", |screen| screen.contains("I have one more answer only") && rests(screen)).await?;
    say_and_wait(terminal, "And now?", "That was all that was recorded").await?;
    terminal.say("/quit").await?;
    ensure!(chat.scene.model.turns().is_empty(), "the real model was asked");
    ensure!(!chat.scene.data().join("infold.db").exists(), "something was stored");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_of_three_other_clients_are_taken_over() -> Result<()> {
    for recording in ["claude-code/tools.jsonl", "codex/rollout-tools.jsonl", "opencode/tools.json"] {
        let chat = ChatScene::start(greeting_model()).await;
        let file = format!("{}/../../fixtures/{recording}", env!("CARGO_MANIFEST_DIR"));
        let terminal = &mut chat.open(USUAL, &["--from", &file]).await?;
        say_and_wait(terminal, "Go another way", "Another way it is.").await?;
        let last = chat.scene.turns().pop().unwrap();
        ensure!(last.shown().len() > 4, "{recording}: {}", last.shape());
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn another_model_answers_from_where_it_was_chosen_also_after_a_resume() -> Result<()> {
    let chat = ChatScene::start(greeting_model()).await;
    let terminal = &mut chat.open(USUAL, &[]).await?;
    say_and_wait(terminal, "Hello", "Hello yourself.").await?;
    terminal.say("/model claude-sonnet-4-5").await?;
    terminal.until_shows("claude-sonnet-4-5 answers from here on").await?;
    say_and_wait(terminal, "What was it?", "It was the greeting.").await?;
    terminal.say("/quit").await?;
    let models = |scene: &crate::agent::scene::Scene| -> Vec<String> {
        scene.turns().iter().map(|turn| turn.body["model"].as_str().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(models(&chat.scene), ["claude-opus-4-6", "claude-sonnet-4-5"]);
    let terminal = &mut chat.open(USUAL, &["--continue"]).await?;
    say_and_wait(terminal, "Go another way", "Another way it is.").await?;
    assert_eq!(models(&chat.scene)[2], "claude-sonnet-4-5");
    Ok(())
}
