//! Tests with lines as Claude Code writes them, and what the model saw of them.

use crate::form::Format;
use crate::testing::{as_lines, transcript, unassembled_lines};

/// Lines from short forms: uuid, parent, and the other fields as JSON.
fn lines(lines: &[(&str, &str, &str)]) -> String {
    let line = |(uuid, parent, rest): &(&str, &str, &str)| {
        let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
        format!("{{\"parentUuid\":{parent},\"isSidechain\":false,\"sessionId\":\"s1\",{rest},\"uuid\":\"{uuid}\"}}\n")
    };
    lines.iter().map(line).collect()
}

fn user(content: &str) -> String {
    format!(r#""type":"user","message":{{"role":"user","content":{content}}}"#)
}

fn answer(id: &str, block: &str, output_tokens: u32) -> String {
    format!(
        r#""type":"assistant","message":{{"id":"{id}","model":"opus","role":"assistant","content":[{block}],"usage":{{"input_tokens":3,"cache_creation_input_tokens":20,"cache_read_input_tokens":100,"output_tokens":{output_tokens}}}}}"#
    )
}

fn call(id: &str) -> String {
    format!(r#"{{"type":"tool_use","id":"{id}","name":"Bash","input":{{"command":"{id}"}}}}"#)
}

fn result(id: &str, content: &str) -> String {
    user(&format!(r#"[{{"tool_use_id":"{id}","type":"tool_result","content":{content},"is_error":false}}]"#))
}

fn read(text: &str) -> String {
    as_lines(&transcript(text, Format::ClaudeCode))
}

#[test]
fn pieces_of_an_answer_are_one_message_and_its_usage_counts_once() {
    let text = lines(&[
        ("a", "", &user("\"go\"")),
        ("b", "a", &answer("m1", r#"{"type":"thinking","thinking":"hm","signature":"abcd"}"#, 1)),
        ("c", "b", &answer("m1", r#"{"type":"text","text":"yes"}"#, 1)),
        ("d", "c", &answer("m1", &call("t1"), 9)),
        ("e", "d", &result("t1", "\"out\"")),
        ("f", "e", &answer("m2", r#"{"type":"text","text":"done"}"#, 4)),
    ]);
    assert_eq!(
        read(&text),
        r#"1.0 m0 person "go"
2.0 m1 thought "hm" sealed 4
3.0 m1 model "yes"
4.0 m1 call t1 Bash {"command":"t1"}
5.0 m2 result t1 Bash succeeded "out"
6.0 m3 model "done"
request at 1: opus 3+100+20 -> 9
request at 5: opus 3+100+20 -> 4"#
    );
}

#[test]
fn calls_made_at_once_are_brought_together_before_their_results() {
    let text = lines(&[
        ("a", "", &user("\"go\"")),
        ("b", "a", &answer("m1", &call("t1"), 1)),
        ("c", "b", &result("t1", "\"one\"")),
        ("d", "b", &answer("m1", &call("t2"), 1)),
        ("e", "d", &result("t2", "[{\"type\":\"text\",\"text\":\"two\"},{\"type\":\"text\",\"text\":\"more\"}]")),
        ("f", "e", &answer("m2", r#"{"type":"text","text":"done"}"#, 4)),
    ]);
    assert_eq!(
        read(&text),
        r#"1.0 m0 person "go"
2.0 m1 call t1 Bash {"command":"t1"}
4.0 m1 call t2 Bash {"command":"t2"}
3.0 m2 result t1 Bash succeeded "one"
5.0 m2 result t2 Bash succeeded "two\nmore"
6.0 m3 model "done"
request at 1: opus 3+100+20 -> 1
request at 5: opus 3+100+20 -> 4"#
    );
    assert_eq!(
        unassembled_lines(&text, Format::ClaudeCode),
        r#"1.0 m0 person "go"
2.0 m1 call t1 Bash {"command":"t1"}
3.0 m2 result t1 Bash succeeded "one"
4.0 m3 call t2 Bash {"command":"t2"}
5.0 m4 result t2 Bash succeeded "two\nmore"
6.0 m5 model "done""#
    );
}

#[test]
fn a_result_that_was_written_before_its_call_comes_after_it() {
    let text = lines(&[
        ("a", "", &user("\"go\"")),
        ("c", "b", &result("t1", "\"one\"")),
        ("b", "a", &answer("m1", &call("t1"), 1)),
        ("f", "c", &answer("m2", r#"{"type":"text","text":"done"}"#, 4)),
    ]);
    let lines = read(&text);
    assert!(lines.contains("m1 call t1 Bash"), "{lines}");
    assert!(lines.contains("m2 result t1 Bash succeeded \"one\""), "{lines}");
}

#[test]
fn what_the_person_went_back_on_is_left_out() {
    let text = lines(&[
        ("a", "", &user("\"first\"")),
        ("b", "a", &answer("m1", r#"{"type":"text","text":"one"}"#, 1)),
        ("c", "b", &user("\"wrong way\"")),
        ("d", "c", &answer("m2", &call("t1"), 1)),
        ("e", "d", &result("t1", "\"wrong\"")),
        ("f", "b", &user("\"right way\"")),
        ("g", "f", &answer("m3", r#"{"type":"text","text":"two"}"#, 1)),
    ]);
    assert_eq!(
        read(&text),
        r#"1.0 m0 person "first"
2.0 m1 model "one"
6.0 m2 person "right way"
7.0 m3 model "two"
request at 1: opus 3+100+20 -> 1
request at 3: opus 3+100+20 -> 1"#
    );
    let again = lines(&[("a", "", &user("\"first\"")), ("b", "", &user("\"other\""))]);
    assert_eq!(read(&again), "2.0 m0 person \"other\"");
}

#[test]
fn a_line_whose_parent_is_missing_follows_the_line_before_it() {
    let text = lines(&[("a", "", &user("\"first\"")), ("b", "gone", &user("\"second\""))]);
    assert_eq!(read(&text), "1.0 m0 person \"first\"\n2.0 m1 person \"second\"");
}

#[test]
fn a_compaction_is_one_item_in_front_of_what_is_attached_to_it() {
    let boundary = r#""type":"system","subtype":"compact_boundary","logicalParentUuid":"c","compactMetadata":{"trigger":"auto","preservedMessages":{"uuids":["b","c"]}}"#;
    let attachment = r#""type":"attachment","attachment":{"type":"date"},"rendered":[{"content":"today"}]"#;
    let summary = r#""type":"user","isCompactSummary":true,"message":{"role":"user","content":"what was"}"#;
    let text = lines(&[
        ("a", "", &user("\"go\"")),
        ("b", "a", &answer("m1", &call("t1"), 1)),
        ("c", "b", &result("t1", "\"out\"")),
        ("d", "", boundary),
        ("e", "d", attachment),
        ("f", "e", summary),
        ("g", "f", &user("\"next\"")),
    ]);
    assert_eq!(
        read(&text),
        r#"1.0 m0 person "go"
2.0 m1 call t1 Bash {"command":"t1"}
3.0 m2 result t1 Bash succeeded "out"
6.0 m3 compaction Some("what was") kept ["{\"command\":\"t1\"}", "out"]
5.0 m4 client "today"
7.0 m5 person "next"
request at 1: opus 3+100+20 -> 1"#
    );
}

#[test]
fn a_boundary_without_a_summary_is_a_compaction_without_one() {
    let boundary = r#""type":"system","subtype":"compact_boundary","logicalParentUuid":"a","compactMetadata":{}"#;
    let text = lines(&[("a", "", &user("\"go\"")), ("d", "", boundary), ("g", "d", &user("\"next\""))]);
    assert_eq!(read(&text), "1.0 m0 person \"go\"\n2.0 m1 compaction None kept []\n3.0 m2 person \"next\"");
    let text = lines(&[("a", "", &user("\"go\"")), ("d", "", boundary)]);
    assert_eq!(read(&text), "1.0 m0 person \"go\"\n2.0 m1 compaction None kept []");
}

#[test]
fn results_that_were_cleared_are_marked() {
    let micro =
        r#""type":"system","subtype":"microcompact_boundary","microcompactMetadata":{"compactedToolIds":["t1","t2"]}"#;
    let cleared = result("t1", "\"[Old tool result content cleared]\"");
    let text = lines(&[
        ("a", "", &user("\"go\"")),
        ("b", "a", &answer("m1", &call("t1"), 1)),
        ("c", "b", &cleared),
        ("d", "c", micro),
        ("e", "d", &user("\"on\"")),
    ]);
    let lines = read(&text);
    assert!(lines.contains("result t1 Bash succeeded cleared"), "{lines}");
    assert!(lines.contains("4.0 m3 clearing [\"t1\", \"t2\"]"), "{lines}");
}

#[test]
fn words_of_the_client_are_distinguished_from_the_persons() {
    let queued = |mode: &str| {
        format!(
            r#""type":"attachment","attachment":{{"type":"queued_command","prompt":"also","commandMode":"{mode}"}}"#
        )
    };
    let text = lines(&[
        ("a", "", &format!("{},\"isMeta\":true", user("\"a skill\""))),
        ("b", "a", &user("\"<command-name>/x</command-name>\"")),
        (
            "c",
            "b",
            &user(r#"[{"type":"text","text":"<system-reminder>x</system-reminder>"},{"type":"text","text":"mine"}]"#),
        ),
        ("d", "c", r#""type":"attachment","attachment":{"type":"nested_memory","content":{"content":"rules"}}"#),
        ("e", "d", &queued("prompt")),
        ("f", "e", &queued("task-notification")),
        ("g", "f", r#""type":"attachment","attachment":{"type":"prompt_snapshot","text":"all"}"#),
        ("h", "g", r#""type":"system","subtype":"turn_duration","content":"3 s""#),
    ]);
    assert_eq!(
        read(&text),
        r#"1.0 m0 client "a skill"
2.0 m1 client "<command-name>/x</command-name>"
3.0 m2 client "<system-reminder>x</system-reminder>"
3.1 m2 person "mine"
4.0 m3 client "rules"
5.0 m4 person "also"
6.0 m5 client "also""#
    );
}

#[test]
fn an_error_of_the_api_is_nothing_that_a_model_said() {
    let error = format!("{},\"isApiErrorMessage\":true", answer("x", r#"{"type":"text","text":"API Error"}"#, 0));
    let text = lines(&[("a", "", &user("\"go\"")), ("b", "a", &error), ("c", "b", &user("\"again\""))]);
    assert_eq!(read(&text), "1.0 m0 person \"go\"\n3.0 m1 person \"again\"");
}

#[test]
fn content_that_is_not_known_is_kept() {
    let image = r#"{"type":"image","source":{"data":"AA=="}}"#;
    let content = format!(
        r#"[{{"tool_use_id":"t1","type":"tool_result","content":[{{"type":"text","text":"a"}},{image}]}},{{"type":"new_thing", "x":1}}]"#
    );
    let text = lines(&[("a", "", &answer("m1", &call("t1"), 1)), ("b", "a", &user(&content))]);
    let lines = read(&text);
    assert!(lines.contains(&format!("2.0 m1 other image {image}")), "{lines}");
    assert!(lines.contains(r#"2.1 m1 other new_thing {"type":"new_thing", "x":1}"#), "{lines}");
}

#[test]
fn subagents_are_subtasks_of_the_calls_that_started_them() {
    let step = |kind: &str, message: &str| {
        format!(
            r#""type":"progress","parentToolUseID":"t1","toolUseID":"x","data":{{"type":"agent_progress","agentId":"ag","message":{{"type":"{kind}","message":{message}}}}}"#
        )
    };
    let task = r#"{"type":"tool_use","id":"t1","name":"Task","input":{"prompt":"look"}}"#;
    let text = lines(&[
        ("a", "", &user("\"go\"")),
        ("b", "a", &answer("m1", task, 1)),
        ("c", "b", &step("user", r#"{"role":"user","content":[{"type":"text","text":"look"}]}"#)),
        ("d", "c", &step("assistant", &format!(r#"{{"id":"m9","content":[{}]}}"#, call("t8")))),
        ("e", "d", &step("user", r#"{"content":[{"type":"tool_result","tool_use_id":"t8","content":"seen"}]}"#)),
        ("f", "b", &result("t1", "\"report\"")),
    ]);
    assert_eq!(
        read(&text),
        r#"1.0 m0 person "go"
2.0 m1 call t1 Task {"prompt":"look"}
6.0 m2 result t1 Task succeeded "report"
request at 1: opus 3+100+20 -> 1
subtask t1
  3.0 m0 person "look"
  4.0 m1 call t8 Bash {"command":"t8"}
  5.0 m2 result t8 Bash "seen""#
    );
}

#[test]
fn sidechains_find_their_call_by_agent_or_by_prompt() {
    let task = r#"{"type":"tool_use","id":"t1","name":"Task","input":{"prompt":"look"}}"#;
    let aside = |uuid: &str, parent: &str, rest: &str, agent: &str| {
        format!("{{\"parentUuid\":{parent},\"isSidechain\":true,{agent}{rest},\"uuid\":\"{uuid}\"}}\n")
    };
    let main = lines(&[("a", "", &user("\"go\"")), ("b", "a", &answer("m1", task, 1))]);
    let nameless = format!(
        "{main}{}{}",
        aside("x", "null", &user("\"look\""), ""),
        aside("y", "\"x\"", &answer("m2", r#"{"type":"text","text":"found"}"#, 1), "")
    );
    assert!(
        read(&nameless).ends_with("subtask t1\n  3.0 m0 person \"look\"\n  4.0 m1 model \"found\""),
        "{}",
        read(&nameless)
    );
    let named = format!(
        "{main}{}{}",
        aside("x", "null", &user("\"something\""), "\"agentId\":\"ag\","),
        lines(&[("z", "b", &format!("{},\"toolUseResult\":{{\"agentId\":\"ag\"}}", result("t1", "\"r\"")))])
    );
    assert!(read(&named).ends_with("subtask t1\n  3.0 m0 person \"something\""), "{}", read(&named));
}

#[test]
fn a_subagents_own_file_is_a_transcript() {
    let line = |uuid: &str, parent: &str, rest: &str| {
        format!("{{\"parentUuid\":{parent},\"isSidechain\":true,\"agentId\":\"ag\",{rest},\"uuid\":\"{uuid}\"}}\n")
    };
    let text = line("x", "null", &user("\"look\""))
        + &line("y", "\"x\"", &answer("m2", r#"{"type":"text","text":"found"}"#, 1));
    assert_eq!(read(&text), "1.0 m0 person \"look\"\n2.0 m1 model \"found\"\nrequest at 1: opus 3+100+20 -> 1");
}
