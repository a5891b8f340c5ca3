//! Shaping: what stays, what is kept, and in what form.

use insta::assert_snapshot;

use super::*;
use crate::Family;

mod laws;
mod planted;

fn rules() -> ShapeRules {
    ShapeRules::USUAL
}

fn counter() -> Counter {
    Counter::new(Family::Claude)
}

fn of<'a>(tool: &'a str, text: &'a str) -> Sight<'a> {
    Sight { tool, arguments: "{}", text }
}

fn shaped(text: &str, mentions: &Mentions) -> String {
    excerpt(&of("tool", text), mentions, &rules())
}

/// A file as agents read it: each line with its number.
fn numbered(lines: impl IntoIterator<Item = String>) -> String {
    lines.into_iter().enumerate().map(|(at, line)| format!("{:>6}→{line}\n", at + 1)).collect()
}

#[test]
fn what_is_under_both_thresholds_stays() {
    let (empty, mentions) = (Mentions::default(), Mentions::default());
    let stays = |text: &str| shape(&of("shell", text), &mentions, &rules(), counter()) == Shape::Stays;
    assert!(stays("") && stays(&"word ".repeat(614)));
    assert!(!stays(&"a".repeat(3_073)), "output has a lower threshold than files");

    let by_tokens = ShapeRules { threshold_bytes: 1 << 20, output_bytes: 1 << 20, ..rules() };
    let dense = "7f 3a 91 ".repeat(900);
    assert_eq!(shape(&of("shell", &"word ".repeat(900)), &empty, &by_tokens, counter()), Shape::Stays);
    assert!(matches!(shape(&of("shell", &dense), &empty, &by_tokens, counter()), Shape::Offload { .. }));
}

#[test]
fn a_page_that_was_read_back_is_never_offloaded_again() {
    let (page, mentions) = ("x".repeat(60_000), Mentions::default());
    for tool in ["read_result", "mcp__infold__read_result", "infold_read_result"] {
        assert_eq!(shape(&of(tool, &page), &mentions, &rules(), counter()), Shape::Stays, "{tool}");
    }
    let no_page = "x".repeat(5_600_000);
    assert!(matches!(shape(&of("read_result", &no_page), &mentions, &rules(), counter()), Shape::Offload { .. }));
}

