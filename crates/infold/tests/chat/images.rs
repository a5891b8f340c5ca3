//! Images in a chat: dropped, named and from the clipboard, visible in the input, and kept whatever happens.

use std::os::unix::fs::PermissionsExt as _;

use anyhow::{Context as _, Result, ensure};
use infold_testkit::model::{Fault, Received, Script, Step};
use infold_testkit::terminal::TmuxTerminal;
use rustix::process::{Pid, Signal, kill_process};

use super::scene::{ChatScene, USUAL, greeting_model, rests, say_and_wait};
use crate::agent::images::{files, png, put};
use crate::support::{PATIENCE, POLL};

const CHIP: &str = "[image 1: my shot.png, 1200×800, 4 KB]";

/// A chat whose model answers to anything, in a folder with an image.
async fn scene() -> ChatScene {
    let chat = ChatScene::start(Script::new((1..20).map(|number| Step::text(&format!("Answer {number}."))))).await;
    put(&chat.scene, "my shot.png", &png(1, 3_000));
    chat
}

/// Pastes a text as a terminal does for a file that is dropped.
async fn drop_text(chat: &ChatScene, terminal: &TmuxTerminal, text: &str) -> Result<()> {
    let file = chat.scene.home().join("dropped");
    std::fs::write(&file, text)?;
    terminal.paste_file(&file).await
}

