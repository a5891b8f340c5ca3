//! Answers, whole, cut anywhere, broken off and failed.

use infold_core::record::Usage;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{AnswerDecoder, AnswerFault, Answered, Delta, StopReason};
use crate::ThreadEntry;
use crate::provider::{AnswerTranslator, ProviderApi};

const APIS: [ProviderApi; 4] = [ProviderApi::Anthropic, ProviderApi::Responses, ProviderApi::Chat, ProviderApi::Ollama];

fn named(events: &[Value]) -> String {
    let event = |data: &Value| format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap_or_default());
    events.iter().map(event).collect()
}

fn messages() -> String {
    let delta = |index: u64, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let start =
        |index: u64, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let stop = |index: u64| json!({"type": "content_block_stop", "index": index});
    named(&[
        json!({"type": "message_start", "message": {"usage": {
            "input_tokens": 7, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 3, "output_tokens": 1}}}),
        start(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        json!({"type": "ping"}),
        delta(0, json!({"type": "thinking_delta", "thinking": "Zwei "})),
        delta(0, json!({"type": "thinking_delta", "thinking": "Dateien – ö"})),
        delta(0, json!({"type": "signature_delta", "signature": "c2Vh"})),
        delta(0, json!({"type": "signature_delta", "signature": "bA=="})),
        stop(0),
        start(1, json!({"type": "redacted_thinking", "data": "cmVk"})),
        stop(1),
        start(2, json!({"type": "text", "text": ""})),
        delta(2, json!({"type": "text_delta", "text": "Ich lese ä"})),
        delta(2, json!({"type": "text_delta", "text": "🦀."})),
        stop(2),
        json!({"type": "something_new", "index": 2}),
        start(3, json!({"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}})),
        delta(3, json!({"type": "input_json_delta", "partial_json": "{\"path\": \"ü"})),
        delta(3, json!({"type": "input_json_delta", "partial_json": ".rs\"}"})),
        stop(3),
        start(4, json!({"type": "tool_use", "id": "toolu_2", "name": "list", "input": {}})),
        stop(4),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 42}}),
        json!({"type": "message_stop"}),
    ])
}

fn reasoning_item() -> Value {
    json!({"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Zwei Dateien – ö"}],
        "encrypted_content": "c2VhbA=="})
}

fn responses() -> String {
    let text = json!([{"type": "output_text", "text": "Ich lese ä🦀.", "annotations": []}]);
    let item = |item: Value| json!({"type": "response.output_item.done", "item": item});
    let call = |id: &str, name: &str, arguments: &str| json!({"type": "function_call", "id": "fc_1", "call_id": id, "name": name, "arguments": arguments});
    named(&[
        json!({"type": "response.created", "response": {"status": "in_progress"}}),
        json!({"type": "response.reasoning_summary_text.delta", "delta": "Zwei Dateien – ö"}),
        item(reasoning_item()),
        json!({"type": "response.output_text.delta", "delta": "Ich lese ä"}),
        json!({"type": "response.output_text.delta", "delta": "🦀."}),
        item(json!({"type": "message", "role": "assistant", "content": text})),
        json!({"type": "response.output_item.added", "item": {"type": "function_call", "name": "read"}}),
        json!({"type": "response.function_call_arguments.delta", "delta": "{\"pa"}),
        item(call("call_1", "read", "{\"path\": \"ü.rs\"}")),
        json!({"type": "response.output_item.added", "item": {"type": "function_call", "name": "list"}}),
        item(call("call_2", "list", "")),
        json!({"type": "response.completed", "response": {"status": "completed", "output": [], "usage": {
            "input_tokens": 15, "input_tokens_details": {"cached_tokens": 5}, "output_tokens": 42}}}),
    ])
}

