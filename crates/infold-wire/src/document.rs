//! Cuts one JSON document into the elements of its list while it comes in.
//!
//! An export or a request is a single value that may be longer than memory; what is wanted of it are the
//! elements of one list (`messages`, `input`, or the document itself if it is a list) and a few members beside
//! it. The scanner knows strings and nesting and nothing else of JSON: what it cuts out is parsed elsewhere.
//!
//! What must hold: pieces in a row give the document, byte for byte.

/// Members whose list is cut into elements.
const LISTS: [&[u8]; 2] = [b"messages", b"input"];
/// How much of a key is kept: the keys that matter are short.
const KEY_BYTES_MAX: usize = 64;

/// What a piece of a document is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Brackets, commas, keys and space.
    Between,
    /// An element of the list.
    Element,
    /// The value of a member beside the list.
    Member(String),
}

/// Where in the document the scanner is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before the document.
    Top,
    /// In an object, before a key.
    Key,
    /// In a key.
    InKey,
    /// Behind a key.
    Colon,
    /// Where a value may begin.
    Value,
    /// In a value that is text.
    Text,
    /// In a value that is a list or an object.
    Nested,
    /// In a number or a word.
    Scalar,
    /// Behind the document.
    Done,
}

/// The scanner: give it bytes, and it says where pieces end.
#[derive(Debug)]
pub(crate) struct Scanner {
    state: State,
    in_object: bool,
    in_list: bool,
    /// Nesting inside the value.
    depth: u32,
    /// Inside the value: whether in a string.
    quoted: bool,
    escaped: bool,
    key: Vec<u8>,
    piece: Piece,
}

/// How far the current piece goes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Through all bytes given, and perhaps further.
    More,
    /// This one ends after so many of them.
    End(usize, Piece),
}

impl Scanner {
    pub(crate) fn new() -> Self {
        Self {
            state: State::Top,
            in_object: false,
            in_list: false,
            depth: 0,
            quoted: false,
            escaped: false,
            key: Vec::new(),
            piece: Piece::Between,
        }
    }

    /// What the bytes given last belong to, if no piece has ended with them.
    pub(crate) fn piece(&self) -> &Piece {
        &self.piece
    }

    /// Whether the document is whole.
    pub(crate) fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Whether the document has begun.
    pub(crate) fn has_begun(&self) -> bool {
        self.state != State::Top
    }

    fn value_piece(&self) -> Piece {
        match self.in_list {
            true => Piece::Element,
            false => Piece::Member(String::from_utf8_lossy(&self.key).into_owned()),
        }
    }

    /// Goes through bytes until the current piece ends.
    pub(crate) fn scan(&mut self, bytes: &[u8]) -> Step {
        let mut at = 0;
        while at < bytes.len() {
            if self.state == State::Nested {
                return match self.nested(&bytes[at..]) {
                    Some(end) => self.close(at + end),
                    None => Step::More,
                };
            }
            if let Some(step) = self.byte(bytes[at], at) {
                return step;
            }
            at += 1;
        }
        Step::More
    }

    /// Takes one byte outside of nested values.
    fn byte(&mut self, byte: u8, at: usize) -> Option<Step> {
        match self.state {
            State::Top => self.top(byte),
            State::Key => match byte {
                b'"' => {
                    self.key.clear();
                    self.state = State::InKey;
                }
                b'}' => self.state = State::Done,
                _ => {}
            },
            State::InKey => self.in_key(byte),
            State::Colon => {
                if byte == b':' {
                    self.state = State::Value;
                }
            }
            State::Value => return self.value(byte, at),
            State::Text => {
                if self.escaped {
                    self.escaped = false;
                } else if byte == b'\\' {
                    self.escaped = true;
                } else if byte == b'"' {
                    return Some(self.close(at + 1));
                }
            }
            State::Scalar => {
                if matches!(byte, b',' | b']' | b'}') || byte.is_ascii_whitespace() {
                    // The delimiter is not part of it; it is looked at again as part of what follows.
                    return Some(self.close(at));
                }
            }
            State::Nested | State::Done => {}
        }
        None
    }

    fn top(&mut self, byte: u8) {
        match byte {
            b'{' => {
                self.in_object = true;
                self.state = State::Key;
            }
            b'[' => {
                self.in_list = true;
                self.state = State::Value;
            }
            _ => {}
        }
    }

    fn in_key(&mut self, byte: u8) {
        if self.escaped {
            self.escaped = false;
        } else if byte == b'\\' {
            self.escaped = true;
        } else if byte == b'"' {
            self.state = State::Colon;
            return;
        }
        if self.key.len() < KEY_BYTES_MAX {
            self.key.push(byte);
        }
    }

    /// Where a value may begin, or the list or the object may end.
    fn value(&mut self, byte: u8, at: usize) -> Option<Step> {
        match byte {
            b',' => return None,
            b']' if self.in_list => {
                self.in_list = false;
                self.state = if self.in_object { State::Key } else { State::Done };
                return None;
            }
            b'}' if !self.in_list => {
                self.state = State::Done;
                return None;
            }
            b'[' if !self.in_list && LISTS.contains(&self.key.as_slice()) => {
                self.in_list = true;
                return None;
            }
            _ if byte.is_ascii_whitespace() => return None,
            _ => {}
        }
        // A value begins here, so what was between ends; the same byte is then taken again as its first.
        if self.piece == Piece::Between {
            self.piece = self.value_piece();
            return Some(Step::End(at, Piece::Between));
        }
        match byte {
            b'"' => self.state = State::Text,
            b'{' | b'[' => {
                self.state = State::Nested;
                self.depth = 1;
                self.quoted = false;
            }
            _ => self.state = State::Scalar,
        }
        None
    }

    /// Goes on inside a list or an object; says where it ends.
    fn nested(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        while at < bytes.len() {
            if self.quoted {
                if self.escaped {
                    self.escaped = false;
                    at += 1;
                    continue;
                }
                let found = memchr::memchr2(b'"', b'\\', &bytes[at..])?;
                at += found;
                match bytes[at] {
                    b'"' => self.quoted = false,
                    _ => self.escaped = true,
                }
            } else {
                match bytes[at] {
                    b'"' => self.quoted = true,
                    b'{' | b'[' => self.depth = self.depth.saturating_add(1),
                    b'}' | b']' => {
                        self.depth -= 1;
                        if self.depth == 0 {
                            return Some(at + 1);
                        }
                    }
                    _ => {}
                }
            }
            at += 1;
        }
        None
    }

    /// Ends a value after so many bytes.
    fn close(&mut self, bytes: usize) -> Step {
        self.state = if self.in_list { State::Value } else { State::Key };
        Step::End(bytes, std::mem::replace(&mut self.piece, Piece::Between))
    }
}

#[cfg(test)]
mod tests;
