//! Lines, and what is none.

use super::*;

async fn read(bytes: &[u8], bytes_max: usize) -> Vec<String> {
    let mut input = BufReader::with_capacity(4, bytes);
    let mut lines = Vec::new();
    while let Some(line) = next_line(&mut input, bytes_max).await.unwrap() {
        lines.push(line);
    }
    lines
}

#[tokio::test]
async fn a_line_is_a_message_and_the_last_one_needs_no_end() {
    assert_eq!(read(b"{\"a\":1}\r\n\n  \n{}", 100).await, ["{\"a\":1}", "{}"]);
    assert_eq!(read(b"", 100).await, [""; 0]);
    assert_eq!(read(b"\n\n", 100).await, [""; 0]);
}

#[tokio::test]
async fn what_no_message_can_be_is_named_and_the_next_line_counts() {
    let lines = read(b"0123456789\n{}\n\xff\xfe\n0123456789abcdef", 10).await;
    assert_eq!(lines, ["0123456789", "{}", "a line that is no UTF-8", "a line of more than 10 bytes"]);
}
