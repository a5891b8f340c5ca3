//! Tests of what is handed in: which items it becomes, or why it is refused.

use infold_core::transcript::Item;
use serde_json::{Value, json};

use super::read_handed_in;
use crate::form::Format;

fn texts(json: &Value, format: Option<Format>) -> String {
    match read_handed_in(&json.to_string(), format) {
        Ok(items) => items.iter().map(Item::text).collect::<Vec<_>>().join(" | "),
        Err(refused) => format!("transcript {refused}"),
    }
}

fn messages() -> Value {
    json!([{ "role": "user", "content": "hello" }, { "role": "assistant", "content": "good day" }])
}

fn claude_lines() -> Vec<Value> {
    vec![
        json!({ "type": "user", "uuid": "1", "parentUuid": null, "sessionId": "s",
                "message": { "role": "user", "content": "hello" } }),
        json!({ "type": "assistant", "uuid": "2", "parentUuid": "1", "sessionId": "s",
                "message": { "role": "assistant", "content": [{ "type": "text", "text": "good day" }] } }),
    ]
}

#[test]
fn every_way_to_hand_one_in_is_read() {
    let opencode = json!([
        { "info": { "id": "m1", "role": "user" }, "parts": [{ "id": "p1", "type": "text", "text": "hello" }] },
        { "info": { "id": "m2", "role": "assistant" }, "parts": [{ "id": "p2", "type": "text", "text": "good day" }] },
    ]);
    let text: String = claude_lines().iter().map(|line| format!("{line}\n")).collect();
    for handed_in in [
        messages(),
        json!({ "model": "m", "messages": messages() }),
        json!(messages().to_string()),
        opencode.clone(),
        json!({ "info": { "id": "s" }, "messages": opencode }),
        json!(claude_lines()),
        json!(text),
    ] {
        assert_eq!(texts(&handed_in, None), "hello | good day", "{handed_in}");
    }
    let spread = serde_json::to_string_pretty(&claude_lines()).unwrap();
    assert_eq!(read_handed_in(&spread, Some(Format::ClaudeCode)).unwrap().len(), 2);
}

#[test]
fn what_is_wrong_is_said_with_where_it_is() {
    for (handed_in, said) in [
        (json!([]), "transcript is empty: send at least one message"),
        (json!(7), "transcript must be a list of messages, an exported session, or the text of a file"),
        (json!([1]), "transcript has an element that is no object, number 1: send messages only"),
        (
            json!([{ "role": "user", "content": "a" }, [1]]),
            "transcript has an element that is no object, number 2: send messages only",
        ),
    ] {
        assert_eq!(texts(&handed_in, None), said);
    }
    for handed_in in [json!(""), json!("hello"), json!({ "colour": "red" })] {
        let said = texts(&handed_in, None);
        assert!(said.starts_with("transcript cannot be read: "), "{handed_in}: {said}");
    }
    let half = format!("{}\n{{\"type\":\"user\",\n", claude_lines()[0]);
    let said = texts(&json!(half), None);
    assert!(said.starts_with("transcript cannot be read at line 2: "), "{said}");
    let other = texts(&messages(), Some(Format::Codex));
    assert!(other.starts_with("transcript cannot be read: "), "{other}");
}

#[test]
fn an_element_that_would_be_passed_over_is_refused() {
    for (element, said) in [
        (json!({ "content": "b" }), "it has neither role nor type nor info; send messages as their client keeps them"),
        (json!({ "role": "pope", "content": "b" }), "its role is none; use user, assistant, system, developer or tool"),
        (json!({ "role": 7, "content": "b" }), "its role is none; use user, assistant, system, developer or tool"),
        (json!({ "role": "user" }), "it has no content; give it some, or leave it out"),
        (json!({ "role": "user", "content": 7 }), "it has no content; give it some, or leave it out"),
        (json!({ "info": { "role": "user" }, "parts": "b" }), "its info must be an object and its parts a list"),
        (json!({ "info": "user", "parts": [] }), "its info must be an object and its parts a list"),
    ] {
        let handed_in = json!([{ "role": "user", "content": "a" }, element]);
        let said = format!("transcript has an element that is no message, number 2: {said}");
        assert_eq!(texts(&handed_in, None), said);
        assert_eq!(texts(&json!({ "model": "m", "messages": handed_in }), None), said);
    }
    let twice = r#"[{"role":"user","role":"assistant","content":"a"}]"#;
    assert!(read_handed_in(twice, None).is_err());
    let calls = json!([{ "role": "assistant", "content": null, "tool_calls": [
        { "id": "c", "type": "function", "function": { "name": "grep", "arguments": "{}" } },
    ] }]);
    assert_eq!(texts(&calls, None), "{}");
}

#[test]
fn items_of_a_request_are_read_as_such_whether_their_form_is_said_or_not() {
    let items = json!([
        { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "hello" }] },
        { "type": "function_call", "call_id": "c", "name": "grep", "arguments": "{}" },
        { "type": "function_call_output", "call_id": "c", "output": "good day" },
    ]);
    assert_eq!(texts(&items, Some(Format::OpenAi)), "hello | {} | good day");
    assert_eq!(texts(&items, None), "hello | {} | good day");
}
