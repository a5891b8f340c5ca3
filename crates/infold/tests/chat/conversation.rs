//! A whole conversation: approve, refuse, unfold, branch, compact, fork, rewind, go to another session, leave. Every figure on
//! the screen is the one of `infold show`.

use anyhow::{Result, ensure};
use infold_testkit::terminal::TmuxTerminal;
use serde_json::Value;

use crate::agent::scene::normalised;

use super::scene::{ChatScene, USUAL, greeting_model, rests, say_and_wait};

/// A number with commas.
fn grouped(number: u64) -> String {
    infold_core::grouped(number)
}

/// Waits until the figures on the screen are those of `infold show`, in the last line and in what `/context`, `/cost` and
/// `/branch` say.
async fn check_figures(chat: &ChatScene, terminal: &mut TmuxTerminal) -> Result<()> {
    let shown = chat.shown().await?;
    let number = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("no number in {shown:#}"));
    let (tokens, window) = (number(&shown["context_tokens"]), number(&shown["window_tokens"]));
    let last = format!("{} of {} tokens, {} %", grouped(tokens), grouped(window), tokens * 100 / window);
    terminal.until(&last, |screen| screen.contains(&last)).await?;

    let request = shown["requests"]
        .as_array()
        .unwrap()
        .iter()
        .rfind(|request| request["branch_id"].is_null() && request["kind"] == "turn");
    let sent = &request.unwrap()["sent"];
    terminal.say("/context").await?;
    let together = format!("together{:>14}", grouped(sent["total"].as_u64().unwrap()));
    terminal.until(&together, |screen| screen.contains(&together)).await?;
    let screen = terminal.screen().await?;
    let parts = [
        ("system", sent["system"].as_u64().unwrap()),
        ("tools", sum(&sent["tools"])),
        ("your words", sent["user"].as_u64().unwrap()),
        ("answers", sent["assistant"].as_u64().unwrap()),
        ("calls", sent["calls"].as_u64().unwrap()),
        ("results", sum(&sent["results"])),
        ("reasoning", sent["reasoning"].as_u64().unwrap()),
    ];
    for (name, tokens) in parts.into_iter().filter(|(_, tokens)| *tokens > 0) {
        let line = format!("{name:<12}{:>10}", grouped(tokens));
        ensure!(screen.contains(&line), "{line} is not in\n{screen}");
    }
    terminal.say("/cost").await?;
    let (totals, used) = (&shown["request_totals"], &shown["request_totals"]["usage"]);
    let input =
        number(&used["fresh_tokens"]) + number(&used["cache_read_tokens"]) + number(&used["cache_write_tokens"]);
    let requests = format!("{} requests: {} input tokens", totals["requests"], grouped(input));
    terminal.until(&requests, |screen| screen.contains(&requests)).await
}

/// The tree has what each branch used and returned.
async fn check_tree(chat: &ChatScene, terminal: &mut TmuxTerminal) -> Result<()> {
    terminal.say("/branch").await?;
    terminal
        .until("the tree", |screen| screen.contains("→ The greeting is fine.") && screen.contains("2 branches"))
        .await?;
    let screen = terminal.screen().await?;
    for branch in chat.shown().await?["branches"].as_array().unwrap() {
        let used = format!(
            "{}/{}",
            grouped(branch["budget_used"].as_u64().unwrap()),
            grouped(branch["budget_total"].as_u64().unwrap())
        );
        ensure!(screen.contains(&used), "{used} is not in\n{screen}");
    }
    Ok(())
}

/// What was folded away can be unfolded.
async fn unfold(terminal: &mut TmuxTerminal) -> Result<()> {
    terminal.press("C-o").await?;
    terminal.until_shows("What happened").await?;
    ensure!(!terminal.screen().await?.contains("edited greeting.txt"), "it is folded");
    for key in ["Home", "Down", "Down"] {
        terminal.press(key).await?;
    }
    terminal.press_until("Enter", "the result", |screen| screen.contains("edited greeting.txt")).await?;
    terminal.press("Escape").await?;
    terminal.until("the input", |screen| screen.contains("\n>")).await?;
    Ok(())
}

