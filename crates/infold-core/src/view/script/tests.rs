//! What is read from scripts: their source, what they printed, and their stored calls.

use serde_json::{Value, json};

use super::*;
use crate::view::tests::text::{branch, key};

fn opened(number: u8) -> Value {
    json!({"branch_id": branch(number), "budget_allocated": 8192, "depth": 1})
}

fn returned(number: u8) -> Value {
    json!({"success": true, "message": "it is {here}", "branch_id": branch(number), "status": "completed"})
}

fn wrapped(answer: &Value) -> String {
    json!({"content": [{"type": "text", "text": answer.to_string()}], "structuredContent": answer}).to_string()
}

fn beside_of(printed: &str) -> Option<String> {
    beside(printed, &[&branch(1), &branch(2)])
}

const DONE: &str = "Script completed\nWall time 0.4 seconds\nOutput:\n\n";

#[test]
fn a_script_that_printed_our_answers_printed_nothing_beside_them() {
    for answer in [opened(1), returned(2)] {
        assert_eq!(beside_of(&format!("{DONE}{answer}")), None);
        assert_eq!(beside_of(&format!("{DONE}{}", wrapped(&answer))), None);
        assert_eq!(beside_of(&format!("{DONE}{}\n{answer}\n", wrapped(&answer))), None);
    }
    assert_eq!(beside_of(DONE), None);
    assert_eq!(beside_of(""), None);
}

#[test]
fn what_it_printed_beside_them_stays_word_for_word() {
    let code = "fn main() { if x { y } }\n{\"not\": \"ours\"}";
    assert_eq!(beside_of(&format!("{DONE}{code}\n{}\nend", wrapped(&opened(1)))), Some(format!("{code}\n\nend")));
    // An answer about another branch stays.
    let other = wrapped(&opened(3));
    assert_eq!(beside_of(&format!("{DONE}{other}")), Some(other.clone()));
    // An object that holds more than an answer stays whole.
    let more = json!({"opened": opened(1), "files": ["a.rs"]}).to_string();
    assert_eq!(beside_of(&format!("{DONE}{more}")), Some(more.clone()));
    let failed = "Script failed\nWall time 0.1 seconds\nOutput:\nScript error:\nTypeError";
    assert_eq!(beside_of(failed).as_deref(), Some(failed));
}

#[test]
fn a_tool_is_spelled_as_the_script_calls_it() {
    let source = "const x = ALL_TOOLS; // tools.branch_create\nawait tools.mcp__infold__branch_create ({a: 1})";
    assert_eq!(spelled(source, OwnTool::BranchCreate), Some("mcp__infold__branch_create"));
    assert_eq!(spelled(source, OwnTool::BranchReturn), None);
    assert_eq!(spelled("await exec('rg tools.mcp__infold__branch_create src')", OwnTool::BranchCreate), None);
    assert_eq!(spelled("tools.mcp__my__rebranch_create()", OwnTool::BranchCreate), None);
}

fn acts(tool: &str, source: &str, printed: &str, known: &StoredDecisions) -> Vec<String> {
    let call = CallBlock { id: "x1".into(), tool: tool.to_owned().into(), arguments: Some(source.to_owned().into()) };
    let result = ResultBlock {
        call: "x1".into(),
        content: crate::view::BlockKey([0; 16]),
        content_bytes: printed.len(),
        text: Some(printed.to_owned().into()),
        loads: Vec::new(),
        remarks: Vec::new(),
    };
    let mut scripts = Scripts::default();
    let acts = scripts.acts(&call, &result, known, &key());
    let name = |act: &Act| match act {
        Act::Open(_) => "open",
        Act::Return(_) => "return",
        Act::RollBack(_) => "roll back",
    };
    acts.iter().map(|act| format!("{} {}", name(act), act.branch())).collect()
}

const CALLS: &str = "tools.mcp__infold__branch_create({}); tools.mcp__infold__branch_return({})";

#[test]
fn without_a_store_printed_answers_show_what_a_script_did() {
    let printed = format!("{DONE}{}\nfn a() {{}}\n{}", wrapped(&opened(1)), wrapped(&returned(1)));
    let none = StoredDecisions::default();
    let both = [format!("open {}", branch(1)), format!("return {}", branch(1))];
    assert_eq!(acts("exec", CALLS, &printed, &none), both);
    assert!(acts("exec", "text(await tools.exec_command({cmd: 'cat log'}))", &printed, &none).is_empty());
    assert!(acts("other", CALLS, &printed, &none).is_empty());
    // An id that this database did not make counts for nothing.
    assert!(acts("exec", CALLS, &printed.replace("br_", "br_0"), &none).is_empty());
}

#[test]
fn of_a_session_that_the_store_knows_only_its_own_branches_count() {
    let known = crate::view::tests::text::known().open(2, "").0;
    assert!(acts("exec", CALLS, &wrapped(&opened(1)), &known).is_empty());
    assert_eq!(acts("exec", CALLS, &wrapped(&opened(2)), &known), [format!("open {}", branch(2))]);
}

#[test]
fn stored_calls_of_a_script_count_and_not_what_it_printed() {
    let mut known = StoredDecisions::default();
    let call = |tool: &str, answer: Value| ScriptedCall {
        tool: tool.to_owned(),
        arguments: "{}".to_owned(),
        answer: answer.to_string(),
    };
    known.scripted.insert("x1".to_owned(), vec![call("branch_create", opened(1)), call("branch_return", returned(1))]);
    let both = [format!("open {}", branch(1)), format!("return {}", branch(1))];
    assert_eq!(acts("exec", "nothing", "", &known), both);
    assert_eq!(acts("wait", "{\"cell_id\":\"4\"}", &wrapped(&opened(2)), &known), both);
}
