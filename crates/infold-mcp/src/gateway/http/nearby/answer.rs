//! Reads an answer of HTTP/1.1: its head, and the body as far as it goes.
//!
//! Pure: however the bytes are cut into pieces, the same answer comes out.
//!
//! Must hold: a body that breaks off never looks whole, and one whose lengths disagree is refused.

#[cfg(test)]
mod tests;

use std::mem::MaybeUninit;

use bytes::{Buf, Bytes, BytesMut};
use http::header::{CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Version};

/// The longest head.
const HEAD_BYTES_MAX: usize = 256 << 10;
/// Most header lines of a head.
const HEADERS_MAX: usize = 100;
/// The longest line before a chunk, and the longest of those behind the last one.
const LINE_BYTES_MAX: usize = 8 << 10;
/// Most lines behind the last chunk.
const TRAILERS_MAX: usize = 100;
/// Most digits of a length, so that the number fits 64 bits.
const LENGTH_DIGITS_MAX: usize = 15;

/// Why bytes are no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NoAnswer(pub(super) &'static str);

/// The head of an answer.
#[derive(Debug)]
pub(super) struct AnswerHead {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: AnswerBody,
    /// Whether another request may be sent over the connection when the body has been read.
    pub(super) is_kept: bool,
}

/// What is left of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerBody {
    /// So many bytes.
    Length(u64),
    /// Chunks.
    Chunks(ChunkPlace),
    /// All that comes until the server closes the connection.
    UntilClosed,
}

/// Where a body of chunks is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChunkPlace {
    /// Before the line with the length of a chunk.
    Size,
    /// In a chunk of which so many bytes are left.
    Data(u64),
    /// Before the line end behind a chunk.
    DataEnd,
    /// Behind the last chunk, where so many lines may come.
    Trailers(usize),
}

/// The next of a body.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BodyStep {
    Piece(Bytes),
    /// It has ended.
    End,
    /// More bytes have to come first.
    NeedsMore,
}

impl AnswerHead {
    /// Takes a head off the bytes that have come; `None` if it is not whole yet.
    pub(super) fn take(come: &mut BytesMut) -> Result<Option<Self>, NoAnswer> {
        loop {
            let mut space = [const { MaybeUninit::uninit() }; HEADERS_MAX];
            let mut read = httparse::Response::new(&mut []);
            let parser = httparse::ParserConfig::default();
            let parsed = parser.parse_response_with_uninit_headers(&mut read, come, &mut space);
            let Ok(parsed) = parsed else { return Err(NoAnswer("the head of its answer is not of HTTP")) };
            let httparse::Status::Complete(bytes) = parsed else {
                let is_long = come.len() > HEAD_BYTES_MAX;
                return if is_long { Err(NoAnswer("the head of its answer is too long")) } else { Ok(None) };
            };
            let head = Self::of(&read)?;
            come.advance(bytes);
            match head.status {
                StatusCode::SWITCHING_PROTOCOLS => return Err(NoAnswer("it switches to another protocol")),
                // The answer is still to come.
                status if status.is_informational() => {}
                _ => return Ok(Some(head)),
            }
        }
    }

    fn of(read: &httparse::Response<'_, '_>) -> Result<Self, NoAnswer> {
        let status = read.code.and_then(|code| StatusCode::from_u16(code).ok());
        let status = status.ok_or(NoAnswer("its answer has no status"))?;
        let mut headers = HeaderMap::with_capacity(read.headers.len());
        for header in &*read.headers {
            let name = HeaderName::from_bytes(header.name.as_bytes());
            let value = HeaderValue::from_bytes(header.value);
            let (Ok(name), Ok(value)) = (name, value) else { return Err(NoAnswer("its answer has an odd header")) };
            headers.append(name, value);
        }
        let version = if read.version == Some(1) { Version::HTTP_11 } else { Version::HTTP_10 };
        let says = |word: &str| has_word(&headers, &CONNECTION, word);
        let is_kept = if version == Version::HTTP_11 { !says("close") } else { says("keep-alive") };
        let body = body_of(status, &headers, version)?;
        Ok(Self { status, headers, body, is_kept })
    }
}

/// How a body is delimited.
fn body_of(status: StatusCode, headers: &HeaderMap, version: Version) -> Result<AnswerBody, NoAnswer> {
    if matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED) || status.is_informational() {
        return Ok(AnswerBody::Length(0));
    }
    if headers.contains_key(TRANSFER_ENCODING) {
        let is_chunked = last_word(headers, &TRANSFER_ENCODING).eq_ignore_ascii_case(b"chunked");
        return if is_chunked && version == Version::HTTP_11 {
            Ok(AnswerBody::Chunks(ChunkPlace::Size))
        } else {
            Err(NoAnswer("its answer is in an encoding that nobody asked for"))
        };
    }
    let mut lengths = headers.get_all(CONTENT_LENGTH).iter().map(|value| length_of(value.as_bytes(), 10));
    let Some(length) = lengths.next() else { return Ok(AnswerBody::UntilClosed) };
    let length = length.filter(|length| lengths.all(|other| other == Some(*length)));
    length.map(AnswerBody::Length).ok_or(NoAnswer("the length of its answer is no number"))
}

