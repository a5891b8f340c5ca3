//! Tests of reading answers: whole streams, cut anywhere, broken off anywhere.

use insta::assert_debug_snapshot;

use super::{Answer, AnswerError, AnswerReader, Delivery, Opening, StreamStart};
use crate::request::Api;

const MESSAGES: &str = "\
: hello
event: message_start
data: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"model\":\"claude-opus-5\",\"content\":[],\"usage\":{\"input_tokens\":3,\"cache_creation_input_tokens\":20,\"cache_read_input_tokens\":100,\"cache_creation\":{\"ephemeral_5m_input_tokens\":15,\"ephemeral_1h_input_tokens\":5},\"output_tokens\":1}}}

event: content_block_start
data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\"}}

event: content_block_delta
data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"hm\"}}

event: ping
data: {\"type\": \"ping\"}

event: content_block_start
data: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}

event: content_block_delta
data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\"Grüße\"}}

event: content_block_start
data: {\"type\":\"content_block_start\",\"index\":2,\"content_block\":{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"Bash\",\"input\":{}}}

event: content_block_start
data: {\"type\":\"content_block_start\",\"index\":3,\"content_block\":{\"type\":\"tool_use\",\"id\":\"toolu_2\",\"name\":\"mcp__infold__branch_create\",\"input\":{}}}

event: content_block_delta
data: {\"type\":\"content_block_delta\",\"index\":2,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"a\\\":\"}}

event: content_block_delta
data: {\"type\":\"content_block_delta\",\"index\":3,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{}\"}}

event: content_block_delta
data: {\"type\":\"content_block_delta\",\"index\":2,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"1}\"}}

event: from_the_future
data: {\"type\":\"from_the_future\",\"x\":[1,2
data: ]}

event: message_delta
data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":42}}

event: message_stop
data: {\"type\":\"message_stop\"}

";

const RESPONSES: &str = "\
event: response.created
data: {\"type\":\"response.created\",\"response\":{\"id\":\"resp_1\",\"status\":\"in_progress\",\"output\":[],\"usage\":null,\"error\":null}}

event: response.output_text.delta
data: {\"type\":\"response.output_text.delta\",\"delta\":\"Hel\"}

event: response.output_text.delta
data: {\"type\":\"response.output_text.delta\",\"delta\":\"lo\"}

event: response.output_item.done
data: {\"type\":\"response.output_item.done\",\"item\":{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":\"Hello\"}]}}

event: response.output_item.done
data: {\"type\":\"response.output_item.done\",\"item\":{\"type\":\"function_call\",\"call_id\":\"call_1\",\"namespace\":\"mcp__infold\",\"name\":\"branch_create\",\"arguments\":\"{\\\"description\\\":\\\"d\\\"}\"}}

event: response.output_item.done
data: {\"type\":\"response.output_item.done\",\"item\":{\"type\":\"tool_search_call\",\"call_id\":\"call_2\",\"arguments\":{\"query\":\"q\"}}}

event: response.output_item.done
data: {\"type\":\"response.output_item.done\",\"item\":{\"type\":\"web_search_call\",\"id\":\"ws_1\"}}

event: response.completed
data: {\"type\":\"response.completed\",\"response\":{\"model\":\"gpt-5.5\",\"status\":\"completed\",\"error\":null,\"incomplete_details\":null,\"output\":[{\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"Hello\"}]},{\"type\":\"function_call\",\"call_id\":\"call_1\",\"namespace\":\"mcp__infold\",\"name\":\"branch_create\",\"arguments\":\"{}\"}],\"usage\":{\"input_tokens\":150,\"input_tokens_details\":{\"cached_tokens\":128},\"output_tokens\":9,\"output_tokens_details\":{\"reasoning_tokens\":4}}}}

";

const CHAT: &str = "\
data: {\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}],\"usage\":null}

data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"},\"finish_reason\":null}]}

data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"call_1\",\"type\":\"function\",\"function\":{\"name\":\"bash\",\"arguments\":\"\"}}]}}]}

data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{\\\"a\\\":\"}}]}}]}

data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":1,\"id\":\"call_2\",\"function\":{\"name\":\"read\",\"arguments\":\"{}\"}},{\"index\":0,\"id\":\"call_1\",\"function\":{\"arguments\":\"1}\"}}]}}]}

data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}

data: {\"choices\":[],\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":7,\"prompt_tokens_details\":{\"cached_tokens\":64}}}

data: [DONE]

";

fn streamed<'a>(api: Api, parts: impl IntoIterator<Item = &'a [u8]>) -> Answer {
    let mut reader = AnswerReader::new(api, Delivery::Streamed);
    parts.into_iter().for_each(|part| reader.push(part));
    reader.finish()
}

fn whole(api: Api, body: &str) -> Answer {
    let mut reader = AnswerReader::new(api, Delivery::Whole);
    body.as_bytes().chunks(7).for_each(|part| reader.push(part));
    reader.finish()
}

const STREAMS: [(Api, &str); 3] = [(Api::Messages, MESSAGES), (Api::Responses, RESPONSES), (Api::Chat, CHAT)];

#[test]
fn a_count_that_cannot_be_one_counts_nothing() {
    let mut reader = AnswerReader::new(Api::Messages, Delivery::Whole);
    reader.push(br#"{"content":[],"usage":{"input_tokens":18446744073709551615,"output_tokens":7}}"#);
    let usage = reader.finish().usage.unwrap();
    assert_eq!((usage.fresh_tokens, usage.output_tokens), (0, 7));
}

#[test]
fn a_stream_of_anthropic_is_read() {
    assert_debug_snapshot!(streamed(Api::Messages, [MESSAGES.as_bytes()]), @r#"
    Answer {
        usage: Some(
            Usage {
                fresh_tokens: 3,
                cache_read_tokens: 100,
                cache_write_tokens: 20,
                output_tokens: 42,
            },
        ),
        calls: [
            AnswerCall {
                id: "toolu_1",
                tool: "Bash",
                arguments: "{\"a\":1}",
                is_cut: false,
            },
            AnswerCall {
                id: "toolu_2",
                tool: "mcp__infold__branch_create",
                arguments: "{}",
                is_cut: false,
            },
        ],
        stop: Some(
            "tool_use",
        ),
        error: None,
        is_complete: true,
        text_chars: 5,
        said: "hmGrüße",
        said_bytes: 9,
        words: "Grüße",
        model: Some(
            "claude-opus-5",
        ),
    }
    "#);
}

#[test]
fn a_stream_of_responses_is_read() {
    assert_debug_snapshot!(streamed(Api::Responses, [RESPONSES.as_bytes()]), @r#"
    Answer {
        usage: Some(
            Usage {
                fresh_tokens: 22,
                cache_read_tokens: 128,
                cache_write_tokens: 0,
                output_tokens: 9,
            },
        ),
        calls: [
            AnswerCall {
                id: "call_1",
                tool: "mcp__infold__branch_create",
                arguments: "{\"description\":\"d\"}",
                is_cut: false,
            },
            AnswerCall {
                id: "call_2",
                tool: "tool_search",
                arguments: "{\"query\":\"q\"}",
                is_cut: false,
            },
        ],
        stop: Some(
            "completed",
        ),
        error: None,
        is_complete: true,
        text_chars: 5,
        said: "Hello",
        said_bytes: 5,
        words: "Hello",
        model: Some(
            "gpt-5.5",
        ),
    }
    "#);
}

#[test]
fn a_stream_of_chat_is_read() {
    assert_debug_snapshot!(streamed(Api::Chat, [CHAT.as_bytes()]), @r#"
    Answer {
        usage: Some(
            Usage {
                fresh_tokens: 36,
                cache_read_tokens: 64,
                cache_write_tokens: 0,
                output_tokens: 7,
            },
        ),
        calls: [
            AnswerCall {
                id: "call_1",
                tool: "bash",
                arguments: "{\"a\":1}",
                is_cut: false,
            },
            AnswerCall {
                id: "call_2",
                tool: "read",
                arguments: "{}",
                is_cut: false,
            },
        ],
        stop: Some(
            "tool_calls",
        ),
        error: None,
        is_complete: true,
        text_chars: 2,
        said: "Hi",
        said_bytes: 2,
        words: "Hi",
        model: Some(
            "m",
        ),
    }
    "#);
}

#[test]
fn a_stream_cut_anywhere_reads_the_same_with_any_line_ends() {
    for (api, stream) in STREAMS {
        let expected = streamed(api, [stream.as_bytes()]);
        assert!(expected.is_complete);
        for ends in ["\n", "\r\n", "\r"] {
            let stream = format!("\u{feff}{}", stream.replace('\n', ends));
            let bytes = stream.as_bytes();
            for at in 0..=bytes.len() {
                assert_eq!(streamed(api, [&bytes[..at], &bytes[at..]]), expected, "cut at {at} of {api:?}");
            }
            assert_eq!(streamed(api, bytes.chunks(1)), expected);
        }
    }
}

#[test]
fn a_stream_that_breaks_off_is_never_complete() {
    for (api, stream) in STREAMS {
        // Not every Chat server sends `[DONE]`, so there the stop reason is the end.
        let end = if api == Api::Chat { stream.find("\"tool_calls\"}]}").unwrap() } else { stream.len() - 1 };
        for at in 0..end {
            assert!(!streamed(api, [&stream.as_bytes()[..at]]).is_complete, "cut at {at} of {api:?}");
        }
    }
}

#[test]
fn an_error_in_a_stream_is_not_the_end_of_an_answer() {
    let overloaded = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    let answer = streamed(Api::Messages, [MESSAGES.as_bytes(), overloaded.as_bytes()]);
    assert!(!answer.is_complete);
    assert_eq!(answer.error.as_ref().unwrap().kind.as_deref(), Some("overloaded_error"));
    assert_eq!(answer.error.unwrap().message, "Overloaded");

    let failed = "data: {\"type\":\"response.failed\",\"response\":{\"status\":\"failed\",\"error\":{\"code\":\"context_length_exceeded\",\"message\":\"too long\"}}}\n\n";
    let answer = streamed(Api::Responses, [failed.as_bytes()]);
    assert_eq!((answer.is_complete, answer.error.unwrap().kind.as_deref()), (false, Some("context_length_exceeded")));

    let bare = "data: {\"type\":\"error\",\"code\":\"server_error\",\"message\":\"down\"}\n\n";
    assert_eq!(streamed(Api::Responses, [bare.as_bytes()]).error.unwrap().message, "down");

    let chat = "data: {\"error\":{\"message\":\"no\",\"type\":\"server_error\",\"code\":null}}\n\ndata: [DONE]\n\n";
    let answer = streamed(Api::Chat, [chat.as_bytes()]);
    assert_eq!((answer.is_complete, answer.error.unwrap().kind.as_deref()), (false, Some("server_error")));
}

#[test]
fn whole_answers_are_read() {
    let answer = whole(
        Api::Messages,
        r#"{"model":"m","content":[{"type":"text","text":"Hi"},{"type":"tool_use","id":"t","name":"Bash","input":{"a":1}}],"stop_reason":"tool_use","usage":{"input_tokens":5,"output_tokens":2}}"#,
    );
    assert!(answer.is_complete);
    assert_eq!((answer.calls[0].arguments.as_str(), answer.text_chars), (r#"{"a":1}"#, 2));
    assert_eq!(answer.usage.unwrap().prompt_tokens(), 5);

    let body = RESPONSES.lines().rfind(|line| line.starts_with("data: ")).unwrap();
    let response = body.split_once("\"response\":").unwrap().1.strip_suffix('}').unwrap();
    let answer = whole(Api::Responses, response);
    assert_eq!((answer.is_complete, answer.calls.len(), answer.text_chars), (true, 1, 5));

    let body = r#"{"choices":[{"index":0,"message":{"content":"Hi","tool_calls":[{"id":"a","function":{"name":"x","arguments":"{}"}},{"id":"b","function":{"name":"y","arguments":"[]"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":9,"completion_tokens":1}}"#;
    let answer = whole(Api::Chat, body);
    let calls: Vec<(&str, &str)> = answer.calls.iter().map(|call| (&*call.id, &*call.arguments)).collect();
    assert_eq!(calls, [("a", "{}"), ("b", "[]")]);

    assert_eq!(whole(Api::Messages, r#"{"input_tokens":77}"#).usage.unwrap().fresh_tokens, 77);
}

#[test]
fn what_a_provider_refuses_is_read_as_an_error() {
    let body = r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8 maximum"}}"#;
    let answer = whole(Api::Messages, body);
    assert_eq!((answer.is_complete, answer.error.unwrap().kind.as_deref()), (false, Some("invalid_request_error")));
    let body = r#"{"error":"plain words"}"#;
    assert_eq!(whole(Api::Chat, body).error.unwrap().message, "plain words");
    assert_eq!(whole(Api::Chat, "<html>"), Answer::default());
}

#[test]
fn an_answer_that_stops_for_its_length_is_complete() {
    let stream = "data: {\"type\":\"response.incomplete\",\"response\":{\"status\":\"incomplete\",\"incomplete_details\":{\"reason\":\"max_output_tokens\"},\"output\":[]}}\n\n";
    let answer = streamed(Api::Responses, [stream.as_bytes()]);
    assert_eq!((answer.is_complete, answer.stop.as_deref()), (true, Some("max_output_tokens")));
}

#[test]
fn long_arguments_and_endless_lines_are_not_kept() {
    let mut reader = AnswerReader::new(Api::Messages, Delivery::Streamed);
    let head = MESSAGES.find("event: from_the_future").unwrap();
    reader.push(&MESSAGES.as_bytes()[..head]);
    let part = "x".repeat(100_000);
    let delta = format!(
        "data: {{\"type\":\"content_block_delta\",\"index\":2,\"delta\":{{\"type\":\"input_json_delta\",\"partial_json\":\"{part}\"}}}}\n\n"
    );
    (0..20).for_each(|_| reader.push(delta.as_bytes()));
    reader.push(b"data: ");
    (0..200).for_each(|_| reader.push(part.as_bytes()));
    reader.push(b"\n\n");
    reader.push(&MESSAGES.as_bytes()[head..]);
    let answer = reader.finish();
    assert!(answer.is_complete && answer.calls[0].is_cut && !answer.calls[1].is_cut);
    assert!(answer.calls[0].arguments.len() <= 1 << 20);
}

/// What is known of the start of a stream after each of its pieces.
fn opened(api: Api, pieces: &[&str]) -> Vec<StreamStart> {
    let mut opening = Opening::new(api);
    pieces.iter().map(|piece| opening.push(piece.as_bytes()).clone()).collect()
}

#[test]
fn a_stream_opens_with_the_first_event_that_means_anything() {
    let failed = |kind: &str, message: &str| {
        StreamStart::Failed(AnswerError { kind: Some(kind.to_owned()), message: message.to_owned() })
    };
    let created = "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"error\":null}}\n\n";
    let going = "data: {\"type\":\"response.in_progress\",\"response\":{}}\n\n";
    let error = "data: {\"type\":\"response.failed\",\"response\":{\"status\":\"failed\",\"error\":\
                 {\"code\":\"context_length_exceeded\",\"message\":\"too long\"}}}\n\n";
    let too_long = failed("context_length_exceeded", "too long");
    let (nothing, begun) = (StreamStart::Nothing, StreamStart::Begun);
    assert_eq!(
        opened(Api::Responses, &[created, going, ": still here\n\n", error, created]),
        [nothing.clone(), nothing.clone(), nothing.clone(), too_long.clone(), too_long]
    );
    let added = "data: {\"type\":\"response.output_item.added\",\"item\":{}}\n\n";
    assert_eq!(opened(Api::Responses, &[created, added, error]), [nothing.clone(), begun.clone(), begun]);
    let (first, rest) = error.split_at(40);
    let alone = opened(Api::Messages, &["data: {\"type\":\"ping\"}\n\n"]);
    assert_eq!(alone, [StreamStart::Begun], "a sign of life is passed on");
    assert_eq!(opened(Api::Responses, &[first, rest])[0], nothing);
    let bare = "event: error\ndata: {\"type\":\"error\",\"code\":\"context_length_exceeded\",\"message\":\"m\"}\n\n";
    assert_eq!(opened(Api::Responses, &[bare]), [failed("context_length_exceeded", "m")]);
    let claude =
        "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"p\"}}\n\n";
    assert_eq!(opened(Api::Messages, &[claude]), [failed("invalid_request_error", "p")]);
    let chat = "data: {\"error\":{\"code\":\"context_length_exceeded\",\"message\":\"p\"}}\n\n";
    assert_eq!(opened(Api::Chat, &[chat]), [failed("context_length_exceeded", "p")]);
    assert_eq!(opened(Api::Chat, &["data: not JSON\n\n"]), [StreamStart::Begun]);
}

#[test]
fn a_stream_is_final_once_nothing_can_change_its_count() {
    let is_final = |api: Api, events: &[&str]| -> Vec<bool> {
        let mut reader = AnswerReader::new(api, Delivery::Streamed);
        let is_final = |event: &&str| {
            reader.push(format!("data: {event}\n\n").as_bytes());
            reader.is_final()
        };
        events.iter().map(is_final).collect()
    };
    let claude = [r#"{"type":"message_delta","usage":{"output_tokens":9}}"#, r#"{"type":"message_stop"}"#];
    assert_eq!(is_final(Api::Messages, &claude), [false, true]);
    let error = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    assert_eq!(is_final(Api::Messages, &[error]), [true]);
    let codex =
        [r#"{"type":"response.created"}"#, r#"{"type":"response.completed","response":{"status":"completed"}}"#];
    assert_eq!(is_final(Api::Responses, &codex), [false, true]);
    let end = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
    let counted = r#"{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}"#;
    assert_eq!(is_final(Api::Chat, &[end, counted, "[DONE]"]), [false, true, true]);
    assert_eq!(is_final(Api::Chat, &[end, "[DONE]"]), [false, true]);
}

#[test]
fn all_that_is_said_and_thought_can_be_counted_up_to_a_bound() {
    let said = |api: Api, events: &[&str]| {
        let mut reader = AnswerReader::new(api, Delivery::Streamed);
        events.iter().for_each(|event| reader.push(format!("data: {event}\n\n").as_bytes()));
        let answer = reader.finish();
        (answer.said, answer.said_bytes)
    };
    let thinking = r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm, "}}"#;
    let text = r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"yes"}}"#;
    assert_eq!(said(Api::Messages, &[thinking, text]), ("hm, yes".to_owned(), 7));
    let chat = r#"{"choices":[{"index":0,"delta":{"reasoning_content":"hm, ","content":"yes"}}]}"#;
    assert_eq!(said(Api::Chat, &[chat]).1, 7);
    let codex = r#"{"type":"response.completed","response":{"status":"completed","output":[{"type":"reasoning","summary":[{"type":"summary_text","text":"hm, "}]},{"type":"message","content":[{"type":"output_text","text":"yes"}]}]}}"#;
    assert_eq!(said(Api::Responses, &[codex]).1, 7);
    let long = text.replace("yes", &"é".repeat(100_000));
    let (kept, bytes) = said(Api::Messages, &[&long, &long]);
    assert_eq!((kept.len(), bytes), (256 << 10, 400_000));
}
