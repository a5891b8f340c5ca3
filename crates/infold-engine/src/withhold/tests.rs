//! What cannot be searched is withheld, and nothing else.

use crate::ScrubFault;
use crate::tests::{Bench, settings};

use super::*;

async fn shown_by(fault: ScrubFault, texts: &[&str]) -> Result<Vec<String>, ScrubError> {
    let mut settings = settings();
    settings.scrub.fault = fault;
    settings.scrub.timeout_ms = 50;
    settings.scrub.bytes_max = 100;
    let texts = texts.iter().map(|text| (*text).to_owned()).collect();
    let scrubbed = Bench::new(settings).engine.scrub_or_withhold(texts).await?;
    Ok(scrubbed.into_iter().map(Scrubbed::into_string).collect())
}

#[tokio::test]
async fn only_the_text_that_is_too_long_is_withheld() {
    let shown = shown_by(ScrubFault::None, &["short", &"long ".repeat(100)]).await.expect("there is a scrubber");
    assert_eq!(shown[0], "short");
    assert!(
        shown[1].starts_with("[infold withheld 500 bytes here") && shown[1].contains("part of the file"),
        "{shown:?}"
    );
}

#[tokio::test]
async fn a_scrubber_that_breaks_down_or_stalls_shows_nothing_of_a_text() {
    for fault in [ScrubFault::Panic, ScrubFault::Stall] {
        let shown = shown_by(fault, &["a text"]).await.expect("the session goes on");
        assert!(shown[0].starts_with("[infold withheld 6 bytes here") && !shown[0].contains("a text"), "{shown:?}");
    }
}

#[tokio::test]
async fn without_a_scrubber_it_fails() {
    assert_eq!(shown_by(ScrubFault::Missing, &["a text"]).await, Err(ScrubError::Missing));
}

#[tokio::test]
async fn parts_that_are_too_long_together_are_shown_unless_a_secret_goes_across() {
    let mut settings = settings();
    settings.scrub.bytes_max = 200;
    let engine = Bench::new(settings).engine;
    let (start, end) = ("ghp_16C7e42F292c6912", "E7710c838347Ae178B4a");
    let words = "words ".repeat(25);
    let shown = |parts: [String; 2]| {
        let engine = engine.clone();
        async move { engine.scrub_parts_or_withhold(parts.to_vec()).await.expect("there is a scrubber") }
    };
    let harmless = shown([words.clone(), words.clone()]).await;
    assert!(harmless.iter().all(|part| part.as_str() == words), "{harmless:?}");
    let across = shown([format!("{words}{start}"), format!("{end} {words}")]).await;
    assert!(across.iter().all(|part| part.as_str().starts_with("[infold withheld ")), "{across:?}");
}
