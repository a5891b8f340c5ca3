//! What can go wrong: a clear word each, and the typed text is kept.

use anyhow::{Result, ensure};
use infold_testkit::model::{Fault, Script, Step};
use infold_testkit::terminal::TmuxTerminal;

use super::scene::{ChatScene, USUAL, greeting_model, rests, say_and_wait};

#[tokio::test]
async fn without_a_terminal_it_says_what_works_without_one() {
    let chat = ChatScene::start(greeting_model()).await;
    let ran = chat.scene.run(&["chat"]).await;
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.stderr.contains("needs a terminal") && ran.stderr.contains("infold exec"), "{ran:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_key_it_says_what_to_set() -> Result<()> {
    let chat = ChatScene::start(greeting_model()).await;
    let mut command = chat.scene.command(&["chat"]);
    command.env_remove("ANTHROPIC_API_KEY");
    let ran = command.args(["--plain"]).output().await?;
    let said = String::from_utf8_lossy(&ran.stderr);
    ensure!(said.contains("set the variable ANTHROPIC_API_KEY"), "{said}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_that_cannot_move_its_cursor_gets_lines() -> Result<()> {
    let chat = ChatScene::start(greeting_model()).await;
    let mut shell = tokio::process::Command::new("sh");
    let program = chat.scene.command(&["chat"]);
    let program = program.as_std();
    shell.env_clear().envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.current_dir(program.get_current_dir().unwrap());
    shell.args(["-c", "TERM=dumb exec \"$@\"", "sh"]).arg(program.get_program()).args(program.get_args());
    let mut terminal = TmuxTerminal::start(chat.scene.home(), &shell, USUAL).await?;
    terminal.until("lines", |screen| screen.contains("the chat goes line by line") && screen.contains("/help lists commands")).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_is_down_is_said_and_the_words_can_be_sent_again() -> Result<()> {
    let broken = || Step::failing(Fault::Status { status: 529, retry_after_s: None });
    let script = Script::new([broken(), broken(), broken(), Step::text("Here I am.")]);
    let chat = ChatScene::start(script).await;
    let terminal = &mut chat.open(USUAL, &[]).await?;
    terminal.say("Are you there?").await?;
    terminal.until("the reason", |screen| screen.contains("529") && rests(screen)).await?;
    // The words are part of the session: going on asks again.
    terminal.press("Enter").await?;
    terminal.until("the answer", |screen| screen.contains("Here I am.") && rests(screen)).await?;
    ensure!(chat.scene.model.turns().pop().unwrap().holds("Are you there?"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_takes_nothing_more_leaves_the_words_in_the_input() -> Result<()> {
    let chat = ChatScene::start(greeting_model()).await;
    let terminal = &mut chat.open(USUAL, &[]).await?;
    say_and_wait(terminal, "Hello", "Hello yourself.").await?;
    chat.scene.in_database("CREATE TRIGGER full BEFORE INSERT ON agent_log BEGIN SELECT RAISE(FAIL, 'database or disk is full'); END");
    terminal.say("What was it?").await?;
    terminal.until("the words", |screen| screen.contains("> What was it?") && screen.contains("full") && rests(screen)).await?;
    chat.scene.in_database("DROP TRIGGER full");
    terminal.press("Enter").await?;
    terminal.until("the answer", |screen| screen.contains("It was the greeting.")).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_cannot_be_read_is_named_with_its_record() -> Result<()> {
    let chat = ChatScene::start(greeting_model()).await;
    let terminal = &mut chat.open(USUAL, &[]).await?;
    say_and_wait(terminal, "Hello", "Hello yourself.").await?;
    terminal.say("/quit").await?;
    chat.scene.in_database("UPDATE agent_log SET payload = '{\"happened\":\"nonsense\"}' WHERE seq = 3");
    let ran = chat.scene.run(&["chat", "--plain", "--continue"]).await;
    ensure!(ran.code == 3 && ran.stderr.contains("record 3 of the session cannot be read"), "{ran:?}");
    Ok(())
}