fn chat() -> String {
    let chunk = |delta: Value, reason: Value| json!({"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]});
    let part = |delta: Value| chunk(delta, Value::Null);
    let events = [
        part(json!({"role": "assistant", "content": "", "reasoning_content": "Zwei Dateien – ö"})),
        part(json!({"content": "Ich lese ä"})),
        part(json!({"content": "🦀."})),
        part(json!({"tool_calls": [{"index": 0, "id": "call_1", "function": {"name": "read", "arguments": ""}}]})),
        part(json!({"tool_calls": [{"index": 0, "function": {"arguments": "{\"path\": \"ü"}}]})),
        part(json!({"tool_calls": [{"index": 0, "function": {"arguments": ".rs\"}"}}]})),
        part(json!({"tool_calls": [{"index": 1, "id": "call_2", "function": {"name": "list", "arguments": ""}}]})),
        chunk(json!({}), json!("tool_calls")),
        json!({"choices": [], "usage": {"prompt_tokens": 15, "completion_tokens": 42,
            "prompt_tokens_details": {"cached_tokens": 5}}}),
    ];
    let events: String = events.iter().map(|event| format!("data: {event}\r\n\r\n")).collect();
    format!(": a comment\r\n\r\n{events}data: [DONE]\r\n\r\n")
}

fn ollama() -> String {
    let line = |message: Value| json!({"model": "m", "message": message, "done": false});
    let lines = [
        line(json!({"role": "assistant", "content": "", "thinking": "Zwei Dateien – ö"})),
        line(json!({"role": "assistant", "content": "Ich lese ä"})),
        line(json!({"role": "assistant", "content": "🦀."})),
        line(json!({"role": "assistant", "content": "", "tool_calls": [
            {"function": {"name": "read", "arguments": {"path": "ü.rs"}}}]})),
        line(
            json!({"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "list", "arguments": {}}}]}),
        ),
        json!({"model": "m", "message": {"role": "assistant", "content": ""}, "done": true, "done_reason": "stop",
            "prompt_eval_count": 15, "eval_count": 42}),
    ];
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn stream(api: ProviderApi) -> String {
    match api {
        ProviderApi::Anthropic => messages(),
        ProviderApi::Responses => responses(),
        ProviderApi::Chat => chat(),
        ProviderApi::Ollama => ollama(),
    }
}

fn read(api: ProviderApi, pieces: &[&[u8]]) -> (Result<Answered, AnswerFault>, Vec<Delta>) {
    let (mut translator, mut decoder) = (AnswerTranslator::new(api, "a1"), AnswerDecoder::new(api, "model-1"));
    let mut deltas = Vec::new();
    for piece in pieces {
        decoder.push(&translator.push(bytes::Bytes::copy_from_slice(piece)), &mut |delta| deltas.push(delta));
    }
    decoder.push(&translator.finish(), &mut |delta| deltas.push(delta));
    (decoder.finish(), deltas)
}

fn read_text(api: ProviderApi, text: &str) -> Result<Answered, AnswerFault> {
    read(api, &[text.as_bytes()]).0
}

fn expected(api: ProviderApi) -> Answered {
    let sealed = match api {
        ProviderApi::Anthropic => vec![
            json!({"type": "thinking", "thinking": "Zwei Dateien – ö", "signature": "c2VhbA=="}),
            json!({"type": "redacted_thinking", "data": "cmVk"}),
        ],
        ProviderApi::Responses => vec![reasoning_item()],
        ProviderApi::Chat => Vec::new(),
        ProviderApi::Ollama => vec![json!({"type": "reasoning_content", "text": "Zwei Dateien – ö"})],
    };
    let [first, second] = match api {
        ProviderApi::Anthropic => ["toolu_1", "toolu_2"],
        ProviderApi::Responses | ProviderApi::Chat => ["call_1", "call_2"],
        ProviderApi::Ollama => ["call_a1_0", "call_a1_1"],
    };
    let call = |id: &str, tool: &str, arguments: Value| ThreadEntry::Call {
        id: id.to_owned(),
        tool: tool.to_owned(),
        arguments,
    };
    let mut entries: Vec<ThreadEntry> =
        sealed.into_iter().map(|sealed| ThreadEntry::Reasoning { sealed, model: "model-1".to_owned() }).collect();
    entries.push(ThreadEntry::Assistant { text: "Ich lese ä🦀.".to_owned() });
    entries.push(call(first, "read", json!({"path": "ü.rs"})));
    entries.push(call(second, "list", json!({})));
    let (fresh_tokens, cache_read_tokens, cache_write_tokens) = match api {
        ProviderApi::Anthropic => (7, 5, 3),
        ProviderApi::Responses | ProviderApi::Chat => (10, 5, 0),
        ProviderApi::Ollama => (15, 0, 0),
    };
    let usage = Usage { fresh_tokens, cache_read_tokens, cache_write_tokens, output_tokens: 42 };
    Answered { entries, usage: Some(usage), stop: StopReason::ToolUse }
}

#[test]
fn an_answer_is_read_into_entries_and_reported_as_it_comes() {
    for api in APIS {
        let text = stream(api);
        let (answered, deltas) = read(api, &[text.as_bytes()]);
        assert_eq!(answered, Ok(expected(api)), "{api:?}");
        let of = |wanted: fn(&Delta) -> Option<&str>| deltas.iter().filter_map(wanted).collect::<String>();
        assert_eq!(of(|delta| if let Delta::Text(text) = delta { Some(text) } else { None }), "Ich lese ä🦀.");
        assert_eq!(of(|delta| if let Delta::Reasoning(text) = delta { Some(text) } else { None }), "Zwei Dateien – ö");
        assert_eq!(of(|delta| if let Delta::CallBegun { tool } = delta { Some(tool) } else { None }), "readlist");
    }
}

#[test]
fn an_answer_that_ends_anywhere_before_its_end_broke_off() {
    for api in APIS {
        let text = stream(api);
        let end = match api {
            ProviderApi::Anthropic => "{\"type\":\"message_stop\"}\n",
            ProviderApi::Responses => "\"output_tokens\":42}}}\n",
            ProviderApi::Chat => "\"finish_reason\":\"tool_calls\"}]}\r\n",
            ProviderApi::Ollama => "\"eval_count\":42",
        };
        let end = text.find(end).unwrap() + end.len();
        for cut in 0..=end {
            assert_eq!(read(api, &[&text.as_bytes()[..cut]]).0, Err(AnswerFault::BrokeOff), "{api:?} at {cut}");
        }
    }
}

#[test]
fn an_error_in_the_middle_is_the_providers_own() {
    let overloaded = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    let failed = "data: {\"type\":\"response.failed\",\"response\":{\"status\":\"failed\",\"error\":{\"code\":\"server_error\",\"message\":\"Sorry\"}}}\n\n";
    let alone = "event: error\ndata: {\"type\":\"error\",\"code\":\"rate_limit_exceeded\",\"message\":\"Slow\"}\n\n";
    let broken = "data: {\"error\":{\"message\":\"Bad\",\"type\":\"server_error\",\"code\":null}}\n\n";
    for (api, event, kind, message) in [
        (ProviderApi::Anthropic, overloaded, Some("overloaded_error"), "Overloaded"),
        (ProviderApi::Responses, failed, Some("server_error"), "Sorry"),
        (ProviderApi::Responses, alone, Some("rate_limit_exceeded"), "Slow"),
        (ProviderApi::Chat, broken, Some("server_error"), "Bad"),
        (ProviderApi::Ollama, "{\"error\":\"out of memory\"}\n", None, "out of memory"),
    ] {
        let text = stream(api);
        let (begin, _) = text.split_at(text.find('\n').unwrap() + 1);
        let begin = if api == ProviderApi::Ollama { begin } else { "" };
        let reported = AnswerFault::Reported { kind: kind.map(str::to_owned), message: message.to_owned() };
        assert_eq!(read_text(api, &format!("{begin}{event}")), Err(reported), "{api:?}");
    }
}

#[test]
fn a_body_that_is_no_stream_says_what_is_wrong() {
    let error = "{\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"Sorry\"}}";
    let reported = AnswerFault::Reported { kind: Some("api_error".to_owned()), message: "Sorry".to_owned() };
    assert_eq!(read_text(ProviderApi::Anthropic, error), Err(reported));
    assert_eq!(read_text(ProviderApi::Anthropic, &error[..20]), Err(AnswerFault::BrokeOff));
    assert!(matches!(read_text(ProviderApi::Chat, "{\"choices\":[]}"), Err(AnswerFault::Unreadable(_))));
    assert_eq!(read_text(ProviderApi::Chat, ""), Err(AnswerFault::BrokeOff));
    assert_eq!(read_text(ProviderApi::Chat, "<html>"), Err(AnswerFault::BrokeOff));
}

#[test]
fn an_event_or_a_line_without_end_is_not_held() {
    let long = "x".repeat(9 << 20);
    let event = format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{long}\"}}}}]}}\n\n{}", chat());
    assert_eq!(read_text(ProviderApi::Chat, &event), Err(AnswerFault::Unreadable("an event is too long")));
    let line = format!("{{\"message\":{{\"content\":\"{long}\"}}}}\n{}", ollama());
    assert!(matches!(read_text(ProviderApi::Ollama, &line), Err(AnswerFault::Reported { .. })));
    assert!(matches!(read_text(ProviderApi::Chat, "data: {\"choices\n\n"), Err(AnswerFault::Unreadable(_))));
}

#[test]
fn a_call_that_the_bound_cut_short_keeps_its_text() {
    let text = chat().replace(".rs\\\"}", "").replace("\"tool_calls\"}]", "\"length\"}]");
    let answered = read_text(ProviderApi::Chat, &text).unwrap();
    assert_eq!(answered.stop, StopReason::MaxTokens);
    assert!(answered.entries.iter().any(
        |entry| matches!(entry, ThreadEntry::Call { arguments: Value::String(text), .. } if text == "{\"path\": \"ü")
    ));
}

#[test]
fn reasoning_without_its_seal_is_not_kept() {
    let unsealed = messages().replace("c2Vh", "").replace("bA==", "").replace("cmVk", "");
    let answered = read_text(ProviderApi::Anthropic, &unsealed).unwrap();
    assert!(!answered.entries.iter().any(|entry| matches!(entry, ThreadEntry::Reasoning { .. })));
    let unsealed = responses().replace("\"encrypted_content\"", "\"other\"");
    let answered = read_text(ProviderApi::Responses, &unsealed).unwrap();
    assert!(!answered.entries.iter().any(|entry| matches!(entry, ThreadEntry::Reasoning { .. })));
}

#[test]
fn servers_that_imitate_openai_may_leave_ids_and_reasons_out() {
    let text = chat().replace("\"id\":\"call_1\",", "").replace("\"id\":\"call_2\",", "");
    let answered = read_text(ProviderApi::Chat, &text.replace("\"tool_calls\"}]", "\"stop\"}]")).unwrap();
    assert_eq!(answered.stop, StopReason::ToolUse);
    let ids: Vec<&str> = answered
        .entries
        .iter()
        .filter_map(|entry| if let ThreadEntry::Call { id, .. } = entry { Some(id.as_str()) } else { None })
        .collect();
    assert_eq!(ids, ["call_c_0", "call_c_1"]);
}

#[test]
fn a_refusal_is_one_with_every_provider() {
    let anthropic = messages().replace("\"stop_reason\":\"tool_use\"", "\"stop_reason\":\"refusal\"");
    let chat = chat().replace("\"tool_calls\"}]", "\"content_filter\"}]");
    let responses = responses().replace(
        "\"status\":\"completed\"",
        "\"status\":\"incomplete\",\"incomplete_details\":{\"reason\":\"content_filter\"}",
    );
    for (api, text) in
        [(ProviderApi::Anthropic, anthropic), (ProviderApi::Chat, chat), (ProviderApi::Responses, responses)]
    {
        assert_eq!(read_text(api, &text).unwrap().stop, StopReason::Refusal, "{api:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_same_bytes_are_the_same_answer_however_they_are_cut(
        api in prop::sample::select(APIS.to_vec()),
        sizes in prop::collection::vec(1_usize..97, 1..400),
    ) {
        let text = stream(api);
        let (mut rest, mut pieces) = (text.as_bytes(), Vec::new());
        for size in sizes {
            let (piece, behind) = rest.split_at(size.min(rest.len()));
            pieces.push(piece);
            rest = behind;
        }
        pieces.push(rest);
        let (answered, deltas) = read(api, &pieces);
        prop_assert_eq!(answered, Ok(expected(api)));
        prop_assert_eq!(deltas, read(api, &[text.as_bytes()]).1);
    }

    #[test]
    fn no_bytes_make_the_decoder_fall(api in prop::sample::select(APIS.to_vec()), bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = read(api, &[&bytes]);
        let events = [b"data: ".as_slice(), &bytes, b"\n\n"].concat();
        prop_assert!(read(api, &[&events]).0.is_err());
    }
}
