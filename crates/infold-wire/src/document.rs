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
pub(crate) enum DocumentPiece {
    /// Brackets, commas, keys and space.
    Between,
    /// An element of the list.
    Element,
    /// The value of a member beside the list.
    Member(String),
}

/// Where in the document the scanner is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScanState {
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
    state: ScanState,
    in_object: bool,
    in_list: bool,
    /// Nesting inside the value.
    depth: u32,
    /// Inside the value: whether in a string.
    quoted: bool,
    escaped: bool,
    key: Vec<u8>,
    piece: DocumentPiece,
}

/// How far the current piece goes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ScanStep {
    /// Through all bytes given, and perhaps further.
    More,
    /// This one ends after so many of them.
    End(usize, DocumentPiece),
}

impl Scanner {
    pub(crate) fn new() -> Self {
        Self {
            state: ScanState::Top,
            in_object: false,
            in_list: false,
            depth: 0,
            quoted: false,
            escaped: false,
            key: Vec::new(),
            piece: DocumentPiece::Between,
        }
    }

    /// What the bytes given last belong to, if no piece has ended with them.
    pub(crate) fn piece(&self) -> &DocumentPiece {
        &self.piece
    }

    /// Whether the document is whole.
    pub(crate) fn is_done(&self) -> bool {
        self.state == ScanState::Done
    }

    /// Whether the document has begun.
    pub(crate) fn has_begun(&self) -> bool {
        self.state != ScanState::Top
    }

    fn value_piece(&self) -> DocumentPiece {
        match self.in_list {
            true => DocumentPiece::Element,
            false => DocumentPiece::Member(String::from_utf8_lossy(&self.key).into_owned()),
        }
    }

    /// Goes through bytes until the current piece ends.
    pub(crate) fn scan(&mut self, bytes: &[u8]) -> ScanStep {
        let mut at = 0;
        while at < bytes.len() {
            if self.state == ScanState::Nested {
                return match self.nested(&bytes[at..]) {
                    Some(end) => self.close(at + end),
                    None => ScanStep::More,
                };
            }
            if let Some(step) = self.byte(bytes[at], at) {
                return step;
            }
            at += 1;
        }
        ScanStep::More
    }

    /// Takes one byte outside of nested values.
    fn byte(&mut self, byte: u8, at: usize) -> Option<ScanStep> {
        match self.state {
            ScanState::Top => self.top(byte),
            ScanState::Key => match byte {
                b'"' => {
                    self.key.clear();
                    self.state = ScanState::InKey;
                }
                b'}' => self.state = ScanState::Done,
                _ => {}
            },
            ScanState::InKey => self.in_key(byte),
            ScanState::Colon => {
                if byte == b':' {
                    self.state = ScanState::Value;
                }
            }
            ScanState::Value => return self.value(byte, at),
            ScanState::Text => {
                if self.escaped {
                    self.escaped = false;
                } else if byte == b'\\' {
                    self.escaped = true;
                } else if byte == b'"' {
                    return Some(self.close(at + 1));
                }
            }
            ScanState::Scalar => {
                if matches!(byte, b',' | b']' | b'}') || byte.is_ascii_whitespace() {
                    // The delimiter is not part of it; it is looked at again as part of what follows.
                    return Some(self.close(at));
                }
            }
            ScanState::Nested | ScanState::Done => {}
        }
        None
    }

    fn top(&mut self, byte: u8) {
        match byte {
            b'{' => {
                self.in_object = true;
                self.state = ScanState::Key;
            }
            b'[' => {
                self.in_list = true;
                self.state = ScanState::Value;
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
            self.state = ScanState::Colon;
            return;
        }
        if self.key.len() < KEY_BYTES_MAX {
            self.key.push(byte);
        }
    }

    /// Where a value may begin, or the list or the object may end.
    fn value(&mut self, byte: u8, at: usize) -> Option<ScanStep> {
        match byte {
            b',' => return None,
            b']' if self.in_list => {
                self.in_list = false;
                self.state = if self.in_object { ScanState::Key } else { ScanState::Done };
                return None;
            }
            b'}' if !self.in_list => {
                self.state = ScanState::Done;
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
        if self.piece == DocumentPiece::Between {
            self.piece = self.value_piece();
            return Some(ScanStep::End(at, DocumentPiece::Between));
        }
        match byte {
            b'"' => self.state = ScanState::Text,
            b'{' | b'[' => {
                self.state = ScanState::Nested;
                self.depth = 1;
                self.quoted = false;
            }
            _ => self.state = ScanState::Scalar,
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
    fn close(&mut self, bytes: usize) -> ScanStep {
        self.state = if self.in_list { ScanState::Value } else { ScanState::Key };
        ScanStep::End(bytes, std::mem::replace(&mut self.piece, DocumentPiece::Between))
    }
}

#[cfg(test)]
mod tests;
