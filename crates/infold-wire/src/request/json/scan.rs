//! Finds the places of all values in a body in one pass, and checks that it is JSON.
//!
//! The scanner has its own stack, so that deep nesting cannot overflow the program's. It reads strings eight bytes at a
//! time, because most of a request is the text of results.

use super::super::RequestError;
use super::{JsonShape, Node};

/// How deeply values may be nested. Providers take more than a tool's input ever has; nothing here recurses.
const DEPTH_MAX: usize = 10_000;

/// What some programs put in front of every text that they write.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Returns a node for each value and key of `body`, in order.
pub(super) fn scan(body: &str) -> Result<Vec<Node>, RequestError> {
    if u32::try_from(body.len()).is_err() {
        return Err(RequestError::TooLong);
    }
    let nodes = Vec::with_capacity(64 + body.len() / 64);
    let mut scanner = Scanner { bytes: body.as_bytes(), at: 0, nodes, open: Vec::with_capacity(16) };
    scanner.run()?;
    Ok(scanner.nodes)
}

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    nodes: Vec<Node>,
    /// The nodes of lists and objects that have begun and not ended.
    open: Vec<usize>,
}

/// The state after a value was begun.
enum Left {
    /// The value is complete.
    Ended,
    /// A list or object has begun, and its first value comes next.
    Opened,
}

impl Scanner<'_> {
    fn run(&mut self) -> Result<(), RequestError> {
        if self.bytes.starts_with(BYTE_ORDER_MARK) {
            self.at = BYTE_ORDER_MARK.len();
        }
        self.space();
        loop {
            if let Left::Opened = self.value()? {
                continue;
            }
            if self.close()? {
                break;
            }
        }
        self.space();
        if self.at == self.bytes.len() { Ok(()) } else { Err(self.fault("something follows the value")) }
    }

    /// After a value: steps over a comma to the next value, and closes lists and objects that end. Returns whether
    /// everything has ended.
    fn close(&mut self) -> Result<bool, RequestError> {
        while let Some(&container) = self.open.last() {
            let is_object = self.nodes[container].shape == JsonShape::Object;
            self.space();
            match (self.peek(), is_object) {
                (Some(b','), _) => {
                    self.at += 1;
                    self.space();
                    if is_object {
                        self.key()?;
                    }
                    return Ok(false);
                }
                (Some(b'}'), true) | (Some(b']'), false) => {
                    self.at += 1;
                    self.open.pop();
                    self.end(container);
                }
                _ => return Err(self.fault("a comma or the end of a list or object is missing")),
            }
        }
        Ok(true)
    }

    fn value(&mut self) -> Result<Left, RequestError> {
        match self.peek() {
            Some(b'"') => self.string(),
            Some(b'{') => return self.container(JsonShape::Object, b'}'),
            Some(b'[') => return self.container(JsonShape::List, b']'),
            Some(b't') => self.word(b"true"),
            Some(b'f') => self.word(b"false"),
            Some(b'n') => self.word(b"null"),
            Some(b'N') => self.word(b"NaN"),
            Some(b'I') => self.word(b"Infinity"),
            Some(b'-') if self.bytes[self.at..].starts_with(b"-I") => self.word(b"-Infinity"),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => Err(self.fault("a value is missing")),
        }?;
        Ok(Left::Ended)
    }

    fn container(&mut self, shape: JsonShape, close: u8) -> Result<Left, RequestError> {
        if self.open.len() == DEPTH_MAX {
            return Err(RequestError::TooDeep { depth_max: DEPTH_MAX });
        }
        let node = self.begin(shape);
        self.at += 1;
        self.space();
        if self.peek() == Some(close) {
            self.at += 1;
            self.end(node);
            return Ok(Left::Ended);
        }
        self.open.push(node);
        if shape == JsonShape::Object {
            self.key()?;
        }
        Ok(Left::Opened)
    }

    fn key(&mut self) -> Result<(), RequestError> {
        if self.peek() != Some(b'"') {
            return Err(self.fault("a key is missing"));
        }
        self.string()?;
        self.space();
        if self.peek() != Some(b':') {
            return Err(self.fault("a colon is missing"));
        }
        self.at += 1;
        self.space();
        Ok(())
    }

    fn string(&mut self) -> Result<(), RequestError> {
        let node = self.begin(JsonShape::Text);
        self.at += 1;
        loop {
            self.at += plain_len(&self.bytes[self.at..]);
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => {
                    self.nodes[node].shape = JsonShape::EscapedText;
                    self.escape()?;
                }
                Some(_) => return Err(self.fault("text holds a control character")),
                None => return Err(self.fault("text does not end")),
            }
        }
        self.at += 1;
        self.end(node);
        Ok(())
    }

    fn escape(&mut self) -> Result<(), RequestError> {
        let digits_are_hex =
            |bytes: &[u8]| bytes.get(2..6).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let rest = &self.bytes[self.at..];
        self.at += match rest.get(1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => 2,
            Some(b'u') if digits_are_hex(rest) => 6,
            _ => return Err(self.fault("there is no such escape")),
        };
        Ok(())
    }

    fn word(&mut self, word: &[u8]) -> Result<(), RequestError> {
        if !self.bytes[self.at..].starts_with(word) {
            return Err(self.fault("a value is missing"));
        }
        let node = self.begin(JsonShape::Plain);
        self.at += word.len();
        self.end(node);
        Ok(())
    }

    fn number(&mut self) -> Result<(), RequestError> {
        let node = self.begin(JsonShape::Plain);
        self.at += usize::from(self.peek() == Some(b'-'));
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            self.digits()?;
        }
        self.end(node);
        Ok(())
    }

    fn digits(&mut self) -> Result<(), RequestError> {
        let digits = self.bytes[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += digits;
        if digits == 0 { Err(self.fault("a number has no digits where some are due")) } else { Ok(()) }
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn begin(&mut self, shape: JsonShape) -> usize {
        // The caller has checked that the body's length fits into 32 bits.
        let start = self.at as u32;
        self.nodes.push(Node { shape, start, end: start, after: 0 });
        self.nodes.len() - 1
    }

    fn end(&mut self, node: usize) {
        let after = self.nodes.len() as u32;
        let node = &mut self.nodes[node];
        node.end = self.at as u32;
        node.after = after;
    }

    fn fault(&self, what: &'static str) -> RequestError {
        RequestError::NotJson { at: self.at, what }
    }
}

/// How many bytes there are before the first quote, backslash or control character.
fn plain_len(bytes: &[u8]) -> usize {
    let (words, _) = bytes.as_chunks::<8>();
    let mut len = 0;
    for word in words {
        let special = specials(u64::from_le_bytes(*word));
        if special != 0 {
            return len + special.trailing_zeros() as usize / 8;
        }
        len += 8;
    }
    len + bytes[len..].iter().take_while(|byte| !matches!(byte, b'"' | b'\\' | 0..0x20)).count()
}

/// Sets the high bit of each byte of `word` that is a quote, a backslash or a control character. Only the lowest bit
/// that is set is reliable, and only that one is used.
fn specials(word: u64) -> u64 {
    const ONES: u64 = u64::from_le_bytes([0x01; 8]);
    const HIGHS: u64 = u64::from_le_bytes([0x80; 8]);
    let zero_bytes = |word: u64| word.wrapping_sub(ONES) & !word & HIGHS;
    let quotes = zero_bytes(word ^ (ONES * u64::from(b'"')));
    let backslashes = zero_bytes(word ^ (ONES * u64::from(b'\\')));
    let controls = word.wrapping_sub(ONES * 0x20) & !word & HIGHS;
    quotes | backslashes | controls
}
