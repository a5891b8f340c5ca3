//! Judges one whole request head: takes its bytes, and returns how the body is delimited, or a refusal.
//!
//! The rules are RFC 9112's, at their narrowest. Where the RFC lets a server repair a message, it is
//! refused instead, because a proxy in front of us may have repaired it differently.

use http::StatusCode;

use crate::refusal::{DoorRefusal, quoted};

/// Most header lines in one head. The HTTP parser gets the same bound.
pub(crate) const HEADERS_MAX: usize = 100;
/// Most digits of a Content-Length, so that the number fits 64 bits.
const LENGTH_DIGITS_MAX: usize = 18;

/// How the body after a head is delimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// By its length in bytes, which may be 0.
    Length(u64),
    /// It comes in chunks, until an empty one.
    Chunked,
}

/// Judges `head`, which ends in an empty line and has no line end but CR LF in it.
pub(super) fn judge(head: &[u8]) -> Result<Framing, DoorRefusal> {
    let mut lines = split_lines(head);
    judge_request_line(lines.next().unwrap_or_default())?;

    let mut seen = SeenHeaders::default();
    for (index, line) in lines.enumerate() {
        if index == HEADERS_MAX {
            return Err(DoorRefusal::new(
                StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
                "head_too_large",
                format!("the head has more than {HEADERS_MAX} header lines: send fewer"),
            ));
        }
        seen.add(line)?;
    }
    seen.framing()
}

/// The lines of a head without their ends, up to the empty one.
fn split_lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    head.split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .take_while(|line| !line.is_empty())
}

fn judge_request_line(line: &[u8]) -> Result<(), DoorRefusal> {
    let mut parts = line.split(|byte| *byte == b' ');
    let (Some(method), Some(target), Some(version), None) = (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(DoorRefusal::malformed(
            "the request line must be a method, a target and a version with one space between",
        ));
    };

    if method.is_empty() || !method.iter().copied().all(is_token) {
        return Err(DoorRefusal::malformed("the method is not a word"));
    }
    if method == b"CONNECT" {
        return Err(DoorRefusal::malformed("CONNECT asks for a tunnel, and infold opens none"));
    }
    if target.is_empty() || !target.iter().all(u8::is_ascii_graphic) {
        return Err(DoorRefusal::malformed(
            "the target is empty or has other than visible ASCII characters: percent-encode it",
        ));
    }
    if version != b"HTTP/1.1" {
        return Err(DoorRefusal::new(
            StatusCode::HTTP_VERSION_NOT_SUPPORTED,
            "version_not_supported",
            format!("the version is {}: speak HTTP/1.1", quoted(version)),
        ));
    }
    Ok(())
}

/// What the header lines so far say about Host and the body's framing.
#[derive(Default)]
struct SeenHeaders {
    hosts: usize,
    length: Option<u64>,
    chunked: bool,
}

impl SeenHeaders {
    fn add(&mut self, line: &[u8]) -> Result<(), DoorRefusal> {
        if line.first().is_some_and(|byte| is_blank(*byte)) {
            return Err(DoorRefusal::malformed(
                "a header line begins with white space (obsolete line folding): put it on one line",
            ));
        }
        let Some(colon) = line.iter().position(|byte| *byte == b':') else {
            return Err(DoorRefusal::malformed(format!("header line {} has no colon", quoted(line))));
        };
        let (name, value) = (&line[..colon], trim(&line[colon + 1..]));
        if name.last().is_some_and(|byte| is_blank(*byte)) {
            return Err(DoorRefusal::malformed(format!("header {} has white space before its colon", quoted(name))));
        }
        if name.is_empty() || !name.iter().copied().all(is_token) {
            return Err(DoorRefusal::malformed(format!("header name {} is not a word", quoted(name))));
        }

        match () {
            () if name.eq_ignore_ascii_case(b"host") => self.hosts += 1,
            () if name.eq_ignore_ascii_case(b"content-length") => self.add_length(value)?,
            () if name.eq_ignore_ascii_case(b"transfer-encoding") => self.add_encoding(value)?,
            () => {}
        }
        Ok(())
    }

    fn add_length(&mut self, value: &[u8]) -> Result<(), DoorRefusal> {
        if self.length.is_some() {
            return Err(DoorRefusal::malformed("Content-Length is in the head more than once"));
        }
        let digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
        if !digits || value.len() > LENGTH_DIGITS_MAX {
            return Err(DoorRefusal::malformed(format!("Content-Length {} is not one decimal number", quoted(value))));
        }
        let add = |total: u64, digit: &u8| total * 10 + u64::from(digit - b'0');
        self.length = Some(value.iter().fold(0, add));
        Ok(())
    }

    fn add_encoding(&mut self, value: &[u8]) -> Result<(), DoorRefusal> {
        if self.chunked {
            return Err(DoorRefusal::malformed("Transfer-Encoding is in the head more than once"));
        }
        if !value.eq_ignore_ascii_case(b"chunked") {
            return Err(DoorRefusal::malformed(format!(
                "Transfer-Encoding {} is not supported: send “chunked”, once",
                quoted(value)
            )));
        }
        self.chunked = true;
        Ok(())
    }

    fn framing(self) -> Result<Framing, DoorRefusal> {
        match self.hosts {
            0 => return Err(DoorRefusal::malformed("there is no Host header: send one")),
            1 => {}
            _ => return Err(DoorRefusal::malformed("there is more than one Host header: send one")),
        }
        match (self.length, self.chunked) {
            (Some(_), true) => {
                Err(DoorRefusal::malformed("Content-Length and Transfer-Encoding are in one head: send one of the two"))
            }
            (length, false) => Ok(Framing::Length(length.unwrap_or(0))),
            (None, true) => Ok(Framing::Chunked),
        }
    }
}

fn trim(value: &[u8]) -> &[u8] {
    let start = value.iter().position(|byte| !is_blank(*byte)).unwrap_or(value.len());
    let end = value.iter().rposition(|byte| !is_blank(*byte)).map_or(start, |last| last + 1);
    &value[start..end]
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// Whether a byte may be in a method or a header name (RFC 9110, `tchar`).
pub(super) fn is_token(byte: u8) -> bool {
    const TOKENS: [bool; 256] = tokens();
    TOKENS[usize::from(byte)]
}

const fn tokens() -> [bool; 256] {
    let mut tokens = [false; 256];
    let mut byte = 0;
    while byte < tokens.len() {
        tokens[byte] = (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    let signs = *b"!#$%&'*+-.^_`|~";
    let mut at = 0;
    while at < signs.len() {
        tokens[signs[at] as usize] = true;
        at += 1;
    }
    tokens
}

/// Whether a byte is forbidden in a line: all control characters but the tab are. Bytes from 128 on are
/// text in some encoding, and headers may carry them.
pub(super) fn is_forbidden(byte: u8) -> bool {
    byte.is_ascii_control() && byte != b'\t'
}
