//! Shaping: which results are shown whole, and what the excerpts of the others hold.

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

fn of<'a>(tool: &'a str, text: &'a str) -> ToolResult<'a> {
    ToolResult { tool, arguments: "{}", text }
}

fn shaped(text: &str, mentions: &Mentions) -> String {
    excerpt(&of("tool", text), mentions, &rules())
}

/// A file as agents read it: each line with its number.
fn numbered(lines: impl IntoIterator<Item = String>) -> String {
    lines.into_iter().enumerate().map(|(at, line)| format!("{:>6}→{line}\n", at + 1)).collect()
}

fn of_file<'a>(path: &'a str, text: &'a str) -> ToolResult<'a> {
    ToolResult { tool: "Read", arguments: path, text }
}

fn is_whole(result: &ToolResult<'_>, mentions: &Mentions) -> bool {
    shape(result, mentions, &rules(), counter()) == Shape::Stays
}

/// Prose of exactly this length.
fn prose(bytes: usize) -> String {
    let mut text: String = (0..bytes / 10).map(|at| format!("word number {at} is here\n")).collect();
    text.truncate(bytes);
    text
}

#[test]
fn what_an_agent_names_is_whole_up_to_32_kib_and_other_output_up_to_8() {
    let mentions = Mentions::default();
    let (file, output, too_long) = (prose(32_768), prose(8_192), prose(8_193));
    let bash = |command: &'static str| format!("{{\"command\":{command:?}}}");
    for (tool, arguments) in [
        ("Read", r#"{"file_path":"/r/a.rs"}"#.to_owned()),
        ("Bash", bash("cat a.rs")),
        ("exec_command", bash("bash -lc \"sed -n '1,900p' a.rs\"")),
        ("Task", "{}".to_owned()),
    ] {
        let of = |text| ToolResult { tool, arguments: &arguments, text };
        assert!(is_whole(&of(&file), &mentions), "{tool}");
        assert!(!is_whole(&of(&prose(32_769)), &mentions), "{tool}");
    }
    let of = |text| ToolResult { tool: "Bash", arguments: r#"{"command":"make"}"#, text };
    assert!(is_whole(&of(&output), &mentions) && !is_whole(&of(&too_long), &mentions));
    let dense = "7f 3a 91 ".repeat(910);
    assert!(is_whole(&of(&dense), &mentions), "however many tokens it has");
    let answer = ToolResult { tool: "AskUserQuestion", arguments: "{}", text: &prose(60_000) };
    assert!(is_whole(&answer, &mentions), "a person's answer is never shortened");
}

#[test]
fn a_file_that_looks_like_another_is_whole_when_it_is_first_seen() {
    let text = numbered(source(40));
    let mut mentions = Mentions::default();
    mentions.show_result("Read", r#"{"file_path": "/r/old/a.rs"}"#, &text);
    mentions.say_arguments(&text);
    assert!(is_whole(&of_file(r#"{"file_path": "/r/new/a.rs"}"#, &text), &mentions));
    assert!(!is_whole(&of_file(r#"{"file_path": "/r/old/a.rs"}"#, &text), &mentions));
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
       |
    412 |         total_bytes
    … line 251:
       Compiling other-45 v0.45.1
       Compiling other-46 v0.46.1
       Compiling other-47 v0.47.1
       Compiling other-48 v0.48.1
       Compiling other-49 v0.49.1
    error: could not compile `engine` (lib) due to 1 previous error
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
    Names: step_number_1 step_number_2
    ");
}

/// A file with a function every ten lines, in which no line occurs twice.
fn source(functions: usize) -> Vec<String> {
    let line = |at: usize| match at % 10 {
        0 => format!("fn function_number_{}(value: u32) -> u32 {{", at / 10),
        step => format!("    let step_{step}_of_{} = previous_value + {at};", at / 10),
    };
    (0..functions * 10).map(line).collect()
}

const PATH: &str = r#"{"file_path": "src/a.rs"}"#;

/// The excerpt of a file that was read before; `None` if it is shown whole.
fn read_again(before: &[String], now: &[String]) -> Option<String> {
    let mut mentions = Mentions::default();
    mentions.show_result("Read", PATH, &numbered(before.to_vec()));
    match shape(&of_file(PATH, &numbered(now.to_vec())), &mentions, &rules(), counter()) {
        Shape::Offload { excerpt } => Some(excerpt),
        Shape::Stays => None,
    }
}

#[test]
fn of_a_file_that_was_read_before_only_what_is_new_is_shown() {
    let mut lines = source(30);
    let before = lines.clone();
    assert_snapshot!(read_again(&before, &lines).unwrap(), @"This file was read before, and nothing in it is new: all is as shown further up.");
    lines[150] = "fn function_with_another_name() {".to_owned();
    assert_snapshot!(read_again(&before, &lines).unwrap(), @r"
    This file was read before. What is new in it, with the lines around; all else is as shown further up:
    … line 149:
        let step_8_of_14 = previous_value + 148;
        let step_9_of_14 = previous_value + 149;
    fn function_with_another_name() {
        let step_1_of_15 = previous_value + 151;
        let step_2_of_15 = previous_value + 152;
        let step_3_of_15 = previous_value + 153;
    ");
    let few = numbered(lines[20..32].to_vec());
    assert!(is_whole(&of_file(PATH, &few), &Mentions::default()));
}

#[test]
fn where_something_was_taken_out_of_a_file_is_shown() {
    let before = source(30);
    let mut lines = before.clone();
    lines.drain(200..260);
    let shown = read_again(&before, &lines).unwrap();
    assert!(shown.contains("step_9_of_19 = previous_value + 199;\nfn function_number_26("), "{shown}");
    assert!(!shown.contains("step_5_of_3 "), "{shown}");
}

#[test]
fn a_file_of_which_much_is_new_is_shown_whole_again() {
    let before = source(30);
    let mut lines = before.clone();
    lines.iter_mut().skip(100).take(120).for_each(|line| line.push_str(" // another"));
    assert_eq!(read_again(&before, &lines), None);
    // What a reference has shown of the file counts as shown, too.
    lines = before.clone();
    lines[150] = "fn function_with_another_name() {".to_owned();
    let mut mentions = Mentions::default();
    mentions.show_result("Read", PATH, &numbered(before));
    let text = numbered(lines);
    for nothing_new in [false, true] {
        let Shape::Offload { excerpt } = shape(&of_file(PATH, &text), &mentions, &rules(), counter()) else {
            panic!("it was read before")
        };
        assert_eq!(excerpt == NOTHING_NEW, nothing_new, "{excerpt}");
        mentions.show_result("Read", PATH, &reference_text("Read", &text, EXAMPLE_HANDLE, &excerpt));
    }
}

#[test]
fn the_odd_one_among_thousands_is_shown_and_no_bare_numbers() {
    let line = |at: usize| match at {
        1_777 => {
            "2026-03-01 10:44:07 worker 7 gave up waiting for the lease of shard 31, retrying elsewhere".to_owned()
        }
        at => format!(
            "2026-03-01 10:{:02}:{:02} worker {} handled item {} in {} ms",
            at / 60 % 60,
            at % 60,
            at % 9,
            at * 37,
            at % 800
        ),
    };
    let text: String = (0..2_818).map(|at| line(at) + "\n").collect();
    let made = shaped(&text, &Mentions::default());
    assert!(made.contains("gave up waiting for the lease of shard 31"), "{made}");
    let names = made.lines().find_map(|line| line.strip_prefix("Names: ")).unwrap_or_default();
    assert!(
        !names.split(' ').any(|name| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit())),
        "{names}"
    );
}

#[test]
fn what_a_client_says_about_a_result_is_shown_whole() {
    let body = |count: usize| (0..count).map(|at| format!("entry {at} of the log is fine\n")).collect::<String>();
    for notice in [
        "The tool call succeeded but the output was truncated. Full output saved to: /home/me/.local/share/opencode/tool-output/tool_e1f8",
        "...24113 bytes truncated...",
        "Output too large (257.8KB). Full output saved to: /home/me/.claude/projects/p/tool-results/bqqw.txt",
        "Total output lines: 2531",
        "Warning: truncated output (original token count: 64406)",
        "[Output exceeded 50000 byte limit (66848 bytes total). Full output saved to /tmp/stdout-6.]",
        "… +184 lines omitted",
    ] {
        for text in [
            format!("{notice}\n{}", body(900)),
            format!("{}{notice}\n{}", body(450), body(450)),
            format!("{}\n{notice}\n", body(900)),
        ] {
            assert!(shaped(&text, &Mentions::default()).lines().any(|line| line == notice), "{notice}");
        }
    }
    let source = "fn output_was_truncated() { say(\"output truncated\") }\n".repeat(900);
    assert!(!shaped(&source, &Mentions::default()).starts_with("fn output_was"), "a text about such things has none");
}

#[test]
fn of_a_file_that_a_person_named_more_is_kept() {
    let text = numbered(source(60));
    let result = ToolResult { tool: "Read", arguments: r#"{"file_path": "/home/me/src/ledger.rs"}"#, text: &text };
    let kept = |name: fn(&mut Mentions)| {
        let mut mentions = Mentions::default();
        name(&mut mentions);
        mentions.say("step_4_of_20 and step_4_of_40 are wrong");
        excerpt(&result, &mentions, &rules()).lines().filter(|line| line.contains("previous_value")).count()
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
    Found: src/part_0/mod.rs:1,2,3,4,5,6,7,8 +32 src/part_1/mod.rs:1,2,3,4,5,6,7,8 +32 src/part_2/mod.rs:1,2,3,4,5,6,7,8 +32
    Names: call_1_site call_2_site
    ");
}

#[test]
fn of_one_long_line_the_records_that_report_an_error_are_shown() {
    let record = |at: usize| format!("{{\"id\":{at},\"status\":\"done\",\"error\":null,\"errors\":[]}}");
    let mut records: Vec<String> = (0..400).map(record).collect();
    records[250] = r#"{"id":250,"status":"failed","why":"lease of shard 31 is gone"}"#.to_owned();
    let text = format!("[{}]", records.join(","));
    assert_snapshot!(shaped(&text, &Mentions::default()), @r#"
    Lines of it:
    [{"id":0,"status":"done","error":null,"errors":[]},…
    … line 1:
    …{"id":250,"status":"failed","why":"lease of shard 31 is gone"},…
    … line 1:
    …{"id":397,"status":"done","error":null,"errors":[]},{"id":398,"status":"done","error":null,"errors":[]},{"id":399,"status":"done","error":null,"errors":[]}]
    "#);
}

#[test]
fn an_error_of_its_own_kind_is_shown_among_thousands_alike_and_the_rest_can_be_found() {
    let mut lines: Vec<String> = (0..4_000).map(|at| format!("ERROR step {at} failed: no lease")).collect();
    lines[2_600] = "thread 'worker-7' panicked at src/pool.rs:219:14:".to_owned();
    let made = shaped(&lines.join("\n"), &Mentions::default());
    assert!(made.contains("panicked at src/pool.rs:219:14:"), "{made}");
    assert!(made.chars().count() < 1_500, "{made}");
    assert_eq!(made.lines().last(), Some("Try pattern \"(?i)error\": 3987 more"));
}

#[test]
fn a_text_that_says_nothing_went_wrong_suggests_nothing() {
    let text: String =
        (0..2_000).map(|at| format!("suite {at}: 12 passed, 0 failed, errors: 0, exit code 0\n")).collect();
    assert!(!shaped(&text, &Mentions::default()).contains("Try pattern"));
}

#[test]
fn names_that_are_known_or_shown_are_not_listed() {
    let text =
        format!("{}\nfirst_name second_name src/third_name.rs 48231 {}\n", "x ".repeat(3_000), "word ".repeat(200));
    assert_eq!(
        shaped(&text, &Mentions::default()).lines().last(),
        Some("Names: first_name second_name src/third_name.rs")
    );
    let mut mentions = Mentions::default();
    mentions.show("first_name");
    mentions.say_arguments(r#"{"command": "grep\nsecond_name", "limit": 48231}"#);
    assert_eq!(shaped(&text, &mentions).lines().last(), Some("Names: src/third_name.rs"));
}

#[test]
fn every_pattern_compiles() {
    assert!(marks::compile() && flagged::compile() && notices::NOTICE.is_some());
    assert!(shell::printed_by("cat a", "").is_some() && shell::commands_in("{cmd: 'x'}") == ["x"]);
}

#[test]
fn what_is_said_above_what_is_known_leaves_it_as_it_was() {
    let mut known = Mentions::default();
    let text = numbered(source(30));
    known.show("first_name");
    known.show_result("Read", PATH, &text);
    let known = std::sync::Arc::new(known);
    let mut more = Mentions::above(std::sync::Arc::clone(&known));
    more.say("first_name and second_name");
    let other = r#"{"file_path": "src/b.rs"}"#;
    more.show_result("Read", other, &text);
    assert!(more.has("first_name") && more.has_said("first_name") && more.has("second_name"));
    assert!(!is_whole(&of_file(PATH, &text), &more) && !is_whole(&of_file(other, &text), &more));
    assert!(!known.has_said("first_name") && !known.has("second_name"));
    assert!(is_whole(&of_file(other, &text), &known));
    assert!(more.bytes() > 0);
}
