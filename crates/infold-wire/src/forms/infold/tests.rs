//! Tests with infold's own log, as it is exported.

use crate::form::Format;
use crate::testing::{as_lines, transcript, unassembled_lines};

const BRANCH: &str = "br_01890a5d-ac96-774b-bcce-b302099a8057";

fn log() -> String {
    [
        r#"{"type":"session_started"}"#.to_owned(),
        operation(r#""main""#, "Read", "one"),
        format!(
            r#"{{"type":"branch_opened","branch":"{BRANCH}","parent":"main","depth":1,"description":"look","brief_tokens":1,"budget_tokens":10,"allocation":"independent","timeout_ms":1000}}"#
        ),
        operation(&format!("\"{BRANCH}\""), "Grep", "two"),
        format!(
            r#"{{"type":"branch_ended","branch":"{BRANCH}","generation":1,"reason":"returned","result":"found","result_tokens":1}}"#
        ),
        operation(r#""main""#, "Edit", "three"),
    ]
    .join("\n")
}

fn operation(thread: &str, tool: &str, result: &str) -> String {
    format!(
        r#"{{"type":"operation_seen","thread":{thread},"operation":{{"tool":"{tool}","call_id":"{result}","arguments":"{{}}","result":"{result}","tokens":3}}}}"#
    )
}

#[test]
fn a_log_is_the_main_thread_with_its_branches_as_subtasks() {
    assert_eq!(
        as_lines(&transcript(&log(), Format::Infold)),
        format!(
            r#"2.0 m0 call one Read {{}}
2.1 m0 result one Read "one"
3.0 m1 call {BRANCH} branch_create {{"description":"look"}}
3.1 m1 result {BRANCH} branch_create succeeded "found"
6.0 m2 call three Edit {{}}
6.1 m2 result three Edit "three"
subtask {BRANCH}
  3.0 m0 person "look"
  4.0 m1 call two Grep {{}}
  4.1 m1 result two Grep "two""#
        )
    );
}

#[test]
fn line_by_line_what_a_branch_did_is_set_aside() {
    let lines = unassembled_lines(&log(), Format::Infold);
    assert!(lines.contains(&format!("{BRANCH}: 4.0 m3 call two Grep {{}}")), "{lines}");
    assert!(lines.starts_with("2.0 m1 call one Read {}"), "{lines}");
}
