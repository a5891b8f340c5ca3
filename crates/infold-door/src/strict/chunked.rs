//! Follows a chunked body to its end, so that the next head is found where the parser finds it.
//!
//! Pure: bytes in, how many of them belong to the body out. What is not exactly RFC 9112's form is
//! refused; in particular a chunk's length is followed by `;` or CR LF and by nothing else.

use super::head::{is_forbidden, is_token};

/// Sixty bits of length; longer numbers are an attack or a mistake.
const SIZE_DIGITS_MAX: u32 = 15;
/// Bytes of one chunk's extensions. Nobody uses them; they are allowed because the RFC has them.
const EXTENSION_BYTES_MAX: usize = 1024;

/// Where in a chunked body the connection stands.
#[derive(Debug)]
pub(super) struct Chunked {
    place: Place,
    trailer_bytes_max: usize,
    trailer_bytes: usize,
}

#[derive(Debug, Clone, Copy)]
enum Place {
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

/// What became of some bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// All of them belong to the body, and it goes on.
    More,
    /// The body ended after so many of them.
    Ended(usize),
    /// The one after so many of them breaks the form.
    Broken(usize, &'static str),
}

impl Chunked {
    pub(super) fn new(trailer_bytes_max: usize) -> Self {
        Self { place: Place::Size { digits: 0, size: 0 }, trailer_bytes_max, trailer_bytes: 0 }
    }

    pub(super) fn feed(&mut self, bytes: &[u8]) -> Progress {
        let mut at = 0;
        while at < bytes.len() {
            if let Place::Data { left } = self.place {
                // Data is skipped as a whole: looking at each byte would cost more than the rest.
                let skipped = left.min((bytes.len() - at) as u64);
                at += skipped as usize;
                self.place = match left - skipped {
                    0 => Place::DataReturn,
                    left => Place::Data { left },
                };
                continue;
            }
            match self.step(bytes[at]) {
                Ok(Place::End) => return Progress::Ended(at + 1),
                Ok(place) => self.place = place,
                Err(reason) => return Progress::Broken(at, reason),
            }
            at += 1;
        }
        Progress::More
    }

    fn step(&mut self, byte: u8) -> Result<Place, &'static str> {
        match self.place {
            Place::Size { digits, size } => step_size(digits, size, byte),
            Place::Extension { size, bytes } => step_extension(size, bytes, byte),
            Place::SizeLineFeed { size } => {
                line_feed(byte, if size == 0 { Place::TrailerStart } else { Place::Data { left: size } })
            }
            Place::DataReturn if byte == b'\r' => Ok(Place::DataLineFeed),
            Place::DataReturn => Err("a chunk is longer than its length says"),
            Place::DataLineFeed => line_feed(byte, Place::Size { digits: 0, size: 0 }),
            Place::TrailerStart if byte == b'\r' => Ok(Place::LastLineFeed),
            Place::LastLineFeed => line_feed(byte, Place::End),
            Place::TrailerStart | Place::TrailerName | Place::TrailerValue | Place::TrailerLineFeed => {
                self.step_trailer(byte)
            }
            Place::Data { .. } | Place::End => Err("the body went on after its end"),
        }
    }

    fn step_trailer(&mut self, byte: u8) -> Result<Place, &'static str> {
        self.trailer_bytes += 1;
        if self.trailer_bytes > self.trailer_bytes_max {
            return Err("the trailers are larger than a head may be");
        }
        match (self.place, byte) {
            (Place::TrailerName, b':') => Ok(Place::TrailerValue),
            (Place::TrailerStart | Place::TrailerName, byte) if is_token(byte) => Ok(Place::TrailerName),
            (Place::TrailerStart | Place::TrailerName, _) => Err("a trailer's name is not a word"),
            (Place::TrailerValue, b'\r') => Ok(Place::TrailerLineFeed),
            (Place::TrailerLineFeed, byte) => line_feed(byte, Place::TrailerStart),
            (_, byte) if is_forbidden(byte) => Err("a trailer has a control character in it"),
            _ => Ok(Place::TrailerValue),
        }
    }
}

fn step_size(digits: u32, size: u64, byte: u8) -> Result<Place, &'static str> {
    match (byte, char::from(byte).to_digit(16)) {
        (_, Some(_)) if digits == SIZE_DIGITS_MAX => Err("a chunk's length has too many digits"),
        (_, Some(digit)) => Ok(Place::Size { digits: digits + 1, size: size * 16 + u64::from(digit) }),
        (b'\r', None) if digits > 0 => Ok(Place::SizeLineFeed { size }),
        (b';', None) if digits > 0 => Ok(Place::Extension { size, bytes: 0 }),
        (_, None) => Err("a chunk's length is not a hexadecimal number"),
    }
}

fn step_extension(size: u64, bytes: usize, byte: u8) -> Result<Place, &'static str> {
    match byte {
        b'\r' => Ok(Place::SizeLineFeed { size }),
        byte if is_forbidden(byte) => Err("a chunk's extension has a control character in it"),
        _ if bytes == EXTENSION_BYTES_MAX => Err("a chunk's extension is too long"),
        _ => Ok(Place::Extension { size, bytes: bytes + 1 }),
    }
}

fn line_feed(byte: u8, next: Place) -> Result<Place, &'static str> {
    if byte == b'\n' { Ok(next) } else { Err("a line in a chunked body ends in CR without LF") }
}
