//! Answers that are whole, and the same cut anywhere.

use super::*;

fn is_whole(content_type: &str, text: &str) -> bool {
    let mut ending = Ending::of(content_type).unwrap();
    text.as_bytes().chunks(3).for_each(|piece| ending.push(piece));
    ending.ends_whole()
}

#[test]
fn a_value_is_whole_at_its_last_byte_and_nowhere_before() {
    let json = r#" {"a":["}]\"",{"b":[]}],"c":"\\"}"#;
    assert!(is_whole("application/json; charset=utf-8", json) && is_whole("application/problem+json", json));
    for cut in 0..json.len() {
        assert!(!is_whole("application/json", &json[..cut]), "{}", &json[..cut]);
    }
}

#[test]
fn a_stream_is_whole_with_its_last_event_and_not_before() {
    let messages = "event: message_start\ndata: {\"type\":\"message_start\"}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}";
    let responses = "data: {\"type\":\"response.created\"}\n\ndata: {\"type\":\"response.completed\",\"response\":{}}";
    let chat = "data: {\"object\":\"chat.completion.chunk\",\"choices\":[{\"finish_reason\":null}]}\n\ndata: [DONE]";
    let stopped = "data: {\"object\":\"chat.completion.chunk\",\"choices\":[{\"finish_reason\":\"stop\"}]}";
    let failed = "data: {\"type\":\"message_start\"}\n\ndata: {\"type\":\"error\",\"error\":{}}";
    for stream in [messages, responses, chat, stopped, failed] {
        assert!(
            is_whole("text/event-stream", stream) && is_whole("text/event-stream", &format!("{stream}\n\n")),
            "{stream}"
        );
        let before = stream.rfind("data: ").unwrap();
        for cut in (0..before).step_by(7).chain(before..stream.len()) {
            // A comment or half a name is no event.
            assert!(!is_whole("text/event-stream", &stream[..cut]), "{}", &stream[..cut]);
        }
    }
}

#[test]
fn what_does_not_show_its_end_counts_as_whole() {
    assert!(Ending::of("text/html").is_none() && Ending::of("application/x-ndjson").is_none());
    assert!(is_whole("application/json", "<html>"));
    assert!(is_whole("text/event-stream", "data: {\"type\":\"speech.audio.delta\"}\n\n"));
}
