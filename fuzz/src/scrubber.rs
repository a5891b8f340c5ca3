//! Secrets: a token of a known form is never left, and scrubbing twice changes nothing.

use std::sync::LazyLock;

use infold_core::Scrubber;

static SCRUBBER: LazyLock<Scrubber> = LazyLock::new(|| Scrubber::new([7; 32]));

/// Two bytes say where the token goes, the rest is text.
pub(crate) fn check(input: &[u8]) {
    let Some((place, text)) = input.split_at_checked(2) else { return };
    let text = String::from_utf8_lossy(text);
    let place = text.floor_char_boundary((usize::from(place[0]) << 8 | usize::from(place[1])) % (text.len() + 1));
    // Put together here, so that no scanner takes this file for a leak.
    let token = format!("{}_{}", "ghp", "Q7rT2mXv9LkB4nZc8JpW3sHd6FgY1aEu5oRi");
    let planted = format!("{} {token} {}", &text[..place], &text[place..]);

    for text in [&*text, &planted] {
        let Ok(once) = SCRUBBER.scrub(text) else { continue };
        assert!(!once.as_str().contains(&token), "a token was left");
        let twice = SCRUBBER.scrub(once.as_str()).expect("what was scrubbed can be scrubbed");
        assert!(twice.as_str() == once.as_str(), "scrubbing twice changes what scrubbing once gave");
    }
}
