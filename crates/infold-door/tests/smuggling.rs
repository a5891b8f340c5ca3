//! Heads that two parsers could read in two ways, sent raw: each is refused with a reason, the
//! connection is closed, and nothing behind it is ever answered.
use std::io::{Read, Write};

use crate::common::{connect, exchange, read_one, read_to_close, settings, start, status, verdict};

const GOOD: &str = "GET /who HTTP/1.1\r\nHost: localhost\r\n\r\n";
const LAST: &str = "GET /who HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

/// Heads to refuse, with the status and a part of the reason.
fn corpus() -> Vec<(String, u16, &'static str)> {
    let post = |lines: &str| format!("POST /echo HTTP/1.1\r\nHost: localhost\r\n{lines}\r\n\r\n");
    vec![
        (post("Content-Length: 4\r\nTransfer-Encoding: chunked"), 400, "send one of the two"),
        (post("Transfer-Encoding: chunked\r\nContent-Length: 4"), 400, "send one of the two"),
        (post("Content-Length: 4\r\nContent-Length: 4"), 400, "more than once"),
        (post("Content-Length: 4\r\nContent-Length: 5"), 400, "more than once"),
        (post("Content-Length: +4"), 400, "not one decimal number"),
        (post("Content-Length: 4, 4"), 400, "not one decimal number"),
        (post("Content-Length: 99999999999999999999"), 400, "not one decimal number"),
        (post("Transfer-Encoding: gzip, chunked"), 400, "is not supported"),
        (post("Transfer-Encoding: identity"), 400, "is not supported"),
        (post("Transfer-Encoding: chunked\r\nTransfer-Encoding: x"), 400, "more than once"),
        (post("Transfer-Encoding : chunked"), 400, "white space before its colon"),
        (post("Transfer-Encoding:\r\n chunked"), 400, "is not supported"),
        (post("X: a\r\n b"), 400, "obsolete line folding"),
        (post("X: a\nTransfer-Encoding: chunked"), 400, "LF without CR"),
        (post("X: a\rTransfer-Encoding: chunked"), 400, "CR has no LF"),
        (post("X: a\0b"), 400, "control character 0x00"),
        (post("X: a\u{1b}b"), 400, "control character 0x1b"),
        (post("Host: localhost"), 400, "more than one Host"),
        (post("X"), 400, "has no colon"),
        ("GET /who HTTP/1.1\r\n\r\n".to_owned(), 400, "no Host"),
        ("GET /who HTTP/1.0\r\n\r\n".to_owned(), 505, "speak HTTP/1.1"),
        ("GET /who HTTP/1.1\nHost: localhost\n\n".to_owned(), 400, "LF without CR"),
        ("GET /who\r\n\r\n".to_owned(), 400, "request line"),
        ("CONNECT localhost:1 HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned(), 400, "tunnel"),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(), 505, "speak HTTP/1.1"),
        (post(&format!("X: {}", "x".repeat(20_000))), 431, "larger than 16384 bytes"),
        (post("A: b\r\n".repeat(101).trim_end()), 431, "more than 100 header lines"),
    ]
}

#[tokio::test]
async fn a_doubtful_head_is_refused_with_its_reason_and_the_connection_closed() {
    let door = start(settings()).await;
    for (head, expected, reason) in corpus() {
        // What follows must not be taken for a request, nor keep the answer from arriving.
        let answer = exchange(door.address, format!("{head}0\r\n\r\n{GOOD}{GOOD}")).await;
        assert_eq!(status(&answer), expected, "{head:?}: {answer}");
        assert!(answer.contains(reason), "{head:?}: {answer}");
        assert!(answer.to_lowercase().contains("\r\nconnection: close\r\n"), "{answer}");
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{head:?}: {answer}");
        assert!(!answer.contains("(reset)"), "{head:?}: {answer}");
    }
    door.close().await;
}

#[tokio::test]
async fn a_doubtful_head_behind_good_requests_is_refused_after_their_answers() {
    let door = start(settings()).await;
    for (head, expected, reason) in corpus() {
        let answer = exchange(door.address, format!("{GOOD}{GOOD}{head}{GOOD}")).await;
        let answers: Vec<&str> = answer.split("HTTP/1.1 ").skip(1).collect();
        assert_eq!(answers.len(), 3, "{head:?}: {answer}");
        assert!(answers[0].starts_with("200") && answers[1].starts_with("200"), "{answer}");
        assert!(answers[2].starts_with(&expected.to_string()), "{head:?}: {answer}");
        assert!(answers[2].contains(reason), "{head:?}: {answer}");
    }
    door.close().await;
}

#[tokio::test]
async fn requests_behind_bodies_of_either_kind_are_answered_one_by_one() {
    let door = start(settings()).await;
    let length = "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello";
    let chunked = "POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n\
                   3;a=b\r\nhel\r\n2\r\nlo\r\n0\r\nX-Sum: 1\r\n\r\n";
    let answer = exchange(door.address, format!("{length}{chunked}{GOOD}{chunked}{LAST}")).await;
    assert_eq!(answer.matches("HTTP/1.1 200 OK").count(), 5, "{answer}");
    assert_eq!(answer.matches("5 bytes").count(), 3, "{answer}");
    door.close().await;
}

#[tokio::test]
async fn a_request_may_arrive_in_any_pieces() {
    let door = start(settings()).await;
    let bytes = "POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n\
                 5\r\nhello\r\n0\r\n\r\n";
    let address = door.address;
    let pieces = move || {
        let mut stream = connect(address);
        stream.set_nodelay(true).expect("it can be set");
        for cut in 0..bytes.len() {
            stream.write_all(&bytes.as_bytes()[..cut]).expect("the bytes can be sent");
            std::thread::yield_now();
            stream.write_all(&bytes.as_bytes()[cut..]).expect("the bytes can be sent");
            assert_eq!(verdict(&read_one(&mut stream)), "200 5 bytes", "cut at {cut}");
        }
    };
    tokio::task::spawn_blocking(pieces).await.expect("the client does not panic");
    door.close().await;
}

#[tokio::test]
async fn a_client_that_waits_for_leave_to_send_its_body_gets_it() {
    let door = start(settings()).await;
    let address = door.address;
    let client = move || {
        let mut stream = connect(address);
        let head = "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n";
        stream.write_all(head.as_bytes()).expect("the bytes can be sent");
        let mut leave = [0; b"HTTP/1.1 100 Continue\r\n\r\n".len()];
        stream.read_exact(&mut leave).expect("leave is given");
        assert_eq!(&leave, b"HTTP/1.1 100 Continue\r\n\r\n");
        stream.write_all(b"hello").expect("the bytes can be sent");
        assert_eq!(verdict(&read_one(&mut stream)), "200 5 bytes");
    };
    tokio::task::spawn_blocking(client).await.expect("the client does not panic");
    door.close().await;
}

#[tokio::test]
async fn a_chunked_body_that_breaks_its_form_ends_the_connection() {
    let door = start(settings()).await;
    let head = "POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
    for body in
        ["5\nhello\n0\n\n", "5\r\nhello!\r\n0\r\n\r\n", "x\r\n", "5;\0\r\nhello\r\n0\r\n\r\n", "0\r\nA : b\r\n\r\n"]
    {
        let answer = exchange(door.address, format!("{head}{body}{GOOD}")).await;
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{body:?}: {answer}");
        assert_eq!(status(&answer), 400, "{body:?}: {answer}");
    }
    door.close().await;
}

#[tokio::test]
async fn a_client_that_leaves_in_mid_request_is_let_go() {
    let door = start(settings()).await;
    let address = door.address;
    let leave = move || {
        for part in ["", "GET /who HT", "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n123"] {
            let mut stream = connect(address);
            stream.write_all(part.as_bytes()).expect("the bytes can be sent");
            stream.shutdown(std::net::Shutdown::Write).expect("it is open");
            let answer = read_to_close(&mut stream);
            assert!(!answer.contains("200 OK"), "{answer}");
        }
    };
    tokio::task::spawn_blocking(leave).await.expect("the client does not panic");
    assert_eq!(door.close().await.cut, 0);
}
