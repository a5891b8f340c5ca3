//! Which bytes of a connection pass, and how it ends. Every sample is also fed cut in two at every place,
//! and byte by byte, and must give the same outcome.

use super::*;

const HEAD_BYTES_MAX: usize = 256;

/// The bytes that passed, and what the connection waits for or why it was refused.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    approved: String,
    end: String,
}

fn feed(pieces: &[&[u8]]) -> Outcome {
    let mut machine = Machine::new(HEAD_BYTES_MAX);
    let mut approved = Vec::new();
    let mut end = None;
    for piece in pieces {
        match machine.feed(piece, &mut approved) {
            Ok(()) => {}
            Err(Broken::Head(refusal)) => {
                end = Some(format!("{}: {}", refusal.status.as_u16(), refusal.message));
                break;
            }
            Err(Broken::Body(reason)) => {
                end = Some(format!("body: {reason}"));
                break;
            }
        }
    }
    let end = end.unwrap_or_else(|| format!("awaits {:?}", machine.awaits()));
    Outcome { approved: String::from_utf8_lossy(&approved).into_owned(), end }
}

/// Feeds a sample whole and in every way of cutting it, and returns the one outcome of them all.
fn check(sample: impl AsRef<[u8]>) -> Outcome {
    let bytes = sample.as_ref();
    let whole = feed(&[bytes]);
    for cut in 0..=bytes.len() {
        let halves = feed(&[&bytes[..cut], &bytes[cut..]]);
        assert_eq!(halves, whole, "cut at {cut} of {:?}", String::from_utf8_lossy(bytes));
    }
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(feed(&single), whole, "byte by byte: {:?}", String::from_utf8_lossy(bytes));
    whole
}

/// Asserts that the whole sample passes and that the next request is awaited.
fn passes(sample: &str) {
    assert_eq!(check(sample), Outcome { approved: sample.to_owned(), end: "awaits Request".to_owned() });
}

/// Why a head with these lines after the request line and Host is refused; asserts that nothing of it passes.
fn refused(lines: &str) -> String {
    let outcome = check(format!("POST / HTTP/1.1\r\nHost: a\r\n{lines}\r\n\r\n"));
    assert_eq!(outcome.approved, "");
    outcome.end
}

/// Which bytes of a broken chunked body passed, and why no more did.
fn broken_body(body: &str) -> (String, String) {
    let head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    let outcome = check(format!("{head}{body}"));
    let passed = outcome.approved.strip_prefix(head).expect("the head passes");
    (passed.to_owned(), outcome.end)
}