fn sum(shares: &Value) -> u64 {
    shares.as_array().unwrap().iter().map(|share| share["tokens"].as_u64().unwrap()).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_conversation_with_true_figures() -> Result<()> {
    let chat = ChatScene::start(greeting_model()).await;
    let terminal = &mut chat.open(USUAL, &[]).await?;

    // A change is asked about with its difference, and its approval reaches as far as it says.
    terminal.say("Fix the greeting, please").await?;
    terminal.until_shows("May it edit greeting.txt?").await?;
    let screen = terminal.screen().await?;
    ensure!(screen.contains("helo, world") && screen.contains("hello, world"), "no difference in\n{screen}");
    ensure!(screen.contains("until this chat ends: changes of files in this folder"), "{screen}");
    let is_done = |screen: &str| screen.contains("The greeting is right") && rests(screen);
    terminal.press_until("1", "the answer", is_done).await?;
    assert_eq!(chat.scene.text("greeting.txt"), "hello, world\n");
    check_figures(&chat, terminal).await?;

    // A command is refused with words, and the model gets them.
    terminal.say("Remove it").await?;
    terminal.until_shows("May it run `rm greeting.txt`?").await?;
    terminal.press("Enter").await?;
    ensure!(chat.scene.file("greeting.txt").exists(), "an Enter alone approves nothing");
    say_and_wait(terminal, "No, keep the file", "Then it stays.").await?;
    ensure!(chat.scene.file("greeting.txt").exists());
    let last = chat.scene.turns().pop().unwrap();
    ensure!(last.holds("the person refused this call, and says: No, keep the file"), "{}", last.body);

    unfold(terminal).await?;

    // Branches work side by side, and their tree says what each returned.
    say_and_wait(terminal, "Explore", "Both are back.").await?;
    check_figures(&chat, terminal).await?;
    check_tree(&chat, terminal).await?;

    // A fork begins like the session that it comes from, which stays as it is.
    terminal.say("/fork").await?;
    terminal.until_shows("which begins like").await?;
    say_and_wait(terminal, "What was it?", "It was the greeting.").await?;
    let last = chat.scene.turns().pop().unwrap();
    ensure!(last.holds("Fix the greeting, please") && last.holds("Both are back."), "{}", last.body);

    // Back to the first one, and there back to the beginning: the file is as it was.
    terminal.say("/sessions").await?;
    terminal.until_shows("Sessions (2)").await?;
    terminal.press("Down").await?;
    terminal.press("Enter").await?;
    terminal
        .until("the other session", |screen| {
            screen.contains("Both are back.") && !screen.contains("It was the greeting.")
        })
        .await?;
    terminal.say("/rewind").await?;
    terminal.until_shows("Points to go back to").await?;
    terminal.press("End").await?;
    terminal.press("Enter").await?;
    terminal.until("files", |screen| screen.contains("put back greeting.txt")).await?;
    assert_eq!(chat.scene.text("greeting.txt"), "helo, world\n");
    say_and_wait(terminal, "Go another way", "Another way it is.").await?;
    let last = chat.scene.turns().pop().unwrap();
    ensure!(last.holds("Fix the greeting, please") && !last.holds("Let me **edit** it."), "{}", last.body);

    terminal.say("/quit").await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn going_back_past_a_compaction_and_past_edits_brings_everything_back() -> Result<()> {
    let chat = ChatScene::start(greeting_model()).await;
    let chat = ["agent.context_budget=40000", "agent.max_output_tokens=1000", "agent.summary_reserve=1000"]
        .into_iter()
        .fold(chat, ChatScene::set);
    for number in 0..6 {
        let lines: Vec<String> =
            (1..=150).map(|line| format!("line {line} of file {number}, which is there to take space")).collect();
        chat.scene.write(&format!("file_{number}.txt"), &lines.join("\n"));
    }
    let terminal = &mut chat.open(USUAL, &[]).await?;
    say_and_wait(terminal, "Read them all", "I have read them all.").await?;
    let before = chat.scene.turns().pop().unwrap();

    terminal.say("/compact").await?;
    terminal
        .until("the figures", |screen| {
            screen.contains("compacted: ") && screen.contains("messages became") && rests(screen)
        })
        .await?;
    terminal.say("Fix the greeting").await?;
    terminal.until_shows("May it edit greeting.txt?").await?;
    terminal.press_until("1", "the answer", |screen| screen.contains("The greeting is right")).await?;
    terminal.until("rest", rests).await?;
    let compacted = chat.scene.turns().pop().unwrap();
    ensure!(compacted.body.to_string().len() < before.body.to_string().len(), "it was not made smaller");

    // Somebody else changes the file: nothing is changed, and the difference is shown.
    chat.scene.write("greeting.txt", "hello, world\nand a line of somebody else\n");
    terminal.say("/rewind 3").await?;
    terminal
        .until("the difference", |screen| screen.contains("has been changed since") && screen.contains("somebody else"))
        .await?;
    ensure!(chat.scene.text("greeting.txt").contains("somebody else"));
    chat.scene.write("greeting.txt", "hello, world\n");

    terminal.say("/rewind 3").await?;
    terminal.until_shows("put back greeting.txt").await?;
    assert_eq!(chat.scene.text("greeting.txt"), "helo, world\n");
    let sent = chat.scene.turns().len();
    // The words are said once more, and the request is the one that was sent then.
    terminal.press("Enter").await?;
    terminal
        .until("rest", |screen| {
            rests(screen) && screen.rsplit("put back").next().unwrap_or_default().contains("I have read them all.")
        })
        .await?;
    assert_eq!(normalised(&chat.scene.turns()[sent]), normalised(&chat.scene.turns()[0]));
    terminal.say("/quit").await?;
    Ok(())
}
