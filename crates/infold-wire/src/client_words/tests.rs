//! Tests of finding out who said a text.

use super::*;

#[test]
fn every_line_of_the_data_is_read() {
    let lines = include_str!("../client_words.txt").lines();
    let entries = lines.filter(|line| !line.is_empty() && !line.starts_with('#')).count();
    assert_eq!(OPENINGS.0.len(), entries);
}

#[test]
fn what_clients_add_on_their_own_is_distinguished_from_what_people_say() {
    for (text, words) in [
        ("fix the bug", WordsOwner::Person),
        ("<b>fix</b> the bug", WordsOwner::Person),
        ("  <system-reminder>\nrules\n</system-reminder>", WordsOwner::Client),
        (
            "<system-reminder>\nCalled the Read tool with the following input: {}\n</system-reminder>",
            WordsOwner::Attached,
        ),
        ("<system-reminder>\nResult of calling the Read tool:\n1\tfn\n</system-reminder>", WordsOwner::Attached),
        ("Your response above was cut off mid-stream. Go on.", WordsOwner::Client),
        ("Output token limit hit. Resume.", WordsOwner::Client),
        ("Attached media from tool result:", WordsOwner::Media),
        ("The user sent a new message while you were working:\nstop", WordsOwner::Person),
    ] {
        assert_eq!(words_of(text), words, "{text}");
    }
}

#[test]
fn the_arguments_of_a_slash_command_are_a_persons_words() {
    let command =
        |arguments: &str| format!("<command-name>/review</command-name>\n<command-args>{arguments}</command-args>");
    assert_eq!(words_of(&command("the parser")), WordsOwner::Person);
    assert_eq!(words_of(&command(" ")), WordsOwner::Client);
    assert_eq!(words_of("<command-name>/cost</command-name>"), WordsOwner::Client);
}

#[test]
fn reminders_say_whose_words_they_hold() {
    assert_eq!(reminder_voice("\nThe user sent a new message while you were working:\nstop"), Voice::Person);
    assert_eq!(reminder_voice("\nContents of CLAUDE.md"), Voice::Client);
    assert!(figure("\n<total_tokens>5 tokens left</total_tokens>").is_some());
    assert!(figure("\nContents of CLAUDE.md").is_none());
}

#[test]
fn a_note_of_gooses_is_the_clients_unless_a_person_speaks_behind_it() {
    let note = r#""<info-msg>\nIt is currently 2026-11-16\n</info-msg>""#;
    assert!(is_note(note));
    assert!(!is_note(r#""<info-msg>\nIt is currently 2026-11-16\n</info-msg>\nStop there.""#));
    assert!(!is_note(r#""<info-msg>\n</info-msg>\nWhat is this?\n</info-msg>""#));
    assert_eq!(voice_of("<info-msg>\nIt is currently 2026-11-16\n</info-msg>\nStop there."), Voice::Person);
}
