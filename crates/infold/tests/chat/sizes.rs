//! The same conversation at three sizes: the screens are kept, and nothing of it is lost when the terminal is resized.

use std::cell::RefCell;

use anyhow::{Result, ensure};

use super::scene::{ChatScene, greeting_model, rests};

/// A screen without what differs from run to run.
fn kept(screen: &str, chat: &ChatScene) -> String {
    let home = chat.scene.home().display().to_string();
    let name = home.rsplit('/').next().unwrap_or_default();
    let mut kept = String::new();
    for line in screen.lines() {
        let line = match line.find("sess_") {
            Some(at) => &line[..at],
            None => line,
        };
        let line = line.split(name).next().unwrap_or_default();
        // How much a request takes depends on how long the folder's name is.
        kept.push_str(&line.trim_end().replace(|digit: char| digit.is_ascii_digit(), "0"));
        kept.push('\n');
    }
    kept
}

async fn at(size: (u16, u16), name: &str) -> Result<()> {
    let chat = ChatScene::start(greeting_model()).await;
    let terminal = &mut chat.open(size, &[]).await?;
    terminal.say("Fix the greeting").await?;
    terminal
        .until("the question", |screen| screen.contains("May it edit greeting.txt?") && screen.contains("tokens,"))
        .await?;
    // What turns, and the seconds, are no part of what is kept.
    let turning = |screen: &str| -> String {
        screen
            .lines()
            .filter(|line| !line.chars().any(|turning| ('\u{2800}'..='\u{28ff}').contains(&turning)))
            .map(|line| format!("{line}\n"))
            .collect()
    };
    insta::assert_snapshot!(format!("{name}_question"), kept(&turning(&terminal.screen().await?), &chat));
    terminal.press_until("1", "the answer", |screen| screen.contains("two") && rests(screen)).await?;
    let shown = chat.shown().await?;
    let sent = shown["requests"].as_array().unwrap().len();
    ensure!(sent == 2, "{sent} requests");
    terminal.say("/context").await?;
    // A screen that is looked at while it is drawn lacks its last lines.
    let drawn = RefCell::new(String::new());
    let is_drawn = |screen: &str| {
        screen.clone_into(&mut drawn.borrow_mut());
        screen.contains("together") && screen.trim_end().lines().last().is_some_and(|line| line.contains(" · ask · "))
    };
    terminal.until("the context", is_drawn).await?;
    insta::assert_snapshot!(format!("{name}_rest"), kept(&drawn.borrow(), &chat));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn wide() -> Result<()> {
    at((120, 40), "wide").await
}

#[tokio::test(flavor = "multi_thread")]
async fn usual() -> Result<()> {
    at((80, 24), "usual").await
}

#[tokio::test(flavor = "multi_thread")]
async fn narrow() -> Result<()> {
    at((60, 20), "narrow").await
}

#[tokio::test(flavor = "multi_thread")]
async fn resizing_keeps_the_conversation_and_the_input() -> Result<()> {
    let chat = ChatScene::start(greeting_model()).await;
    let terminal = &mut chat.open((120, 40), &[]).await?;
    super::scene::say_and_wait(terminal, "Explore", "Both are back.").await?;
    terminal.type_in("not sent yet").await?;
    terminal.until_shows("> not sent yet").await?;
    for (columns, rows) in [(60, 20), (40, 10), (100, 30), (20, 5), (80, 24)] {
        terminal.resize(columns, rows).await?;
        terminal
            .until("the input", |screen| {
                screen.contains("> not sent yet") && screen.contains("tokens, ")
                    || columns < 30 && screen.contains("> not")
            })
            .await?;
    }
    let all = terminal.scrollback().await?;
    for words in ["> Explore", "look at the greeting", "Both are back.", "> not sent yet"] {
        ensure!(all.contains(words), "{words} is not in\n{all}");
    }
    Ok(())
}
