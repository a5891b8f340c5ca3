//! What shells and scripts rely on: exit codes, streams, colour, completions, manual pages.

use std::process::Stdio;

use super::home::{Home, mode};

#[test]
fn a_command_line_that_cannot_be_understood_ends_with_2() {
    let home = Home::new();
    for arguments in [&[][..], &["nonsense"], &["show"], &["sessions", "--limit", "0"], &["--set", "x", "settings"]] {
        let ended = home.run(arguments);
        assert_eq!((ended.code, ended.stdout.as_str()), (2, ""), "{arguments:?}");
        assert!(ended.stderr.contains("Usage: infold") || ended.stderr.contains("--help"), "{}", ended.stderr);
    }
}

#[test]
fn help_and_version_go_to_standard_output() {
    let home = Home::new();
    let help = home.run(&["--help"]);
    assert_eq!((help.code, help.stderr.as_str()), (0, ""));
    for part in ["Exit codes:", "Examples:", "130  interrupted by a second signal", "INFOLD_DATA"] {
        assert!(help.stdout.contains(part), "{part} is missing from\n{}", help.stdout);
    }
    assert!(home.run(&["--version"]).stdout.starts_with("infold "));
    for command in ["serve", "mcp", "sessions", "show", "settings", "doctor", "count", "scrub", "completions", "man"] {
        assert!(home.run(&[command, "--help"]).stdout.contains("Usage: infold"), "{command}");
    }
}

#[test]
fn help_is_laid_out_for_the_terminal_that_it_is_read_on() {
    let home = Home::new();
    for command in ["run", "connect", "show", "sessions", "top"] {
        for columns in [60, 40] {
            let mut program = home.command(&[command, "-h"]);
            let text = home.ended(program.env("COLUMNS", columns.to_string()).output().unwrap()).stdout;
            let widest = text.lines().max_by_key(|line| line.chars().count()).unwrap();
            assert!(widest.chars().count() <= columns, "{command} at {columns}: {widest:?}");
            // Each line of a paragraph is as full as the first word of the next one allows.
            let paragraph: Vec<&str> = below_options(&text).lines().take_while(|line| !line.is_empty()).collect();
            for two in paragraph.windows(2).filter(|two| !two[0].ends_with(':')) {
                let next = two[1].split_whitespace().next().unwrap();
                assert!(two[0].len() + 1 + next.len() > columns, "{command} at {columns}: {two:?}");
            }
        }
    }
    let mut program = home.command(&["top", "-h"]);
    let text = home.ended(program.env("COLUMNS", "40").output().unwrap()).stdout;
    insta::assert_snapshot!(below_options(&text), @"
    Keys: q quits; up and down select a
    session; s shows or hides other MCP
    servers.

    INPUT, OUTPUT and CACHED are the
    providers' token counts. SAVED is what
    infold removed from prompts, by its own
    estimate. MAIN is how full the main
    thread's window is.

    Examples:
      infold top
      infold top --once
          print once as text, for scripts
      infold top --json | jq
          '.request_totals'
    ");
}

/// The part of a help text below the last option.
fn below_options(help: &str) -> &str {
    let at = help.find("  -q, --quiet").unwrap();
    help[at..].split_once("\n\n").unwrap().1
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let home = Home::new();
    let mut child = home.command(&["settings"]).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let ended = home.ended(child.wait_with_output().unwrap());
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""));
}

#[test]
fn colour_is_for_terminals_unless_it_is_asked_for() {
    let home = Home::new();
    assert!(!home.run(&["settings"]).stdout.contains('\u{1b}'));
    assert!(home.run(&["settings", "--color", "always"]).stdout.contains('\u{1b}'));
    let mut command = home.command(&["settings", "--color", "auto"]);
    let ended = home.ended(command.env("NO_COLOR", "1").output().unwrap());
    assert!(!ended.stdout.contains('\u{1b}'));
}

#[test]
fn completions_name_the_commands() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish"] {
        let ended = home.run(&["completions", shell]);
        assert_eq!(ended.code, 0);
        assert!(ended.stdout.contains("doctor"), "{shell}");
    }
}

#[test]
fn manual_pages_are_printed_or_written() {
    let home = Home::new();
    let page = home.run(&["man"]).stdout;
    assert!(page.contains(".TH infold 1"), "{page}");
    assert!(page.contains("Exit codes"), "{page}");

    let dir = home.join("man1");
    assert_eq!(home.run(&["man", "--dir", dir.to_str().unwrap()]).code, 0);
    for name in ["infold.1", "infold-serve.1", "infold-show.1"] {
        assert!(dir.join(name).exists(), "{name}");
    }
}

#[test]
fn these_work_whatever_the_settings_say() {
    let home = Home::new();
    home.write(".config/infold/settings.toml", "nonsense");
    assert_eq!(home.run(&["completions", "bash"]).code, 0);
    assert_eq!(home.run(&["man"]).code, 0);
    assert_eq!(home.run(&["settings"]).code, 3);
}

#[test]
fn what_is_made_is_for_its_owner_alone_from_the_start() {
    let home = Home::new();
    assert_eq!(home.run_with_input(&["mcp"], b"").code, 0);
    assert_eq!(mode(&home.data()), 0o700);
    for file in std::fs::read_dir(home.data()).unwrap() {
        let path = file.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
}