fn last(chat: &ChatScene) -> Result<Received> {
    chat.scene.turns().pop().context("nothing was sent")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_image_is_one_word_in_the_input_and_goes_along() -> Result<()> {
    let chat = scene().await;
    let folder = chat.scene.file("").canonicalize()?.display().to_string();
    let terminal = &mut chat.open(USUAL, &[]).await?;
    let forms = [
        format!("{folder}/my shot.png"),
        format!("'{folder}/my shot.png' "),
        format!("\"{folder}/my shot.png\""),
        format!("{folder}/my\\ shot.png"),
        format!("file://{folder}/my%20shot.png"),
        "my shot.png".to_owned(),
    ];
    for (number, form) in (1..).zip(&forms) {
        terminal.type_in("Look at ").await?;
        drop_text(&chat, terminal, form).await?;
        terminal.until(form, |screen| screen.contains(&format!("> Look at {CHIP}"))).await?;
        terminal.press("Enter").await?;
        let answer = format!("Answer {number}.");
        terminal.until(&answer, |screen| screen.contains(&answer) && rests(screen)).await?;
        let last = last(&chat)?;
        ensure!(files(&last).len() == number, "{form}: {}", last.shape());
        ensure!(files(&last).iter().all(|file| *file == png(1, 3_000)), "{form}");
        ensure!(last.holds(&format!("Look at {CHIP}")), "{form}: {}", last.shape());
    }
    // The figures have the images: 1,280 tokens each.
    let shown = chat.shown().await?;
    ensure!(shown["context_tokens"].as_u64() > Some(6 * 1_280), "{shown}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_takes_an_image_out_and_words_that_are_no_image_stay_words() -> Result<()> {
    let chat = scene().await;
    let terminal = &mut chat.open(USUAL, &[]).await?;
    drop_text(&chat, terminal, "'my shot.png'").await?;
    terminal.until_shows(CHIP).await?;
    terminal.press("BSpace").await?;
    terminal.press_until("BSpace", "an empty input", |screen| !screen.contains("[image")).await?;
    drop_text(&chat, terminal, "greeting.txt").await?;
    terminal.until_shows("> greeting.txt").await?;
    terminal.press("Enter").await?;
    terminal.until("the answer", |screen| screen.contains("Answer 1.") && rests(screen)).await?;
    let last = last(&chat)?;
    ensure!(files(&last).is_empty() && last.holds("greeting.txt"), "{}", last.shape());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_that_is_named_is_attached_when_its_name_is_over_and_at_the_end() -> Result<()> {
    let chat = scene().await;
    // What it is called does not matter.
    put(&chat.scene, "picture.dat", &png(2, 500));
    let terminal = &mut chat.open(USUAL, &[]).await?;
    terminal.type_in("Compare @\"my shot.png\" with ").await?;
    terminal.until_shows(&format!("> Compare {CHIP} with")).await?;
    terminal.type_in("@picture.dat").await?;
    terminal.until_shows("@picture.dat").await?;
    terminal.press("Escape").await?;
    terminal.press("Enter").await?;
    terminal.until("the answer", |screen| screen.contains("Answer 1.") && rests(screen)).await?;
    let last = last(&chat)?;
    ensure!(files(&last) == [png(1, 3_000), png(2, 500)], "{}", last.shape());
    ensure!(last.holds("with [image 2: picture.dat, 1200×800, 1 KB]"), "{}", last.shape());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_attached_is_said_and_what_was_typed_stays() -> Result<()> {
    let chat = scene().await.set("agent.image_bytes_max=2000");
    put(&chat.scene, "text.png", b"hello");
    let terminal = &mut chat.open(USUAL, &[]).await?;
    terminal.type_in("Half a thought about @text.png").await?;
    terminal.until_shows("> Half a thought about @text.png").await?;
    terminal.press("Escape").await?;
    terminal.press("Enter").await?;
    terminal
        .until("the reason", |screen| {
            screen.contains("text.png is no image that can be sent")
                && screen.contains("> Half a thought about @text.png")
        })
        .await?;
    terminal.press("C-u").await?;
    drop_text(&chat, terminal, "'my shot.png'").await?;
    terminal
        .until("the reason", |screen| {
            screen.contains("my shot.png has 3,024 bytes, and an image may have 2,000")
                && screen.contains("> 'my shot.png'")
        })
        .await?;
    ensure!(chat.scene.model.turns().is_empty(), "nothing was sent");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn words_whose_image_a_model_refuses_are_in_the_input_again() -> Result<()> {
    let chat = scene().await.set("agent.model=text-only-1");
    let terminal = &mut chat.open(USUAL, &[]).await?;
    say_and_wait(terminal, "Hello", "Answer 1.").await?;
    terminal.type_in("Look at ").await?;
    drop_text(&chat, terminal, "'my shot.png'").await?;
    terminal.until_shows(CHIP).await?;
    terminal.press("Enter").await?;
    terminal
        .until("the words", |screen| {
            screen.contains("your words are not part of the session") && screen.contains(&format!("> Look at {CHIP}"))
        })
        .await?;
    terminal.press("C-u").await?;
    say_and_wait(terminal, "Then without", "Answer 2.").await?;
    let last = chat.scene.model.turns().pop().context("nothing was sent")?;
    ensure!(!last.holds("Look at") && files(&last).is_empty(), "{}", last.shape());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_in_a_draft_is_there_after_a_kill_and_if_its_file_is_gone_that_is_said() -> Result<()> {
    let chat = scene().await;
    let kept = || {
        let mut kept = std::fs::read_dir(chat.scene.data().join("chat")).unwrap().flatten();
        kept.any(|file| {
            std::fs::read_to_string(file.path())
                .is_ok_and(|text| text.starts_with("See @\"/") && text.trim_end().ends_with("my shot.png\""))
        })
    };
    let mut terminal = chat.open(USUAL, &[]).await?;
    terminal.type_in("See ").await?;
    drop_text(&chat, &terminal, "'my shot.png'").await?;
    terminal.until_shows(CHIP).await?;
    let waiting = async {
        while !kept() {
            tokio::time::sleep(POLL).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.context("the draft has no path of the image")?;
    kill_process(Pid::from_raw(terminal.process().await?).unwrap(), Signal::KILL)?;
    drop(terminal);

    let mut terminal = chat.open(USUAL, &[]).await?;
    terminal.until_shows(&format!("> See {CHIP}")).await?;
    kill_process(Pid::from_raw(terminal.process().await?).unwrap(), Signal::KILL)?;
    drop(terminal);

    std::fs::remove_file(chat.scene.file("my shot.png"))?;
    let mut terminal = chat.open(USUAL, &[]).await?;
    terminal.until("what is gone", |screen| screen.contains("is not there") && screen.contains("> See @\"/")).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_that_is_sent_during_a_turn_waits_and_comes_back_after_an_interrupt() -> Result<()> {
    let chat = ChatScene::start(greeting_model()).await.set("agent.approval=all");
    put(&chat.scene, "my shot.png", &png(1, 3_000));
    let terminal = &mut chat.open(USUAL, &[]).await?;
    terminal.say("Take your time").await?;
    terminal.until_shows("shell sleep 600").await?;
    terminal.type_in("Steer here ").await?;
    drop_text(&chat, terminal, "'my shot.png'").await?;
    terminal.until_shows(CHIP).await?;
    terminal.press("Enter").await?;
    terminal.until_shows(&format!("waits: Steer here {CHIP}")).await?;
    terminal.press("Escape").await?;
    terminal.until_shows(&format!("> Steer here {CHIP}")).await?;
    terminal.press("Enter").await?;
    terminal.until("the answer", |screen| screen.contains("I steer.") && rests(screen)).await?;
    ensure!(files(&last(&chat)?) == [png(1, 3_000)]);
    Ok(())
}

/// A chat that finds these programs and no others.
async fn open_with_programs(chat: &ChatScene, programs: &[(&str, &str)]) -> Result<TmuxTerminal> {
    let folder = chat.scene.home().join("programs");
    std::fs::create_dir_all(&folder)?;
    for (name, script) in programs {
        std::fs::write(folder.join(name), script)?;
        std::fs::set_permissions(folder.join(name), std::fs::Permissions::from_mode(0o755))?;
    }
    let program = chat.scene.command(&["chat"]);
    let program = program.as_std();
    // The terminal itself is found as always.
    let mut shell = tokio::process::Command::new("sh");
    shell.env_clear().envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.env("NO_COLOR", "1").current_dir(program.get_current_dir().context("no folder")?);
    shell.args(["-c", "PATH=\"$0\" exec \"$@\""]).arg(&folder).arg(program.get_program()).args(program.get_args());
    let mut terminal = TmuxTerminal::start(chat.scene.home(), &shell, USUAL).await?;
    terminal.until("the input", |screen| screen.contains("\n>")).await?;
    Ok(terminal)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_image_on_the_clipboard_is_attached_by_a_key() -> Result<()> {
    let chat = scene().await;
    let image = chat.scene.home().join("clipboard.png");
    std::fs::write(&image, png(9, 700))?;
    // The one that comes first has no image, and says so by failing.
    let none = "#!/bin/sh\nexit 1\n";
    let some = format!(
        "#!/bin/sh\n[ \"$*\" = '-selection clipboard -t image/png -o' ] && exec /bin/cat '{}'\n",
        image.display()
    );
    let terminal = &mut open_with_programs(&chat, &[("wl-paste", none), ("xclip", &some)]).await?;
    terminal.type_in("See ").await?;
    terminal.press("C-v").await?;
    terminal.until_shows("> See [image 1: clipboard, 1200×800, 1 KB]").await?;
    terminal.press("Enter").await?;
    terminal.until("the answer", |screen| screen.contains("Answer 1.") && rests(screen)).await?;
    ensure!(files(&last(&chat)?) == [png(9, 700)]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_program_for_the_clipboard_it_says_what_to_install() -> Result<()> {
    let chat = scene().await;
    let terminal = &mut open_with_programs(&chat, &[]).await?;
    terminal.press("C-v").await?;
    terminal
        .until("the programs", |screen| {
            ["wl-clipboard", "xclip", "pngpaste"].iter().all(|program| screen.contains(program))
        })
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_interrupted_is_part_of_what_the_model_sees() -> Result<()> {
    let mut stalled = Step::calling("Let me begin.", [("read", serde_json::json!({"path": "x".repeat(20_000)}))]);
    stalled.fault = Some(Fault::StallAfter { bytes: 4_000 });
    let chat = ChatScene::start(Script::new([stalled, Step::text("As you wish.")])).await;
    let terminal = &mut chat.open(USUAL, &[]).await?;
    terminal.say("Start").await?;
    terminal.until_shows("Let me begin.").await?;
    terminal.press("Escape").await?;
    terminal.until("the end", |screen| screen.contains("interrupted: say how to go on") && rests(screen)).await?;
    say_and_wait(terminal, "Something else", "As you wish.").await?;
    let last = last(&chat)?;
    ensure!(last.holds("Let me begin.") && last.holds("interrupted here"), "{}", last.shape());
    Ok(())
}
