//! Events come out whole wherever the bytes were cut.

use super::EventReader;

#[test]
fn events_come_out_whole_wherever_the_bytes_are_cut() {
    let stream = b": hello\nid: 1\ndata: {\"a\":\ndata: 1}\n\nretry: 5\n\ndata:x\r\n\r\n";

    for cut in 0..stream.len() {
        let mut reader = EventReader::default();
        let mut events = reader.push(&stream[..cut]);
        events.extend(reader.push(&stream[cut..]));
        assert_eq!(events, ["{\"a\":\n1}", "x"], "cut at {cut}");
    }
}
