//! Tests with entries of very many blocks of unknown kinds. If the entry were parsed once for each block, these tests
//! would take minutes; parsed a few times for all of them, they take a moment.

use infold_core::transcript::{Item, Kind};

use super::{JsonText, elements};
use crate::form::Format;
use crate::testing::transcript;

const BLOCKS: usize = 20_000;

/// A list of tiny blocks, each different.
fn blocks() -> String {
    let blocks: Vec<String> = (0..BLOCKS).map(|at| format!(r#"{{"type":"new","n": {at}}}"#)).collect();
    format!("[{}]", blocks.join(","))
}

/// Checks that the items are the tiny blocks, byte for byte and in order.
fn check<'i>(items: impl Iterator<Item = &'i Item>) {
    let mut found = 0;
    for item in items {
        if let Kind::Other { name, json } = &item.kind {
            assert_eq!((name.as_str(), json.as_str()), ("new", format!(r#"{{"type":"new","n": {found}}}"#).as_str()));
            found += 1;
        }
    }
    assert_eq!(found, BLOCKS);
}

#[test]
fn many_unknown_blocks_of_a_message_are_kept() {
    let blocks = blocks();
    let claude = format!(r#"{{"type":"user","uuid":"a","message":{{"role":"user","content":{blocks}}}}}"#);
    check(transcript(&claude, Format::ClaudeCode).items.iter());
    let anthropic = format!(r#"[{{"role":"user","content":{blocks}}}]"#);
    check(transcript(&anthropic, Format::Anthropic).items.iter());
    let openai = format!(r#"{{"model":"m","input":[{{"type":"message","role":"user","content":{blocks}}}]}}"#);
    check(transcript(&openai, Format::OpenAi).items.iter());
    let opencode = format!(r#"[{{"info":{{"id":"u","role":"user"}},"parts":{blocks}}}]"#);
    check(transcript(&opencode, Format::OpenCode).items.iter());
}

#[test]
fn many_unknown_blocks_of_a_result_are_kept() {
    let blocks = blocks();
    let anthropic =
        format!(r#"[{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t","content":{blocks}}}]}}]"#);
    check(transcript(&anthropic, Format::Anthropic).items.iter());
    let openai =
        format!(r#"{{"model":"m","input":[{{"type":"function_call_output","call_id":"c","output":{blocks}}}]}}"#);
    check(transcript(&openai, Format::OpenAi).items.iter());
}

#[test]
fn many_results_with_one_unknown_block_each_are_kept() {
    let result =
        |at: usize| format!(r#"{{"type":"tool_result","tool_use_id":"t","content":["x",{{"type":"new","n": {at}}}]}}"#);
    let results: Vec<String> = (0..BLOCKS / 2).map(result).collect();
    let text = format!(r#"[{{"role":"user","content":[{}]}}]"#, results.join(","));
    let items = transcript(&text, Format::Anthropic).items;
    assert_eq!(items.len(), BLOCKS);
    assert_eq!(items[BLOCKS - 1].text(), format!(r#"{{"type":"new","n": {}}}"#, BLOCKS / 2 - 1));
}

#[test]
fn many_unknown_items_that_a_compaction_lists_are_kept() {
    let text = format!(
        r#"{{"timestamp":"t","type":"compacted","payload":{{"message":"sum","replacement_history":{}}}}}"#,
        blocks()
    );
    let items = transcript(&text, Format::Codex).items;
    let Kind::Compaction { kept, .. } = &items[0].kind else { panic!("a compaction") };
    check(kept.iter());
}

#[test]
fn unknown_instructions_of_a_request_on_a_line_are_kept() {
    let request = r#"{"messages":[{"role":"user","content":"go"}],"system":[{"type":"new","n": 0}]}"#;
    for text in [format!("{request}\n{request}\n"), format!("{{\"path\":\"/v1/messages\",\"body\":{request}}}\n")] {
        assert_eq!(transcript(&text, Format::Anthropic).items[0].text(), r#"{"type":"new","n": 0}"#);
    }
}

#[test]
fn what_is_no_list_has_no_elements() {
    assert_eq!(elements(r#"{"a":{"b":[1, "x"]}}"#, "/a/b").len(), 2);
    assert!(elements(r#"{"a":{"b":[1]}}"#, "/a").is_empty());
    assert!(elements(r#"{"a":1}"#, "/c").is_empty());
}
#[test]
fn a_value_is_changed_and_the_rest_keeps_its_bytes() {
    let text = r#"{ "a" :1.0e3,  "b":{"c":[1, "é\u00e9" ,3]},"a2":null }"#;
    let mut line = JsonText::new(text);
    let elements = line.elements(&["b", "c"]).unwrap();
    line.set_in(elements[1], &[""; 0], "\"x\"");
    line.set(&["a2"], "7");
    line.set(&["nowhere"], "7");
    assert_eq!(line.finish(), r#"{ "a" :1.0e3,  "b":{"c":[1, "x" ,3]},"a2":7 }"#);
}

#[test]
fn of_a_key_that_comes_twice_the_last_counts() {
    let mut line = JsonText::new(r#"{"a":1,"a":2}"#);
    line.set(&["a"], "3");
    assert_eq!(line.finish(), r#"{"a":1,"a":3}"#);
}

#[test]
fn elements_go_with_a_comma() {
    let text = r#"{"a":[ 1, [2] , {"x":3}, "4" ]}"#;
    for kept in 0..16_u32 {
        let mut line = JsonText::new(text);
        line.retain(&["a"], |at| kept & (1 << at) != 0);
        let value: serde_json::Value = serde_json::from_str(&line.finish()).unwrap();
        let all = [serde_json::json!(1), serde_json::json!([2]), serde_json::json!({"x": 3}), serde_json::json!("4")];
        let wanted: Vec<_> = (0..4).filter(|at| kept & (1 << at) != 0).map(|at| all[at].clone()).collect();
        assert_eq!(value["a"], serde_json::Value::Array(wanted));
    }
}

#[test]
fn what_is_kept_can_be_changed_beside_what_goes() {
    let mut line = JsonText::new(r#"[{"t":"thinking"},{"t":"text","x":1}]"#);
    line.retain(&[], |at| at == 1);
    let elements = line.elements(&[]).unwrap();
    line.set_in(elements[1], &["x"], "2");
    assert_eq!(line.finish(), r#"[{"t":"text","x":2}]"#);
}
