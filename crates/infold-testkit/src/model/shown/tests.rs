//! The same conversation gives the same lines, whichever API it was sent over.

use serde_json::{Value, json};

use super::super::received::{Api, Received};

const ID: &str = "br_018f2b6c-1111-7222-8333-444455556666";

fn shape(api: Api, body: Value) -> String {
    Received::of(api, body).shape()
}

#[test]
fn every_api_shows_the_same_conversation_as_the_same_lines() {
    let opened = format!("{{\"branch_id\":\"{ID}\"}}");
    let messages = json!({"system": "be brief", "messages": [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "text", "text": "I open."},
            {"type": "tool_use", "id": "a", "name": "open", "input": {"x": 1}},
        ]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": opened}]},
    ]});
    let responses = json!({"instructions": "be brief", "input": [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I open."}]},
        {"type": "function_call", "call_id": "a", "name": "open", "arguments": "{\"x\":1}"},
        {"type": "function_call_output", "call_id": "a", "output": opened},
    ]});
    let call = json!({"id": "a", "type": "function", "function": {"name": "open", "arguments": "{\"x\":1}"}});
    let chat = json!({"messages": [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "go"},
        {"role": "assistant", "reasoning_content": "hm", "content": "I open.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": opened},
    ]});
    let wanted = "system: be brief\nuser: go\nreasoning: hm\nassistant: I open.\ncall open {\"x\":1}\n\
                  result: {\"branch_id\":\"br_1\"}\n";
    assert_eq!(shape(Api::Messages, messages), wanted);
    assert_eq!(shape(Api::Responses, responses), wanted);
    assert_eq!(shape(Api::Chat, chat), wanted);
}

#[test]
fn the_brief_says_which_branch_the_model_works_in() {
    let other = ID.replace("1111", "2222");
    let body = json!({"messages": [
        {"role": "user", "content": format!("Find it. You work in branch {ID}; end it with mcp__infold__branch_return.")},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "open", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": format!("[branch {other} returned]")}]},
    ]});
    let received = Received::of(Api::Messages, body);
    assert_eq!(received.own_branch().unwrap(), ID);
    assert_eq!(received.branch_ids(), [ID, &other]);
    assert_eq!(received.last_result_of("open").unwrap(), format!("[branch {other} returned]"));
}
