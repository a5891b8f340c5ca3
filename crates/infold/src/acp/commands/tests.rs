//! What is a command in an editor, and what is offered.

use super::*;

fn read(words: &str) -> String {
    match typed(words) {
        None => "for the model".to_owned(),
        Some(Ok(command)) => format!("{command:?}"),
        Some(Err(error)) => format!("refused: {}", error.message),
    }
}

#[test]
fn the_commands_of_every_face_are_read_and_those_of_the_editor_s_own_are_refused() {
    assert_eq!(read("/etc/hosts is wrong"), "for the model");
    assert_eq!(read(" /compact \n"), "Common(Compact)");
    assert_eq!(read("/continue"), "Continue");
    assert_eq!(read("/quit"), "refused: the editor itself begins, lists and leaves sessions");
    assert_eq!(read("/nonsense"), "refused: there is no command /nonsense: /help lists them");
}

#[test]
fn every_command_that_is_offered_is_read() {
    for (name, ..) in offered() {
        assert!(matches!(typed(name), Some(Ok(_))), "{name}");
        assert!(help().contains(name), "{name}");
    }
}
