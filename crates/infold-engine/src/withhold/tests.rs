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
