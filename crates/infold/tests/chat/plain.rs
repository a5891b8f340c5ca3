//! `infold chat --plain`: line by line.

use std::process::Stdio;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};

use super::scene::{ChatScene, greeting_model};
use crate::agent::images::{files, png, put};
use crate::support::PATIENCE;

struct PlainTerminal {
    child: Child,
    input: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    said: Vec<String>,
}

impl PlainTerminal {
    fn open(chat: &ChatScene, arguments: &[&str]) -> Self {
        let all: Vec<&str> = ["chat", "--plain"].into_iter().chain(arguments.iter().copied()).collect();
        let mut child = chat.scene.command(&all).stdin(Stdio::piped()).spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, input, lines, said: Vec::new() }
    }

    async fn say(&mut self, line: &str) {
        self.input.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    async fn until(&mut self, words: &str) {
        loop {
            let line = tokio::time::timeout(PATIENCE, self.lines.next_line()).await;
            let line = line.unwrap_or_else(|_| panic!("{words} did not come: {:#?}", self.said)).unwrap();
            let line = line.unwrap_or_else(|| panic!("it ended before {words}: {:#?}", self.said));
            let has_come = line.contains(words);
            self.said.push(line);
            if has_come {
                return;
            }
        }
    }
}

#[tokio::test]
async fn a_conversation_line_by_line_asks_answers_and_leaves() {
    let chat = ChatScene::start(greeting_model()).await;
    let mut plain = PlainTerminal::open(&chat, &[]);
    plain.until("/help lists commands").await;
    plain.say("Fix the greeting").await;
    plain.until("May it edit greeting.txt?").await;
    plain.until("+hello, world").await;
    plain.until("Answer yes").await;
    plain.say("yes").await;
    plain.until("The greeting is right").await;
    plain.until("Context: ").await;
    plain.say("Remove it").await;
    plain.until("Answer yes").await;
    plain.say("leave it alone").await;
    plain.until("Then it stays.").await;
    plain.until("Context: ").await;
    plain.say("/cost").await;
    plain.until("4 requests").await;
    plain.say("/nonsense").await;
    plain.until("there is no command /nonsense").await;
    plain.say("/quit").await;
    plain.until("Go on: infold chat --resume").await;
    assert!(plain.child.wait().await.unwrap().success());
    assert!(plain.said.iter().all(|line| !line.contains('\u{1b}')), "no escape sequences");
    assert_eq!(chat.scene.text("greeting.txt"), "hello, world\n");
}

#[tokio::test]
async fn at_the_end_of_its_input_it_finishes_its_turn_and_refuses_what_it_would_ask() {
    let chat = ChatScene::start(greeting_model()).await;
    let mut plain = PlainTerminal::open(&chat, &["Remove it"]);
    drop(plain.input);
    let (input, _) = (plain.child.stdin.take(), ());
    assert!(input.is_none());
    let output = plain.child.wait_with_output().await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(chat.scene.file("greeting.txt").exists());
    plain.lines.next_line().await.unwrap();
}

#[tokio::test]
async fn an_image_that_a_line_names_goes_along() {
    let chat = ChatScene::start(greeting_model()).await;
    put(&chat.scene, "shot.png", &png(1, 3_000));
    put(&chat.scene, "text.png", b"hello");
    let mut plain = PlainTerminal::open(&chat, &[]);
    plain.until("/help lists commands").await;
    plain.say("Hello @text.png").await;
    plain.until("That was not said: text.png is no image").await;
    plain.say("Hello @shot.png").await;
    plain.until("With it goes [image 1: shot.png, 1200×800, 4 KB].").await;
    plain.until("Hello yourself.").await;
    assert_eq!(files(&chat.scene.turns()[0]), [png(1, 3_000)]);
}
