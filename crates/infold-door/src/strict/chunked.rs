//! Follows a chunked body to its end, so that the next head is found where the parser finds it.
//!
//! Pure: it takes bytes and says how many of them belong to the body. What is not exactly RFC 9112's form
//! is refused; in particular a chunk's length must be followed by `;` or CR LF.

use super::head::{is_forbidden, is_token};

/// Most hexadecimal digits of a chunk's length, which make sixty bits; a longer number is an attack or a mistake.
const SIZE_DIGITS_MAX: u32 = 15;
/// Most bytes of one chunk's extensions. Nobody uses extensions; they are allowed because the RFC has them.
const EXTENSION_BYTES_MAX: usize = 1024;

/// The position that a connection has reached in a chunked body.
#[derive(Debug)]
pub(super) struct Chunked {
    place: ChunkPosition,
    trailer_bytes_max: usize,
    trailer_bytes: usize,
}

#[derive(Debug, Clone, Copy)]
enum ChunkPosition {
    Size { digits: u32, size: u64 },
    Extension { size: u64, bytes: usize },
    SizeLineFeed { size: u64 },
    Data { left: u64 },
    DataReturn,
    DataLineFeed,
    TrailerStart,
    TrailerName,
    TrailerValue,
    TrailerLineFeed,
    LastLineFeed,
    End,
}

/// How far some bytes led.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ChunkProgress {
    /// All of them belong to the body, and it goes on.
    More,
    /// The body ended after this many of them.
    Ended(usize),
    /// The byte after this many of them breaks the form, for this reason.
    Broken(usize, &'static str),
}

impl Chunked {
    pub(super) fn new(trailer_bytes_max: usize) -> Self {
        Self { place: ChunkPosition::Size { digits: 0, size: 0 }, trailer_bytes_max, trailer_bytes: 0 }
    }

    pub(super) fn feed(&mut self, bytes: &[u8]) -> ChunkProgress {
        let mut at = 0;
        while at < bytes.len() {
            if let ChunkPosition::Data { left } = self.place {
                // Data is skipped as a whole: looking at each byte would cost more than the rest.
                let skipped = left.min((bytes.len() - at) as u64);
                at += skipped as usize;
                self.place = match left - skipped {
                    0 => ChunkPosition::DataReturn,
                    left => ChunkPosition::Data { left },
                };
                continue;
            }
            match self.step(bytes[at]) {
                Ok(ChunkPosition::End) => return ChunkProgress::Ended(at + 1),
                Ok(place) => self.place = place,
                Err(reason) => return ChunkProgress::Broken(at, reason),
            }
            at += 1;
        }
        ChunkProgress::More
    }

    fn step(&mut self, byte: u8) -> Result<ChunkPosition, &'static str> {
        match self.place {
            ChunkPosition::Size { digits, size } => step_size(digits, size, byte),
            ChunkPosition::Extension { size, bytes } => step_extension(size, bytes, byte),
            ChunkPosition::SizeLineFeed { size } => line_feed(
                byte,
                if size == 0 { ChunkPosition::TrailerStart } else { ChunkPosition::Data { left: size } },
            ),
            ChunkPosition::DataReturn if byte == b'\r' => Ok(ChunkPosition::DataLineFeed),
            ChunkPosition::DataReturn => Err("a chunk is longer than its length says"),
            ChunkPosition::DataLineFeed => line_feed(byte, ChunkPosition::Size { digits: 0, size: 0 }),
            ChunkPosition::TrailerStart if byte == b'\r' => Ok(ChunkPosition::LastLineFeed),
            ChunkPosition::LastLineFeed => line_feed(byte, ChunkPosition::End),
            ChunkPosition::TrailerStart
            | ChunkPosition::TrailerName
            | ChunkPosition::TrailerValue
            | ChunkPosition::TrailerLineFeed => self.step_trailer(byte),
            ChunkPosition::Data { .. } | ChunkPosition::End => Err("the body went on after its end"),
        }
    }

    fn step_trailer(&mut self, byte: u8) -> Result<ChunkPosition, &'static str> {
        self.trailer_bytes += 1;
        if self.trailer_bytes > self.trailer_bytes_max {
            return Err("the trailers are larger than a head may be");
        }
        match (self.place, byte) {
            (ChunkPosition::TrailerName, b':') => Ok(ChunkPosition::TrailerValue),
            (ChunkPosition::TrailerStart | ChunkPosition::TrailerName, byte) if is_token(byte) => {
                Ok(ChunkPosition::TrailerName)
            }
            (ChunkPosition::TrailerStart | ChunkPosition::TrailerName, _) => Err("a trailer's name is not a word"),
            (ChunkPosition::TrailerValue, b'\r') => Ok(ChunkPosition::TrailerLineFeed),
            (ChunkPosition::TrailerLineFeed, byte) => line_feed(byte, ChunkPosition::TrailerStart),
            (_, byte) if is_forbidden(byte) => Err("a trailer has a control character in it"),
            _ => Ok(ChunkPosition::TrailerValue),
        }
    }
}

fn step_size(digits: u32, size: u64, byte: u8) -> Result<ChunkPosition, &'static str> {
    match (byte, char::from(byte).to_digit(16)) {
        (_, Some(_)) if digits == SIZE_DIGITS_MAX => Err("a chunk's length has too many digits"),
        (_, Some(digit)) => Ok(ChunkPosition::Size { digits: digits + 1, size: size * 16 + u64::from(digit) }),
        (b'\r', None) if digits > 0 => Ok(ChunkPosition::SizeLineFeed { size }),
        (b';', None) if digits > 0 => Ok(ChunkPosition::Extension { size, bytes: 0 }),
        (_, None) => Err("a chunk's length is not a hexadecimal number"),
    }
}

fn step_extension(size: u64, bytes: usize, byte: u8) -> Result<ChunkPosition, &'static str> {
    match byte {
        b'\r' => Ok(ChunkPosition::SizeLineFeed { size }),
        byte if is_forbidden(byte) => Err("a chunk's extension has a control character in it"),
        _ if bytes == EXTENSION_BYTES_MAX => Err("a chunk's extension is too long"),
        _ => Ok(ChunkPosition::Extension { size, bytes: bytes + 1 }),
    }
}

fn line_feed(byte: u8, next: ChunkPosition) -> Result<ChunkPosition, &'static str> {
    if byte == b'\n' { Ok(next) } else { Err("a line in a chunked body ends in CR without LF") }
}
