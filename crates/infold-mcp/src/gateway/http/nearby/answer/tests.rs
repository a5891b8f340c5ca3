//! Answers whose bodies end in every way that HTTP has, cut at every place; and those that do not end as they say.

use super::*;

/// Reads an answer whose bytes come in these pieces, after which the connection is closed. Returns its status, its body and
/// whether its connection may be used again.
fn read(pieces: &[&[u8]]) -> Result<(u16, String, bool), &'static str> {
    let (mut come, mut pieces) = (BytesMut::new(), pieces.iter());
    let head = loop {
        if let Some(head) = AnswerHead::take(&mut come).map_err(|NoAnswer(why)| why)? {
            break head;
        }
        come.extend_from_slice(pieces.next().ok_or("no head")?);
    };
    let (mut left, mut body) = (head.body, Vec::new());
    loop {
        match left.take(&mut come).map_err(|NoAnswer(why)| why)? {
            BodyStep::Piece(bytes) => body.extend_from_slice(&bytes),
            BodyStep::End => break,
            BodyStep::NeedsMore => match pieces.next() {
                Some(piece) => come.extend_from_slice(piece),
                None if left.may_end() => break,
                None => return Err("broken off"),
            },
        }
    }
    let is_kept = head.is_kept && head.body != AnswerBody::UntilClosed && come.is_empty();
    Ok((head.status.as_u16(), String::from_utf8(body).unwrap(), is_kept))
}

/// Reads an answer whole, in two pieces cut at every place, and byte by byte: all must be the same.
fn read_cut(answer: &str) -> Result<(u16, String, bool), &'static str> {
    let bytes = answer.as_bytes();
    let whole = read(&[bytes]);
    for at in 0..=bytes.len() {
        assert_eq!(read(&[&bytes[..at], &bytes[at..]]), whole, "{answer:?} cut at {at}");
    }
    assert_eq!(read(&bytes.chunks(1).collect::<Vec<_>>()), whole, "{answer:?} byte by byte");
    whole
}

#[test]
fn a_body_ends_where_its_head_says_however_it_is_cut() {
    for (answer, expected) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", (200, "ok", true)),
        ("HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\nok", (200, "ok", true)),
        ("HTTP/1.1 200 OK\r\nconnection: Close\r\ncontent-length: 2\r\n\r\nok", (200, "ok", false)),
        ("HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok", (200, "ok", false)),
        ("HTTP/1.0 200 OK\r\nconnection: x, keep-alive\r\ncontent-length: 2\r\n\r\nok", (200, "ok", true)),
        ("HTTP/1.1 200\r\ntransfer-encoding: Chunked\r\n\r\n1\r\no\r\n1;a=b\r\nk\r\n0\r\n\r\n", (200, "ok", true)),
        (
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n00A\r\n0123456789\r\n0\r\nx: y\r\n\r\n",
            (200, "0123456789", true),
        ),
        // Chunks count where there is a length as well.
        (
            "HTTP/1.1 200 OK\r\ncontent-length: 9\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
            (200, "ok", true),
        ),
        ("HTTP/1.1 200 OK\r\n\r\nok", (200, "ok", false)),
        ("HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n", (202, "", true)),
        ("HTTP/1.1 204 No Content\r\n\r\n", (204, "", true)),
        ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", (200, "ok", true)),
    ] {
        let (status, body, is_kept) = expected;
        assert_eq!(read_cut(answer), Ok((status, body.to_owned(), is_kept)), "{answer:?}");
    }
}

#[test]
fn what_comes_behind_a_body_is_not_part_of_it_and_ends_the_connection() {
    let answer = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok and more";
    assert_eq!(read(&[answer.as_bytes()]), Ok((200, "ok".to_owned(), false)));
}

#[test]
fn a_body_that_breaks_off_is_none() {
    for answer in [
        "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nok",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nok",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n",
    ] {
        assert_eq!(read_cut(answer), Err("broken off"), "{answer:?}");
    }
    assert_eq!(read_cut("HTTP/1.1 200 OK\r\ncontent-le"), Err("no head"));
}

#[test]
fn a_body_with_two_ends_is_refused() {
    for answer in [
        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nok",
        "HTTP/1.1 200 OK\r\ncontent-length: +2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\ncontent-length: 2, 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\ncontent-length: \r\n\r\nok",
        "HTTP/1.1 200 OK\r\ncontent-length: 99999999999999999999\r\n\r\nok",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked, gzip\r\n\r\nok",
        "HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n+2\r\nok\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n\r\nok\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nok\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\nok\r\n0\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n",
        "HTTP/2 200 OK\r\n\r\n",
        "hello",
    ] {
        let why = read_cut(answer).unwrap_err();
        assert!(!["broken off", "no head"].contains(&why), "{answer:?}: {why}");
    }
}

#[test]
fn a_head_or_a_line_without_end_is_refused() {
    let (long, many) = ("x".repeat(HEAD_BYTES_MAX), "x: y\r\n".repeat(HEADERS_MAX.max(TRAILERS_MAX) + 1));
    for (head, piece) in [
        ("HTTP/1.1 200 OK\r\nx: ", &long[..]),
        ("HTTP/1.1 200 OK\r\n", &many[..]),
        ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;", &long[..LINE_BYTES_MAX]),
        ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n", &many[..]),
    ] {
        let why = read(&[head.as_bytes(), piece.as_bytes()]).unwrap_err();
        assert!(!["broken off", "no head"].contains(&why), "{head:?}: {why}");
    }
}
