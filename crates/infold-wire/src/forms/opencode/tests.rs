//! Tests with messages as OpenCode exports them, and what the model saw of them.

use crate::form::Format;
use crate::testing::{as_lines, transcript};

fn export(messages: &[&str]) -> String {
    format!("{{\n \"info\": {{\"id\": \"ses_1\"}},\n \"messages\": [\n{}\n]}}", messages.join(",\n"))
}

fn user(id: &str, parts: &str) -> String {
    format!(r#"{{"info":{{"id":"{id}","role":"user","summary":{{"diffs":[]}}}},"parts":[{parts}]}}"#)
}

fn answer(id: &str, extra: &str, parts: &str) -> String {
    format!(
        r#"{{"info":{{"id":"{id}","role":"assistant","modelID":"m","tokens":{{"input":7,"output":2,"reasoning":1,"cache":{{"read":5,"write":3}}}}{extra}}},"parts":[{parts}]}}"#
    )
}

fn tool(id: &str, state: &str) -> String {
    format!(r#"{{"type":"tool","tool":"bash","callID":"{id}","state":{{"input":{{"command":"ls"}},{state}}}}}"#)
}

#[test]
fn a_tool_part_is_a_call_and_its_result() {
    let text = export(&[
        &user("u1", r#"{"type":"text","text":"go"},{"type":"text","text":"now","synthetic":true},{"type":"text","text":"x","ignored":true},{"type":"file","url":"a"}"#),
        &answer(
            "a1",
            "",
            &[
                r#"{"type":"step-start"},{"type":"reasoning","text":"hm","metadata":{"anthropic":{"signature":"abc"}}}"#,
                &tool("c1", r#""status":"completed","output":"ok","metadata":{"exit":0}"#),
                &tool("c2", r#""status":"completed","output":"bad","metadata":{"exit":1}"#),
                &tool("c3", r#""status":"error","error":"no""#),
                &tool("c4", r#""status":"completed","output":"old","time":{"compacted":5}"#),
                &tool("c5", r#""status":"running""#),
                r#"{"type":"step-finish"}"#,
            ]
            .join(","),
        ),
    ]);
    assert_eq!(
        as_lines(&transcript(&text, Format::OpenCode)),
        r#"1.0 m0 person "go"
1.1 m0 client "now"
1.3 m0 other file {"type":"file","url":"a"}
2.1 m1 thought "hm" sealed 3
2.2 m1 call c1 bash {"command":"ls"}
2.2 m1 result c1 bash succeeded "ok"
2.3 m1 call c2 bash {"command":"ls"}
2.3 m1 result c2 bash failed "bad"
2.4 m1 call c3 bash {"command":"ls"}
2.4 m1 result c3 bash failed "no"
2.5 m1 call c4 bash {"command":"ls"}
2.5 m1 result c4 bash succeeded cleared "old"
2.6 m1 call c5 bash {"command":"ls"}
request at 3: m 7+5+3 -> 3"#
    );
    assert_eq!(transcript(&text, Format::OpenCode).session.as_deref(), Some("ses_1"));
}

#[test]
fn a_compaction_keeps_what_follows_the_message_it_names() {
    let text = export(&[
        &user("u1", r#"{"type":"text","text":"go"}"#),
        &user("u2", r#"{"type":"text","text":"tail"}"#),
        &user("u3", r#"{"type":"compaction","auto":true,"tail_start_id":"u2"}"#),
        &answer("a1", r#","summary":true"#, r#"{"type":"text","text":"what was"}"#),
        &user("u4", r#"{"type":"text","text":"on"}"#),
    ]);
    assert_eq!(
        as_lines(&transcript(&text, Format::OpenCode)),
        r#"1.0 m0 person "go"
2.0 m1 person "tail"
4.0 m2 compaction Some("what was") kept ["tail"]
5.0 m3 person "on"
request at 2: m 7+5+3 -> 3"#
    );
}

#[test]
fn the_answer_of_the_message_api_is_a_bare_list() {
    let text = format!("[{}]", user("u1", r#"{"type":"text","text":"go"}"#));
    assert_eq!(as_lines(&transcript(&text, Format::OpenCode)), "1.0 m0 person \"go\"");
}

#[test]
fn what_was_undone_is_left_out() {
    let text = export(&[&user("u1", r#"{"type":"text","text":"go"}"#), &user("u2", r#"{"type":"text","text":"no"}"#)]);
    let undone = text.replace(r#""ses_1""#, r#""ses_1","revert":{"messageID":"u2"}"#);
    assert_eq!(as_lines(&transcript(&undone, Format::OpenCode)), "1.0 m0 person \"go\"");
}