#[test]
fn of_a_failed_build_the_errors_the_status_and_the_end_are_kept() {
    let mut text = String::from("Exit code 101\n");
    text.extend((0..200).map(|at| format!("   Compiling library-{} v0.{at}.1\n", at % 100)));
    text.push_str("error[E0308]: mismatched types\n  --> src/replay.rs:412:9\n   |\n412 |         total_bytes\n");
    text.extend((0..50).map(|at| format!("   Compiling other-{at} v0.{at}.1\n")));
    text.push_str("error: could not compile `engine` (lib) due to 1 previous error\n");
    assert_snapshot!(shaped(&text, &Mentions::default()), @r"
    Lines of it:
    Exit code 101
    … line 202:
    error[E0308]: mismatched types
      --> src/replay.rs:412:9
    … line 251:
       Compiling other-45 v0.45.1
       Compiling other-46 v0.46.1
       Compiling other-47 v0.47.1
       Compiling other-48 v0.48.1
       Compiling other-49 v0.49.1
    error: could not compile `engine` (lib) due to 1 previous error
    Names: total_bytes
    ");
}

#[test]
fn of_a_file_the_lines_around_what_was_spoken_of_are_kept() {
    let line = |at: usize| match at {
        150 => "fn reconcile_ledger(entries: &[Entry]) -> Total {".to_owned(),
        151 => "    let carried = opening_balance();".to_owned(),
        at => format!("    step_number_{}(value);", at / 20),
    };
    let text = numbered((0..300).map(line));
    let mut mentions = Mentions::default();
    mentions.say("please fix reconcile_ledger, it forgets the opening balance");
    mentions.show("step_number_3 was seen in another result");
    assert_snapshot!(shaped(&text, &mentions), @r"
    Lines of it:
    … line 146:
        step_number_7(value);
        step_number_7(value);
        step_number_7(value);
        step_number_7(value);
        step_number_7(value);
    fn reconcile_ledger(entries: &[Entry]) -> Total {
        let carried = opening_balance();
        step_number_7(value);
        step_number_7(value);
        step_number_7(value);
        step_number_7(value);
    … line 298:
        step_number_14(value);
        step_number_14(value);
        step_number_14(value);
    Names: step_number_1 step_number_2 step_number_4 step_number_5 step_number_6 step_number_8 step_number_9 step_number_10 step_number_11 step_number_12 step_number_13
    ");
}

/// A file with a function every ten lines, of which each line is another.
fn source(functions: usize) -> Vec<String> {
    let line = |at: usize| match at % 10 {
        0 => format!("fn function_number_{}(value: u32) -> u32 {{", at / 10),
        step => format!("    let step_{step}_of_{} = previous_value + {at};", at / 10),
    };
    (0..functions * 10).map(line).collect()
}

#[test]
fn of_a_file_that_was_read_before_only_what_is_new_is_shown() {
    let mut lines = source(30);
    let mut mentions = Mentions::default();
    mentions.show(&numbered(lines.clone()));
    let read = |lines: &[String], mentions: &Mentions| {
        let text = numbered(lines.to_vec());
        let sight = Sight { tool: "Read", arguments: r#"{"file_path": "src/a.rs"}"#, text: &text };
        assert!(rules().is_over_at_sight(&sight, mentions, counter()));
        match shape(&sight, mentions, &rules(), counter()) {
            Shape::Offload { excerpt } => excerpt,
            Shape::Stays => panic!("it was shown before"),
        }
    };
    assert_snapshot!(read(&lines, &mentions), @"All lines of it were shown before.");
    lines[150] = "fn function_with_another_name() {".to_owned();
    lines.drain(200..260);
    assert_snapshot!(read(&lines, &mentions), @r"
    Lines of it, without those that were shown before:
    … line 150:
        let step_9_of_14 = previous_value + 149;
    fn function_with_another_name() {
        let step_1_of_15 = previous_value + 151;
    ");
    // A part of it, too short for the threshold, is shown once.
    assert_eq!(read(&lines[20..60], &mentions), "All lines of it were shown before.");
    let few = numbered(lines[20..32].to_vec());
    assert_eq!(shape(&of("Read", &few), &mentions, &rules(), counter()), Shape::Stays);
}

#[test]
fn of_a_file_that_a_person_named_more_is_kept() {
    let text = numbered(source(60));
    let sight = Sight { tool: "Read", arguments: r#"{"file_path": "/home/me/src/ledger.rs"}"#, text: &text };
    let kept = |name: fn(&mut Mentions)| {
        let mut mentions = Mentions::default();
        name(&mut mentions);
        mentions.say("step_4_of_20 and step_4_of_40 are wrong");
        excerpt(&sight, &mentions, &rules()).lines().filter(|line| line.contains("previous_value")).count()
    };
    let said = kept(|mentions| mentions.say("I look at src/ledger.rs"));
    let asked = kept(|mentions| mentions.ask("mend src/ledger.rs"));
    assert!(said < 30 && asked > 70, "{said} and {asked} lines");
}

#[test]
fn of_a_search_the_names_and_the_end_are_kept() {
    let text: String = (0..120)
        .map(|at| format!("src/part_{}/mod.rs:{}:    call_{}_site(error)\n", at / 40, 1 + at % 40, at / 9))
        .collect();
    assert_snapshot!(shaped(&text, &Mentions::default()), @r"
    Lines of it:
    …
    src/part_2/mod.rs:39:    call_13_site(error)
    src/part_2/mod.rs:40:    call_13_site(error)
    Found: src/part_0/mod.rs:1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40 src/part_1/mod.rs:1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40 src/part_2/mod.rs:1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21
    Names: call_1_site call_2_site call_3_site call_4_site call_5_site call_6_site call_7_site call_8_site call_9_site call_10_site call_11_site call_12_site
    ");
}

#[test]
fn names_that_are_known_or_shown_are_not_listed() {
    let text =
        format!("{}\nfirst_name second_name src/third_name.rs 48231 {}\n", "x ".repeat(3_000), "word ".repeat(200));
    assert_eq!(
        shaped(&text, &Mentions::default()).lines().last(),
        Some("Names: first_name second_name src/third_name.rs 48231")
    );
    let mut mentions = Mentions::default();
    mentions.show("first_name");
    mentions.say_arguments(r#"{"command": "grep\nsecond_name", "limit": 48231}"#);
    assert_eq!(shaped(&text, &mentions).lines().last(), Some("Names: src/third_name.rs"));
}

#[test]
fn every_pattern_compiles() {
    assert!(marks::compile());
}

#[test]
fn what_is_said_above_what_is_known_leaves_it_as_it_was() {
    let mut known = Mentions::default();
    known.show("first_name\na line that was shown before");
    let known = std::sync::Arc::new(known);
    let mut more = Mentions::above(std::sync::Arc::clone(&known));
    more.say("first_name and second_name");
    more.show("another line that is shown now");
    assert!(more.has("first_name") && more.has_said("first_name") && more.has("second_name"));
    assert!(
        more.has_shown_line("a line that was shown before") && more.has_shown_line("another line that is shown now")
    );
    assert!(!known.has_said("first_name") && !known.has("second_name"));
    assert!(!known.has_shown_line("another line that is shown now"));
    assert!(more.bytes() > 0);
}
