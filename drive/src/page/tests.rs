//! What counts as a sound page.

use super::*;

fn seen(lines: usize, bars: usize, console: &[&str]) -> Seen {
    let (lines, bars) = ("<path d=\"M0 0L1 1\"></path>".repeat(lines), "<div class=\"track\"></div>".repeat(bars));
    Seen {
        document: format!("<svg>{lines}</svg>{bars}"),
        console: console.iter().map(|line| (*line).to_owned()).collect(),
    }
}

#[test]
fn a_page_with_charts_and_a_silent_console_is_sound() {
    judge(&seen(LINES_MIN, BARS_MIN, &[])).unwrap();
}

#[test]
fn missing_charts_and_complaints_are_found() {
    assert!(judge(&seen(LINES_MIN - 1, BARS_MIN, &[])).is_err());
    assert!(judge(&seen(LINES_MIN, BARS_MIN - 1, &[])).is_err());
    assert!(judge(&seen(LINES_MIN, BARS_MIN, &["INFO:CONSOLE(1)] Uncaught"])).is_err());
}