#[test]
fn ordinary_requests_pass_unchanged() {
    passes("");
    passes("GET / HTTP/1.1\r\nHost: localhost:9090\r\n\r\n");
    passes("GET /a?b=c%20d HTTP/1.1\r\nhost:a\r\nX-Text: caf\u{e9}\ttab\r\nX-Empty:\r\n\r\n");
    passes("POST / HTTP/1.1\r\nHost: a\r\nContent-Length:  5 \r\n\r\nhello");
    passes("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
    passes("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n0\r\n\r\n");
}

#[test]
fn the_next_head_is_found_behind_every_kind_of_body() {
    let next = "GET /next HTTP/1.1\r\nHost: a\r\n\r\n";
    passes(&format!("{next}{next}{next}"));
    passes(&format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\n\r\n\r\n{next}"));
    passes(&format!(
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\
         5\r\nhello\r\n00A;name=\"v;w\"\r\n0123456789\r\n0;last\r\nX-Sum: 1\r\nX-More:\r\n\r\n{next}"
    ));
}

#[test]
fn a_request_hidden_in_a_body_is_a_body() {
    let hidden = "GET /hidden HTTP/1.1\nHost: b\n\n";
    let sample = format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{hidden}", hidden.len());
    passes(&sample);
}

#[test]
fn unfinished_requests_are_waited_for() {
    let head = check("GET / HTTP/1.1\r\nHost: a\r\n");
    assert_eq!((head.approved.as_str(), head.end.as_str()), ("", "awaits Head"));
    let body = check("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n1234");
    assert_eq!(body.end, "awaits Body");
    assert!(body.approved.ends_with("\r\n\r\n1234"));
}

#[test]
fn two_lengths_or_two_framings_are_refused() {
    let twice = "400: Content-Length is in the head more than once";
    assert_eq!(refused("Content-Length: 1\r\nContent-Length: 1"), twice);
    assert_eq!(refused("Content-Length: 1\r\ncontent-length: 2"), twice);
    let both = "400: Content-Length and Transfer-Encoding are in one head: send one of the two";
    assert_eq!(refused("Content-Length: 1\r\nTransfer-Encoding: chunked"), both);
    assert_eq!(refused("Transfer-Encoding: chunked\r\nContent-Length: 0"), both);
    assert_eq!(
        refused("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"),
        "400: Transfer-Encoding is in the head more than once"
    );
}

#[test]
fn lengths_that_are_no_numbers_are_refused() {
    for value in ["", "+5", "-1", "5, 5", "0x5", "5a", "5 5", "1.0", "9999999999999999999"] {
        let end = refused(&format!("Content-Length: {value}"));
        assert_eq!(end, format!("400: Content-Length “{value}” is not one decimal number"));
    }
}

#[test]
fn encodings_other_than_one_chunked_are_refused() {
    for value in ["", "gzip", "gzip, chunked", "chunked, chunked", "xchunked", "chunked;a=b", "\"chunked\""] {
        let end = refused(&format!("Transfer-Encoding: {value}"));
        assert!(end.starts_with("400: Transfer-Encoding “"), "{value}: {end}");
    }
}

#[test]
fn one_host_is_required() {
    let none = check("GET / HTTP/1.1\r\nAccept: */*\r\n\r\n");
    assert_eq!(none.end, "400: there is no Host header: send one");
    assert_eq!(refused("Host: a"), "400: there is more than one Host header: send one");
    assert_eq!(refused("hOST: b"), "400: there is more than one Host header: send one");
}

#[test]
fn line_ends_other_than_cr_lf_are_refused() {
    let bare = "400: a line ends in LF without CR: end lines in CR LF";
    assert_eq!(check("GET / HTTP/1.1\nHost: a\n\n").end, bare);
    assert_eq!(refused("A: b\nC: d"), bare);
    assert_eq!(refused("A: b\n\n"), bare);
    assert_eq!(refused("A: b\rC: d"), "400: a CR has no LF behind it: end lines in CR LF");
    assert_eq!(refused("A: b\r\r\nC: d"), "400: a CR has no LF behind it: end lines in CR LF");
    let early = "400: an empty line comes before the request line";
    assert_eq!(check("\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n").end, early);
}

#[test]
fn header_lines_out_of_form_are_refused() {
    assert!(refused("A: b\r\n c").contains("obsolete line folding"));
    assert!(refused("A: b\r\n\tc").contains("obsolete line folding"));
    assert_eq!(refused("A : b"), "400: header “A ” has white space before its colon");
    assert_eq!(
        refused("Transfer-Encoding\t: chunked"),
        "400: header “Transfer-Encoding” has white space before its colon"
    );
    assert_eq!(refused("no colon here"), "400: header line “no colon here” has no colon");
    assert_eq!(refused(": b"), "400: header name “” is not a word");
    assert_eq!(refused("A b: c"), "400: header name “A b” is not a word");
    assert_eq!(refused("caf\u{e9}: c"), "400: header name “café” is not a word");
}

#[test]
fn control_characters_in_a_head_are_refused() {
    for byte in (0..32).chain([127]).filter(|byte| !b"\t\r\n".contains(byte)) {
        let end = refused(&format!("A: b{}c", char::from(byte)));
        assert_eq!(end, format!("400: the head has the control character 0x{byte:02x} in it"));
    }
    // A browser that speaks https sends these bytes first.
    assert_eq!(check(b"\x16\x03\x01").end, "400: the head has the control character 0x16 in it");
}

#[test]
fn request_lines_out_of_form_are_refused() {
    for line in ["GET /", "GET  / HTTP/1.1", "GET / HTTP/1.1 ", " GET / HTTP/1.1", "GET / a HTTP/1.1"] {
        let end = check(format!("{line}\r\nHost: a\r\n\r\n")).end;
        assert!(end.starts_with("400: "), "{line}: {end}");
    }
    for line in ["G(T / HTTP/1.1", "CONNECT a:443 HTTP/1.1", "GET /caf\u{e9} HTTP/1.1", "GET /\t HTTP/1.1"] {
        let end = check(format!("{line}\r\nHost: a\r\n\r\n")).end;
        assert!(end.starts_with("400: "), "{line}: {end}");
    }
    for version in ["HTTP/1.0", "HTTP/0.9", "HTTP/2.0", "http/1.1", "HTTP/1.10"] {
        let end = check(format!("GET / {version}\r\nHost: a\r\n\r\n")).end;
        assert_eq!(end, format!("505: the version is “{version}”: speak HTTP/1.1"));
    }
}

#[test]
fn a_head_may_be_as_large_as_the_limit_and_no_larger() {
    let frame = "GET / HTTP/1.1\r\nHost: a\r\nX: \r\n\r\n".len();
    let head = |fill: usize| format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n", "x".repeat(fill));
    passes(&head(HEAD_BYTES_MAX - frame));
    let end = check(head(HEAD_BYTES_MAX - frame + 1)).end;
    assert_eq!(end, "431: the head is larger than 256 bytes: send less");
    assert_eq!(check("x".repeat(1000)).end, "431: the head is larger than 256 bytes: send less");
}

#[test]
fn a_head_may_not_have_too_many_lines() {
    let head = |count: usize| format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "A:\r\n".repeat(count));
    let mut machine = Machine::new(4096);
    assert_eq!(machine.feed(head(99).as_bytes(), &mut Vec::new()), Ok(()));
    let Err(Broken::Head(refusal)) = machine.feed(head(100).as_bytes(), &mut Vec::new()) else {
        panic!("a head of 101 header lines passed");
    };
    assert_eq!(refusal.status.as_u16(), 431);
}

#[test]
fn chunks_out_of_form_break_the_body() {
    let not_hex = "body: a chunk's length is not a hexadecimal number";
    let table = [
        ("\r\n", "", not_hex),
        ("g\r\n", "", not_hex),
        ("-1\r\n", "", not_hex),
        ("0x5\r\nhello\r\n", "0", not_hex),
        ("5 \r\nhello\r\n", "5", not_hex),
        (" 5\r\nhello\r\n", "", not_hex),
        ("5\nhello\n", "5", not_hex),
        ("5\rhello", "5\r", "body: a line in a chunked body ends in CR without LF"),
        ("5\r\nhello!\r\n", "5\r\nhello", "body: a chunk is longer than its length says"),
        ("5\r\nhello\n0\r\n\r\n", "5\r\nhello", "body: a chunk is longer than its length says"),
        ("0\r\n\n", "0\r\n", "body: a trailer's name is not a word"),
        ("0\r\n fold: b\r\n\r\n", "0\r\n", "body: a trailer's name is not a word"),
        ("0\r\nA : b\r\n\r\n", "0\r\nA", "body: a trailer's name is not a word"),
        ("0\r\nA: b\nC: d\r\n\r\n", "0\r\nA: b", "body: a trailer has a control character in it"),
        ("5;a\0\r\n", "5;a", "body: a chunk's extension has a control character in it"),
        ("5;a\nhello", "5;a", "body: a chunk's extension has a control character in it"),
        ("0000000000000001\r\n", "000000000000000", "body: a chunk's length has too many digits"),
    ];
    for (body, passed, end) in table {
        assert_eq!(broken_body(body), (passed.to_owned(), end.to_owned()), "{body:?}");
    }
}

#[test]
fn extensions_and_trailers_are_bounded() {
    let (_, end) = broken_body(&format!("5;{}\r\n", "x".repeat(1025)));
    assert_eq!(end, "body: a chunk's extension is too long");
    let (_, end) = broken_body(&format!("0\r\n{}\r\n", "A: b\r\n".repeat(60)));
    assert_eq!(end, "body: the trailers are larger than a head may be");
}

#[test]
fn what_came_before_a_refused_head_has_passed() {
    let good = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi";
    let outcome = check(format!("{good}GET / HTTP/1.1\r\n\r\n"));
    assert_eq!(outcome.approved, good);
    assert_eq!(outcome.end, "400: there is no Host header: send one");
}
