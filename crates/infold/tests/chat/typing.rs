//! Typing at any time: during a turn, ten thousand lines at once, and before a kill.

use anyhow::{Result, ensure};
use infold_testkit::terminal::TmuxTerminal;
use rustix::process::{Pid, Signal, kill_process};

use super::scene::{ChatScene, USUAL, greeting_model, rests, say_and_wait};

async fn kill(terminal: &TmuxTerminal) -> Result<()> {
    Ok(kill_process(Pid::from_raw(terminal.process().await?).unwrap(), Signal::KILL)?)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_typed_during_a_turn_waits_and_is_there_again_after_an_interrupt() -> Result<()> {
    let chat = ChatScene::start(greeting_model()).await.set("agent.approval=all");
    let terminal = &mut chat.open(USUAL, &[]).await?;
    terminal.say("Take your time").await?;
    terminal.until_shows("shell sleep 600").await?;
    terminal.say("Steer here").await?;
    terminal.until_shows("waits: Steer here").await?;
    let log = chat.scene.log();
    ensure!(log.iter().any(|record| record["happened"] == "waiting"), "it is on disk while it waits");

    terminal.press("Escape").await?;
    terminal
        .until("the words", |screen| {
            screen.contains("what waited is in the input again") && screen.contains("> Steer here")
        })
        .await?;
    terminal.press("Enter").await?;
    terminal.until("the answer", |screen| screen.contains("I steer.") && rests(screen)).await?;
    let last = chat.scene.turns().pop().unwrap();
    ensure!(last.holds("Steer here"), "{}", last.body);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_pasted_lines_are_one_word_in_the_input_and_all_there_for_the_model() -> Result<()> {
    let chat = ChatScene::start(greeting_model()).await;
    let terminal = &mut chat.open((60, 20), &[]).await?;
    let lines: Vec<String> = (0..10_000).map(|number| format!("pasted {number}")).collect();
    let file = chat.scene.home().join("pasted");
    std::fs::write(&file, lines.join("\n"))?;
    terminal.type_in("Count these ").await?;
    terminal.paste_file(&file).await?;
    terminal.until_shows("10,000 lines").await?;
    terminal.press("Enter").await?;
    terminal.until("the answer", |screen| screen.contains("I have counted them.") && rests(screen)).await?;
    let last = chat.scene.turns().pop().unwrap();
    ensure!(last.holds("pasted 0\\npasted 1\\n") || last.holds("pasted 0\npasted 1\n"), "the beginning is missing");
    ensure!(last.holds("pasted 9999"), "the end is missing");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_kill_the_draft_is_there_and_the_work_goes_on() -> Result<()> {
    let chat = ChatScene::start(greeting_model()).await;
    let mut terminal = chat.open(USUAL, &[]).await?;
    say_and_wait(&mut terminal, "Hello", "Hello yourself.").await?;
    terminal.say("Fix the greeting").await?;
    terminal.until_shows("May it edit greeting.txt?").await?;
    terminal.type_in("half a thou").await?;
    let is_kept = || {
        let mut kept = std::fs::read_dir(chat.scene.data().join("chat")).unwrap().flatten();
        kept.any(|file| std::fs::read_to_string(file.path()).is_ok_and(|text| text == "half a thou"))
    };
    while !is_kept() {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    kill(&terminal).await?;
    drop(terminal);

    let mut terminal = chat.open(USUAL, &["--continue"]).await?;
    terminal
        .until("everything", |screen| {
            screen.contains("Hello yourself.")
                && screen.contains("> half a thou")
                && screen.contains("what you had typed is here again")
        })
        .await?;
    let sent = chat.scene.turns().len();
    terminal.press("C-u").await?;
    terminal.press_until("Enter", "the question", |screen| screen.contains("May it edit greeting.txt?")).await?;
    assert_eq!(chat.scene.turns().len(), sent, "the answer that came before the kill counts");
    terminal.press_until("1", "the answer", |screen| screen.contains("The greeting is right")).await?;
    assert_eq!(chat.scene.text("greeting.txt"), "hello, world\n");
    Ok(())
}
