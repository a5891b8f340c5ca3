//! Tests of rewriting lines of Claude Code.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::*;

#[test]
fn links_and_usage_change_and_every_other_byte_stays() {
    let text = r#"{"parentUuid":"p", "type":"assistant","message":{"content":[{"type":"text","text":"\u00e9 old"}],"usage":{"input_tokens":190000}},"sessionId":"old", "n":1.0e2}"#;
    assert_snapshot!(rewrite(text, &[], "new", Some("q")).unwrap(), @r#"{"parentUuid":"q", "type":"assistant","message":{"content":[{"type":"text","text":"\u00e9 old"}],"usage":{"input_tokens":0,"output_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0}},"sessionId":"new", "n":1.0e2}"#);
}

#[test]
fn a_moved_result_leaves_no_second_copy() {
    let text = r#"{"parentUuid":"p","type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"text","text":"long"}],"is_error":true}]},"toolUseResult":{"stdout":"long"},"sessionId":"old"}"#;
    let edits = [(0, LineEdit::Result("a \"reference\"".to_owned()))];
    assert_snapshot!(rewrite(text, &edits, "new", None).unwrap(), @r#"{"parentUuid":null,"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"a \"reference\"","is_error":true}]},"toolUseResult":"moved out of the context by infold","sessionId":"new"}"#);
}

#[test]
fn blocks_go_and_a_line_without_any_goes_whole() {
    let text = r#"{"type":"assistant","message":{"content":[{"type":"thinking","thinking":"t"},{"type":"tool_use","id":"1","input":{"a":"long"}}]}}"#;
    let edits = [(0, LineEdit::Drop), (1, LineEdit::Input(r#"{"a":"s"}"#.to_owned()))];
    assert_snapshot!(rewrite(text, &edits, "new", None).unwrap(), @r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"1","input":{"a":"s"}}]}}"#);
    assert_eq!(rewrite(text, &[(0, LineEdit::Drop), (1, LineEdit::Drop)], "new", None), None);
    let note = r#"{"type":"attachment","attachment":{"type":"date"},"sessionId":"old"}"#;
    assert_eq!(rewrite(note, &[(0, LineEdit::Drop)], "new", None), None);
    assert!(rewrite(note, &[], "new", None).is_some());
}

#[test]
fn only_text_can_be_moved() {
    let with =
        |content: Value| json!({"message": {"content": [{"type": "tool_result", "content": content}]}}).to_string();
    assert_eq!(traits(&with(json!("text"))).editable, [true]);
    assert_eq!(traits(&with(json!([{"type": "text", "text": "x"}]))).editable, [true]);
    assert_eq!(traits(&with(json!([{"type": "text", "text": "x"}, {"type": "image"}]))).editable, [false]);
}

#[test]
fn a_line_with_many_blocks_is_gone_over_a_few_times_and_not_once_for_each() {
    let result = |id: u32| json!({"type": "tool_result", "tool_use_id": id.to_string(), "content": "long"});
    let blocks: Vec<Value> = (0..20_000).map(result).collect();
    let text = json!({"type": "user", "uuid": "u", "message": {"content": blocks}}).to_string();
    let edit =
        |part: u32| (part, if part.is_multiple_of(2) { LineEdit::Drop } else { LineEdit::Result("s".to_owned()) });
    let edits: Vec<(u32, LineEdit)> = (0..20_000).map(edit).collect();
    let began = std::time::Instant::now();
    assert_eq!(traits(&text).editable.len(), 20_000);
    let new: Value = serde_json::from_str(&rewrite(&text, &edits, "new", None).unwrap()).unwrap();
    assert_eq!(new["message"]["content"].as_array().unwrap().len(), 10_000);
    // Parsing the whole line once for each block would take minutes.
    assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
}
