//! An answer that is interrupted: what the model had said by then is part of the session.

use infold_testkit::model::{Fault, Script, ShownKind, Step};
use rustix::process::Signal;
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, BufReader};

use super::scene::{ASKED, Scene, signal};
use crate::support::PATIENCE;

const PROVIDERS: [&str; 4] = ["anthropic", "openai", "openai-chat", "ollama"];

/// Words, and a call that never comes to its end.
pub fn breaking_off(words: &str) -> Step {
    let call = ("write", json!({"path": "long.txt", "content": "never written ".repeat(2_000)}));
    let mut step = Step::calling(words, [call]).reasoning("I think about it.");
    step.fault = Some(Fault::StallAfter { bytes: 8_000 });
    step
}

#[tokio::test]
async fn what_a_model_had_said_before_it_was_interrupted_is_in_the_next_request() {
    for provider in PROVIDERS {
        let steps = [breaking_off("I begin with the first file."), Step::text("Stopped."), Step::text("On.")];
        let scene = Scene::start(Script::new(steps)).await;
        let mut child = scene.begin(&["--provider", provider, ASKED]);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let reading = async {
            while let Some(line) = lines.next_line().await.unwrap() {
                if line.contains("I begin with") {
                    return;
                }
            }
            panic!("{provider}: it ended without a word");
        };
        tokio::time::timeout(PATIENCE, reading).await.expect("the words come");
        signal(&child, Signal::INT);
        let rest = async { while lines.next_line().await.unwrap().is_some() {} };
        tokio::time::timeout(PATIENCE, rest).await.expect("the run ends");
        assert_eq!(child.wait().await.unwrap().code(), Some(130), "{provider}");

        scene.exec(&["--provider", provider, "--continue", "Stop that."]).await.finished(0);
        scene.exec(&["--provider", provider, "--continue", "Go on."]).await.finished(0);
        let turns = scene.turns();
        for turn in &turns[1..] {
            let shown = turn.shown();
            let said =
                |kind, words: &str| shown.iter().position(|piece| piece.kind == kind && piece.text.contains(words));
            let words = said(ShownKind::Assistant, "I begin with the first file.");
            let note = said(ShownKind::User, "interrupted here");
            let next = said(ShownKind::User, "Stop that.");
            assert!(words.is_some() && words < note && note <= next, "{provider}: {}", turn.shape());
            assert!(!turn.holds("never written") && !turn.holds("I think about it."), "{provider}: {}", turn.shape());
        }
        assert_eq!(turns.len(), 3, "{provider}");
    }
}
