//! Events, wherever the stream is cut, and however long they are.

use super::*;

fn texts(events: &[StreamEvent]) -> Vec<String> {
    let text = |event: &StreamEvent| {
        let data = match &event.data {
            EventData::None => "-".to_owned(),
            EventData::Whole(data) => String::from_utf8_lossy(data).into_owned(),
            EventData::TooLong => "too long".to_owned(),
        };
        format!("{} {data} {}", event.id.as_deref().unwrap_or("-"), event.retry_ms.map_or(-1, |ms| ms as i64))
    };
    events.iter().map(text).collect()
}

#[test]
fn events_are_the_same_wherever_the_stream_is_cut() {
    let stream = b"\xef\xbb\xbfid: 1\nretry: 20\ndata:\n\n: a comment\n\nevent: message\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\ndata: b\rid: 2\r\rdata: unfinished";
    let whole = SseReader::new(100).push(stream);
    assert_eq!(texts(&whole), ["1 - 20", "- {\"a\":\n1} -1", "2 b -1"]);
    for cut in 0..stream.len() {
        let mut reader = SseReader::new(100);
        let mut events = reader.push(&stream[..cut]);
        events.extend(reader.push(&stream[cut..]));
        assert_eq!(texts(&events), texts(&whole), "cut at {cut}");
    }
}

#[test]
fn an_event_that_is_too_long_is_reported_and_the_next_one_is_whole() {
    let long = "x".repeat(200);
    let stream = format!("id: 1\ndata: {long}\n\ndata: {0}\ndata: {0}\n\ndata: fine\n\n", &long[..60]);
    let mut reader = SseReader::new(100);
    let mut events = Vec::new();
    for piece in stream.as_bytes().chunks(7) {
        events.extend(reader.push(piece));
        assert!(reader.line.len() <= 116);
    }
    assert_eq!(texts(&events), ["1 too long -1", "- too long -1", "- fine -1"]);
}
