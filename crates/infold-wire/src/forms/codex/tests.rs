//! Tests with lines as Codex writes them, and what the model saw of them.

use infold_core::transcript::{Item, Kind};

use crate::form::Format;
use crate::testing::{as_lines, transcript};

fn line(kind: &str, payload: &str) -> String {
    format!("{{\"timestamp\":\"2026-01-01T00:00:00Z\",\"type\":\"{kind}\",\"payload\":{payload}}}\n")
}

fn item(payload: &str) -> String {
    line("response_item", payload)
}

fn tokens(total: u32, input: u32, cached: u32) -> String {
    line(
        "event_msg",
        &format!(
            r#"{{"type":"token_count","info":{{"total_token_usage":{{"input_tokens":{total},"output_tokens":5}},"last_token_usage":{{"input_tokens":{input},"cached_input_tokens":{cached},"output_tokens":5}}}}}}"#
        ),
    )
}

fn read(text: &str) -> String {
    as_lines(&transcript(text, Format::Codex))
}

#[test]
fn items_are_read_and_events_that_repeat_them_are_not() {
    let text = [
        line("session_meta", r#"{"id":"0199","cwd":"/x"}"#),
        line("turn_context", r#"{"model":"gpt","summary":"none"}"#),
        item(r#"{"type":"message","role":"developer","content":[{"type":"input_text","text":"rules"}]}"#),
        item(r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>x"}]}"#),
        item(r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]}"#),
        line("event_msg", r#"{"type":"user_message","message":"go"}"#),
        item(r#"{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"content":null,"encrypted_content":"abcdef"}"#),
        item(r#"{"type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"ls\"}","call_id":"c1"}"#),
        tokens(100, 100, 60),
        tokens(100, 100, 60),
        item(r#"{"type":"function_call_output","call_id":"c1","output":"Chunk ID: 1\nWall time: 0\nProcess exited with code 2\nOutput:\nProcess exited with code 0"}"#),
        item(r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"done"}]}"#),
        tokens(220, 120, 100),
    ]
    .concat();
    assert_eq!(
        read(&text),
        r#"3.0 m0 system "rules"
4.0 m1 client "<environment_context>x"
5.0 m2 person "go"
7.0 m3 thought "hm" sealed 6
8.0 m4 call c1 exec_command {"cmd":"ls"}
11.0 m5 result c1 exec_command failed "Chunk ID: 1\nWall time: 0\nProcess exited with code 2\nOutput:\nProcess exited with code 0"
12.0 m6 model "done"
request at 3: gpt 40+60+0 -> 5
request at 6: gpt 20+100+0 -> 5"#
    );
    assert_eq!(transcript(&text, Format::Codex).session.as_deref(), Some("0199"));
}

#[test]
fn every_kind_of_call_has_its_result() {
    let text = [
        item(r#"{"type":"custom_tool_call","name":"apply_patch","input":"*** Begin","call_id":"c1"}"#),
        item(r#"{"type":"custom_tool_call_output","call_id":"c1","output":"{\"output\":\"ok\",\"metadata\":{\"exit_code\":0}}"}"#),
        item(r#"{"type":"local_shell_call","call_id":"c2","action":{"type":"exec","command":["ls"]}}"#),
        item(r#"{"type":"function_call_output","call_id":"c2","output":[{"type":"input_text","text":"a"},{"type":"input_image","image_url":"data:x"}]}"#),
        item(r#"{"type":"web_search_call","id":"w1","status":"completed","action":{"query":"q"}}"#),
        item(r#"{"type":"tool_search_call","call_id":"c3","arguments":{"query":"q"}}"#),
        item(r#"{"type":"tool_search_output","call_id":"c3","tools":[{"name":"x"}]}"#),
        item(r#"{"type":"function_call","namespace":"mcp__wiki","name":"ask","arguments":"{}","call_id":"c4"}"#),
        item(r#"{"type":"function_call_output","call_id":"c4","output":"yes"}"#),
        item(r#"{"type":"something_new","a": 1}"#),
    ]
    .concat();
    assert_eq!(
        read(&text),
        r#"1.0 m0 call c1 apply_patch *** Begin
2.0 m1 result c1 apply_patch succeeded "ok"
3.0 m2 call c2 local_shell {"type":"exec","command":["ls"]}
4.0 m3 result c2 local_shell "a"
4.0 m3 other input_image {"type":"input_image","image_url":"data:x"}
5.0 m4 call w1 web_search {"query":"q"}
5.0 m4 result w1 web_search succeeded ""
6.0 m5 call c3 tool_search {"query":"q"}
7.0 m6 result c3 tool_search "[{\"name\":\"x\"}]"
8.0 m7 call c4 mcp__wiki__ask {}
9.0 m8 result c4 mcp__wiki__ask "yes"
10.0 m9 other something_new {"type":"something_new","a": 1}"#
    );
}

#[test]
fn a_compaction_keeps_what_it_lists_but_its_own_summary() {
    let listed = |text: &str| {
        format!(r#"{{"type":"message","role":"user","content":[{{"type":"input_text","text":"{text}"}}]}}"#)
    };
    let text = line(
        "compacted",
        &format!(r#"{{"message":"sum","replacement_history":[{},{}]}}"#, listed("go"), listed("sum")),
    ) + &line(
        "compacted",
        &format!(
            r#"{{"message":"","replacement_history":[{},{{"type":"compaction","encrypted_content":"x"}}]}}"#,
            listed("go")
        ),
    );
    assert_eq!(read(&text), "1.0 m0 compaction Some(\"sum\") kept [\"go\"]\n2.0 m1 compaction None kept [\"go\"]");
}

#[test]
fn the_client_says_which_user_parts_are_its_own() {
    let text = item(
        r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_text","text":"b"}],"internal_chat_message_metadata_passthrough":{"content_item_kinds":["environments.environment_context","user.text"]}}"#,
    );
    assert_eq!(read(&text), "1.0 m0 client \"a\"\n1.1 m0 person \"b\"");
}

#[test]
fn rollouts_without_envelopes_are_read() {
    let text = concat!(
        "{\"id\":\"1\",\"timestamp\":\"t\",\"instructions\":null}\n",
        "{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"go\"}]}\n",
        "{\"record_type\":\"state\"}\n",
        "{\"type\":\"function_call\",\"name\":\"shell\",\"arguments\":\"{}\",\"call_id\":\"c\"}\n",
    );
    assert_eq!(read(text), "2.0 m0 person \"go\"\n4.0 m1 call c shell {}");
}

#[test]
fn turns_that_were_rolled_back_are_left_out() {
    let said = |text: &str| {
        let role = if text.starts_with('m') { "assistant" } else { "user" };
        item(&format!(r#"{{"type":"message","role":"{role}","content":[{{"type":"input_text","text":"{text}"}}]}}"#))
    };
    let back = |turns: u32| line("event_msg", &format!(r#"{{"type":"thread_rolled_back","num_turns":{turns}}}"#));
    let all = [said("one"), said("m1"), said("two"), said("m2"), said("three"), back(2), said("four")].concat();
    assert_eq!(read(&all), "1.0 m0 person \"one\"\n2.0 m1 model \"m1\"\n7.0 m2 person \"four\"");
    assert_eq!(read(&[said("one"), back(9), said("two")].concat()), "3.0 m0 person \"two\"");
}

#[test]
fn a_summary_is_found_in_what_a_compaction_lists_and_the_persons_words_outlast_one_that_lists_nothing() {
    let said = |text: &str| {
        format!(r#"{{"type":"message","role":"user","content":[{{"type":"input_text","text":"{text}"}}]}}"#)
    };
    let item = |text: &str| format!(r#"{{"type":"response_item","payload":{}}}"#, said(text));
    let summary = "Another language model started to solve this problem and so on";
    let text = [
        r#"{"type":"session_meta","payload":{"id":"s"}}"#.to_owned(),
        item("first"),
        item("undone"),
        r#"{"type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":1}}"#.to_owned(),
        format!(
            r#"{{"type":"compacted","payload":{{"message":"","replacement_history":[{},{}]}}}}"#,
            said("first"),
            said(summary)
        ),
        item("second"),
        r#"{"type":"compacted","payload":{"message":"all in all"}}"#.to_owned(),
    ]
    .join("\n");
    let compactions: Vec<String> = transcript(&text, Format::Codex)
        .items
        .iter()
        .filter_map(|item| match &item.kind {
            Kind::Compaction { summary, kept } => {
                let kept: Vec<&str> = kept.iter().map(Item::text).collect();
                Some(format!("{summary:?} {kept:?}"))
            }
            _ => None,
        })
        .collect();
    assert_eq!(
        compactions,
        [format!(r#"Some("{summary}") ["first"]"#), r#"Some("all in all") ["first", "second"]"#.to_owned()]
    );
}
