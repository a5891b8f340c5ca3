//! Tests of the last words of answers: of each API, cut anywhere, broken off anywhere.

use super::*;
use crate::answer::{AnswerReader, Delivery};
use crate::request::Api;

/// A stream of each API: reasoning, two paragraphs, and an end for this reason.
fn stream(api: Api, stop: &str) -> String {
    let events: Vec<String> = match api {
        Api::Messages => vec![
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}"#.to_owned(),
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hidden"}}"#
                .to_owned(),
            r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}"#.to_owned(),
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"It is the par"}}"#
                .to_owned(),
            r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"ser."}}"#.to_owned(),
            r#"{"type":"content_block_start","index":2,"content_block":{"type":"text","text":"Line 40"}}"#.to_owned(),
            format!(r#"{{"type":"message_delta","delta":{{"stop_reason":"{stop}"}}}}"#),
            r#"{"type":"message_stop"}"#.to_owned(),
        ],
        Api::Responses => vec![
            r#"{"type":"response.reasoning_summary_text.delta","delta":"hidden"}"#.to_owned(),
            r#"{"type":"response.output_text.delta","delta":"It is the par"}"#.to_owned(),
            r#"{"type":"response.output_text.delta","delta":"ser."}"#.to_owned(),
            r#"{"type":"response.output_item.done","item":{"type":"message","status":"completed"}}"#.to_owned(),
            r#"{"type":"response.output_text.delta","delta":"Line 40"}"#.to_owned(),
            format!(r#"{{"type":"response.output_item.done","item":{{"type":"message","status":"{stop}"}}}}"#),
            format!(r#"{{"type":"response.{stop}","response":{{"status":"{stop}","output":[]}}}}"#),
        ],
        Api::Chat => vec![
            r#"{"choices":[{"index":0,"delta":{"reasoning_content":"hidden"}}]}"#.to_owned(),
            r#"{"choices":[{"index":0,"delta":{"content":"It is the par"}},{"index":1,"delta":{"content":"other"}}]}"#
                .to_owned(),
            r#"{"choices":[{"index":0,"delta":{"content":"ser.\nLine 40"}}]}"#.to_owned(),
            format!(r#"{{"choices":[{{"index":0,"delta":{{}},"finish_reason":"{stop}"}}]}}"#),
            "[DONE]".to_owned(),
        ],
    };
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

fn read(api: Api, parts: &[&[u8]]) -> AnswerReader {
    let mut reader = AnswerReader::new(api, Delivery::Streamed);
    parts.iter().for_each(|part| reader.push(part));
    reader
}

const ENDS: [(Api, &str, &str); 3] = [
    (Api::Messages, "end_turn", "max_tokens"),
    (Api::Responses, "completed", "incomplete"),
    (Api::Chat, "stop", "length"),
];

#[test]
fn what_a_model_says_is_kept_and_what_it_thinks_is_not() {
    for (api, stop, _) in ENDS {
        let stream = stream(api, stop);
        for at in 0..=stream.len() {
            let reader = read(api, &[&stream.as_bytes()[..at], &stream.as_bytes()[at..]]);
            assert!(reader.is_over());
            assert_eq!(reader.words(), "It is the parser.\nLine 40", "{api:?} cut at {at}");
            assert_eq!(reader.finish().words, "It is the parser.\nLine 40", "{api:?} cut at {at}");
        }
    }
}

#[test]
fn an_answer_that_breaks_off_or_is_stopped_ends_with_a_whole_word() {
    for (api, stop, cut) in ENDS {
        let whole = stream(api, stop);
        for at in 0..whole.len() {
            let words = read(api, &[&whole.as_bytes()[..at]]).finish().words;
            let said = ["", "It is the", "It is the parser.", "It is the parser.\nLine", "It is the parser.\nLine 40"];
            assert!(said.contains(&words.as_str()), "{api:?} broken off at {at}: {words:?}");
        }
        assert_eq!(read(api, &[stream(api, cut).as_bytes()]).finish().words, "It is the parser.\nLine", "{api:?}");
    }
}

#[test]
fn words_in_front_of_a_call_are_whole() {
    let said = r#"{"choices":[{"index":0,"delta":{"content":"I look there"}}]}"#;
    let call = r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"x"}}]}}]}"#;
    let mut reader = read(Api::Chat, &[format!("data: {said}\n\n").as_bytes()]);
    assert_eq!((reader.words(), reader.is_over()), ("I look", false));
    reader.push(format!("data: {call}\n\n").as_bytes());
    assert_eq!((reader.words(), reader.is_over()), ("I look there", false));
}

#[test]
fn an_answer_that_comes_whole_has_words_too() {
    let bodies = [
        (
            Api::Messages,
            r#"{"content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"Found it."}],"stop_reason":"end_turn"}"#,
        ),
        (
            Api::Responses,
            r#"{"status":"completed","output":[{"type":"reasoning","summary":[]},{"type":"message","content":[{"type":"output_text","text":"Found it."}]}]}"#,
        ),
        (Api::Chat, r#"{"choices":[{"index":0,"message":{"content":"Found it."},"finish_reason":"stop"}]}"#),
    ];
    for (api, body) in bodies {
        let mut reader = AnswerReader::new(api, Delivery::Whole);
        reader.push(body.as_bytes());
        assert_eq!(reader.finish().words, "Found it.", "{api:?}");
    }
}

#[test]
fn of_a_long_answer_the_end_is_kept() {
    let mut words = AnswerWords::default();
    (0..20_000).for_each(|number| words.push(&format!("größer{number} ")));
    words.push("the end");
    words.pause();
    let kept = words.whole();
    assert!(kept.len() <= 2 * WORDS_BYTES_MAX && kept.len() > WORDS_BYTES_MAX / 2, "{} bytes", kept.len());
    assert!(kept.starts_with("größer") && kept.ends_with(" the end"), "{kept}");

    let mut endless = AnswerWords::default();
    endless.push(&"x".repeat(5 * WORDS_BYTES_MAX));
    endless.pause();
    assert_eq!(endless.whole(), "", "a word that lacks its beginning is none");
}
