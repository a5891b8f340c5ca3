//! What is offered for what was typed.

use super::*;

fn known() -> KnownWords {
    let files = ["src/main.rs", "src/chat/main_loop.rs", "README.md"].map(str::to_owned).to_vec();
    KnownWords { files, sessions: vec![("5b24".to_owned(), "fix it".to_owned())] }
}

fn offered(line: &str, word: &str) -> Vec<String> {
    let completion = Completion::of(line, word, &known());
    completion.map(|completion| completion.offered.into_iter().map(|(word, _)| word).collect()).unwrap_or_default()
}

#[test]
fn commands_are_offered_at_the_beginning_only() {
    assert_eq!(offered("", "/co"), ["/compact", "/context", "/cost"]);
    assert!(offered("see ", "/co").is_empty());
    assert!(offered("", "/compact").is_empty(), "it is typed already");
}

#[test]
fn files_are_found_by_their_names_first_and_then_by_letters_in_order() {
    assert_eq!(offered("look at ", "@main"), ["@src/main.rs", "@src/chat/main_loop.rs"]);
    assert_eq!(offered("", "@rdm"), ["@README.md"]);
    assert!(offered("", "@zzz").is_empty());
}

#[test]
fn sessions_are_offered_behind_their_command() {
    assert_eq!(offered("/sessions ", "5"), ["5b24"]);
    assert!(offered("", "5").is_empty());
}

#[test]
fn marking_goes_round() {
    let mut completion = Completion::of("", "/co", &known()).unwrap();
    completion.mark_previous();
    assert_eq!(completion.chosen(), "/cost");
    completion.mark_next();
    assert_eq!(completion.chosen(), "/compact");
}
