//! What counts as a sound page.

use super::*;

fn seen(drawing: &str, console: &[&str]) -> Seen {
    Seen {
        document: format!("<svg>{drawing}</svg>").repeat(DRAWINGS_MIN),
        console: console.iter().map(|line| (*line).to_owned()).collect(),
    }
}

#[test]
fn a_page_with_drawings_and_a_silent_console_is_sound() {
    judge(&seen("<path d=''/><rect/>", &[])).unwrap();
}

#[test]
fn empty_drawings_and_complaints_are_found() {
    assert!(judge(&seen("", &[])).is_err());
    assert!(judge(&seen("<path/><rect/>", &["INFO:CONSOLE(1)] Uncaught"])).is_err());
}
