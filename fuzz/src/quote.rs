//! Notes in a brief: whatever they say, every line of theirs is marked, and without the marks they are what they were.

use infold_core::memory::{Note, QuoteCode, QuoteKey, quote, quoted_text};

/// The sign between two texts of an input: each three are a note's header, title and lesson.
const BETWEEN: char = '\u{1}';

pub(crate) fn check(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let texts: Vec<&str> = text.split(BETWEEN).collect();
    let notes: Vec<Note<'_>> =
        texts.chunks_exact(3).map(|texts| Note { header: texts[0], title: texts[1], lesson: texts[2] }).collect();
    let code = QuoteCode::of(&QuoteKey::derive(&[7; 32]), "br_1", &notes);
    let quoted = quote(&notes, &code);
    if notes.is_empty() {
        assert!(quoted.is_empty(), "nothing was quoted");
        return;
    }

    let ends_line = |c: char| matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}');
    let lines: Vec<&str> = quoted.split(ends_line).collect();
    let ours = lines.iter().filter(|line| !line.starts_with("| ")).count();
    assert_eq!(ours, 4 + notes.len() - 1, "a line has no mark and is not ours");
    assert_eq!(lines[lines.len() - 2], format!("</notes {code}>"), "the quotation is closed where it should be");

    let inside: Vec<&[&str]> = lines[2..lines.len() - 2].split(|line| *line == "|").collect();
    assert_eq!(inside.len(), notes.len(), "there are more or fewer notes");
    for (lines, note) in inside.into_iter().zip(&notes) {
        let back: Vec<&str> = lines.iter().map(|line| &line[2..]).collect();
        assert_eq!(back[1], quoted_text(note.title).replace('\n', " "), "a title changed");
        assert_eq!(back[2..].join("\n"), quoted_text(note.lesson), "a lesson changed");
    }
}
