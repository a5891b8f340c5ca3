use super::*;

#[test]
fn commands_are_read_with_what_follows_them() {
    assert_eq!(read("/compact"), Typed::Command(SlashCommand::Compact));
    assert_eq!(read("  /rewind 12 --keep-files "), Typed::Command(SlashCommand::Rewind { to: Some(12), keep_files: true }));
    assert_eq!(read("/rewind"), Typed::Command(SlashCommand::Rewind { to: None, keep_files: false }));
    assert_eq!(read("/model openai/gpt-5.2"), Typed::Command(SlashCommand::Model { named: Some("openai/gpt-5.2".to_owned()) }));
    for (name, ..) in COMMANDS {
        assert!(matches!(read(name), Typed::Command(_)), "{name}");
    }
}

#[test]
fn what_is_no_command_is_said_or_is_for_the_model() {
    assert_eq!(read("why does /compact exist?"), Typed::Words);
    assert_eq!(read("/usr/bin/env is missing"), Typed::Words);
    assert!(matches!(read("/compcat"), Typed::Wrong(_)));
    assert!(matches!(read("/compact now"), Typed::Wrong(_)));
    assert!(matches!(read("/rewind twelve"), Typed::Wrong(_)));
}
