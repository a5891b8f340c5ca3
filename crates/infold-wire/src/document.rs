//! Cuts one JSON document into the elements of its list while its bytes come in.
//!
//! An export or a request is a single JSON value that may be larger than memory. Only the elements of one list in it
//! are wanted (`messages`, `input`, or the document itself if it is a list), and a few members beside that list. The
//! scanner knows only strings and nesting; the pieces that it cuts out are parsed by `forms`.
//!
//! What must hold: all pieces, one after another, are the document, byte for byte.

/// The members of a document whose list is cut into elements.
const LISTS: [&[u8]; 2] = [b"messages", b"input"];
/// How much of a key is kept, in bytes: the keys that matter are short.
const KEY_BYTES_MAX: usize = 64;

/// What a piece of a document is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DocumentPiece {
    /// Brackets, commas, keys and white space.
    Between,
    /// An element of the list.
    Element,
    /// The value of a member beside the list.
    Member(String),
}

/// Where in the document the scanner is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScanState {
    /// Before the first bracket of the document.
    Top,
    /// Inside the outer object, before a key.
    Key,
    InKey,
    /// After a key, before its colon.
    Colon,
    /// Where a value may begin, or the list or object may end.
    Value,
    /// Inside a value that is a string.
    Text,
    /// Inside a value that is a list or an object.
    Nested,
    /// Inside a number, `true`, `false` or `null`.
    Scalar,
    /// After the last bracket of the document.
    Done,
}

/// Takes bytes and says where the pieces of the document end.
#[derive(Debug)]
pub(crate) struct Scanner {
    state: ScanState,
    in_object: bool,
    in_list: bool,
    /// How many brackets are open inside the current value.
    depth: u32,
    /// Whether the scanner is inside a string of the current nested value.
    quoted: bool,
    escaped: bool,
    key: Vec<u8>,
    piece: DocumentPiece,
}

/// How far the current piece goes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ScanStep {
    /// The piece includes all bytes given, and perhaps more.
    More,
    /// The piece, which is of this kind, ends after this many bytes.
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

    /// The kind of the piece that has begun and not ended.
    pub(crate) fn piece(&self) -> &DocumentPiece {
        &self.piece
    }

    /// Whether the last bracket of the document has come.
    pub(crate) fn is_done(&self) -> bool {
        self.state == ScanState::Done
    }

    /// Whether the first bracket of the document has come.
    pub(crate) fn has_begun(&self) -> bool {
        self.state != ScanState::Top
    }

    fn value_piece(&self) -> DocumentPiece {
        match self.in_list {
            true => DocumentPiece::Element,
            false => DocumentPiece::Member(String::from_utf8_lossy(&self.key).into_owned()),
        }
    }

    /// Scans bytes until the current piece ends. The caller passes the bytes after that end again.
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

    /// Scans one byte outside nested values.
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
                    // The delimiter is not part of the value; it is scanned again as part of what follows.
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

    /// Scans one byte in the state [`ScanState::Value`].
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
        // A value begins here, so the piece before it ends; the same byte is then scanned again as the value's first.
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

    /// Scans on inside a nested value; returns where it ends, or `None` if its end has not come.
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

    /// Ends the current value after this many bytes.
    fn close(&mut self, bytes: usize) -> ScanStep {
        self.state = if self.in_list { ScanState::Value } else { ScanState::Key };
        ScanStep::End(bytes, std::mem::replace(&mut self.piece, DocumentPiece::Between))
    }
}

#[cfg(test)]
mod tests;
