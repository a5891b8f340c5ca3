use super::*;

fn read(words: &str) -> String {
    match typed(words) {
        None => "for the model".to_owned(),
        Some(Ok(command)) => format!("{command:?}"),
        Some(Err(error)) => format!("refused: {}", error.message),
    }
}

#[test]
fn what_is_no_command_is_for_the_model() {
    for words in ["/etc/hosts is wrong", "/", "compact", "/compact the file", "/unknown", "a /compact", "/helpful"] {
        assert_eq!(read(words), "for the model", "{words}");
    }
}

#[test]
fn a_command_is_read_with_what_stands_behind_it() {
    assert_eq!(read(" /compact \n"), "Compact");
    assert_eq!(read("/rewind"), "Points");
    assert_eq!(read("/rewind 12"), "Rewind { to: 12, files: PutBack }");
    assert_eq!(read("/rewind 12 keep-files"), "Rewind { to: 12, files: Stay }");
    assert_eq!(read("/rewind twelve"), "refused: twelve is no number of a point: /rewind lists them");
    assert_eq!(read("/rewind 1 2"), "refused: behind the number there may be keep-files, and nothing else");
    assert_eq!(read("/model openai/gpt-5.2"), "Model(\"openai/gpt-5.2\")");
    assert_eq!(read("/model"), "WhichModel");
}

#[test]
fn every_command_that_is_offered_is_read() {
    for (name, ..) in COMMANDS {
        assert!(matches!(typed(&format!("/{name}")), Some(Ok(_))), "{name}");
        assert!(help().contains(&format!("`/{name}")), "{name}");
    }
}