fn has_word(headers: &HeaderMap, name: &HeaderName, word: &str) -> bool {
    let mut words = headers.get_all(name).iter().flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
    words.any(|here| here.trim_ascii().eq_ignore_ascii_case(word.as_bytes()))
}

fn last_word<'h>(headers: &'h HeaderMap, name: &HeaderName) -> &'h [u8] {
    let last = headers.get_all(name).iter().next_back().map(HeaderValue::as_bytes).unwrap_or_default();
    last.rsplit(|byte| *byte == b',').next().unwrap_or_default().trim_ascii()
}

/// A length, in digits and nothing else.
fn length_of(digits: &[u8], radix: u32) -> Option<u64> {
    let is_number = (1..=LENGTH_DIGITS_MAX).contains(&digits.len());
    let is_number = is_number && digits.iter().all(|digit| char::from(*digit).is_digit(radix));
    u64::from_str_radix(std::str::from_utf8(digits).ok().filter(|_| is_number)?, radix).ok()
}

impl AnswerBody {
    /// Takes the next of the body off the bytes that have come.
    pub(super) fn take(&mut self, come: &mut BytesMut) -> Result<BodyStep, NoAnswer> {
        match self {
            Self::Length(0) => Ok(BodyStep::End),
            Self::Length(left) => Ok(piece(left, come)),
            Self::Chunks(place) => place.take(come),
            Self::UntilClosed => {
                let mut left = u64::MAX;
                Ok(piece(&mut left, come))
            }
        }
    }

    /// Whether the body is whole if nothing more comes.
    pub(super) fn may_end(self) -> bool {
        match self {
            Self::UntilClosed => true,
            Self::Length(left) => left == 0,
            Self::Chunks(_) => false,
        }
    }
}

impl ChunkPlace {
    fn take(&mut self, come: &mut BytesMut) -> Result<BodyStep, NoAnswer> {
        loop {
            *self = match *self {
                Self::Size => {
                    let Some(line) = line(come)? else { return Ok(BodyStep::NeedsMore) };
                    let size = line.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
                    match length_of(size, 16).ok_or(NoAnswer("the length of a chunk is no number"))? {
                        0 => Self::Trailers(TRAILERS_MAX),
                        size => Self::Data(size),
                    }
                }
                Self::Data(mut left) => {
                    let step = piece(&mut left, come);
                    *self = if left == 0 { Self::DataEnd } else { Self::Data(left) };
                    return Ok(step);
                }
                Self::DataEnd => match line(come)? {
                    Some(line) if line.is_empty() => Self::Size,
                    Some(_) => return Err(NoAnswer("a chunk is longer than it says")),
                    None => return Ok(BodyStep::NeedsMore),
                },
                Self::Trailers(left) => match line(come)? {
                    Some(line) if line.is_empty() => return Ok(BodyStep::End),
                    Some(_) => Self::Trailers(left.checked_sub(1).ok_or(NoAnswer("its answer does not end"))?),
                    None => return Ok(BodyStep::NeedsMore),
                },
            }
        }
    }
}

/// Takes off what has come of the `left` bytes.
fn piece(left: &mut u64, come: &mut BytesMut) -> BodyStep {
    if come.is_empty() {
        return BodyStep::NeedsMore;
    }
    let bytes = usize::try_from(*left).map_or(come.len(), |left| left.min(come.len()));
    *left -= bytes as u64;
    BodyStep::Piece(come.split_to(bytes).freeze())
}

/// Takes off a line, without its end; `None` if it is not whole yet.
fn line(come: &mut BytesMut) -> Result<Option<Bytes>, NoAnswer> {
    let near = &come[..come.len().min(LINE_BYTES_MAX)];
    let Some(end) = near.iter().position(|byte| *byte == b'\n') else {
        let is_long = come.len() >= LINE_BYTES_MAX;
        return if is_long { Err(NoAnswer("a line of its answer is too long")) } else { Ok(None) };
    };
    let mut line = come.split_to(end + 1).freeze();
    match line.strip_suffix(b"\r\n").map(<[u8]>::len) {
        Some(bytes) => line.truncate(bytes),
        None => return Err(NoAnswer("a line of its answer does not end in CR LF")),
    }
    Ok(Some(line))
}
