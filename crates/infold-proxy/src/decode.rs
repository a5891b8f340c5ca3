//! Reads a copy of an answer that its provider sent compressed. The client gets the bytes as they came.

use std::io::{self, Write};

use brotli_decompressor::DecompressorWriter;
use flate2::write::{MultiGzDecoder, ZlibDecoder};
use http::HeaderMap;
use http::header::CONTENT_ENCODING;

/// How many bytes of one answer are decoded. What a decompression bomb holds beyond that is not metered.
const BYTES_MAX: usize = 64 << 20;
/// How many bytes are decoded of one piece of an answer, because others wait meanwhile. Answers of models are text,
/// which is not compressed to a tenth of that.
const PIECE_BYTES_MAX: usize = 4 << 20;
const BROTLI_BUFFER_BYTES: usize = 4096;

/// Decodes an answer piece by piece, as it arrives.
pub(crate) enum Decoder {
    Plain,
    Gzip(Box<MultiGzDecoder<Out>>),
    Deflate(Box<ZlibDecoder<Out>>),
    Brotli(Box<DecompressorWriter<Out>>),
    Zstd(Box<zstd::stream::write::Decoder<'static, Out>>),
    /// The encoding is not known, or the data is broken: nothing more is read.
    Lost,
}

/// Collects decoded bytes until they are taken.
pub(crate) struct Out {
    bytes: Vec<u8>,
    /// How many bytes of the whole answer may still come.
    left: usize,
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > self.left || self.bytes.len() + bytes.len() > PIECE_BYTES_MAX {
            return Err(io::Error::other("the answer is too long to be metered"));
        }
        self.left -= bytes.len();
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Decoder {
    /// Chooses the decoder by the headers of an answer.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let mut names = headers.get_all(CONTENT_ENCODING).iter().filter_map(|value| value.to_str().ok());
        let name = names.next().unwrap_or("identity").trim().to_ascii_lowercase();
        if names.next().is_some() {
            return Self::Lost;
        }
        let out = Out { bytes: Vec::new(), left: BYTES_MAX };
        match name.as_str() {
            "" | "identity" => Self::Plain,
            "gzip" | "x-gzip" => Self::Gzip(Box::new(MultiGzDecoder::new(out))),
            "deflate" => Self::Deflate(Box::new(ZlibDecoder::new(out))),
            "br" => Self::Brotli(Box::new(DecompressorWriter::new(out, BROTLI_BUFFER_BYTES))),
            "zstd" => {
                zstd::stream::write::Decoder::new(out).map_or(Self::Lost, |decoder| Self::Zstd(Box::new(decoder)))
            }
            _ => Self::Lost,
        }
    }

    /// Whether nothing more can be read of the answer.
    pub(crate) fn is_lost(&self) -> bool {
        matches!(self, Self::Lost)
    }

    /// Decodes the next bytes of an answer and hands the result to `take`.
    pub(crate) fn push(&mut self, bytes: &[u8], mut take: impl FnMut(&[u8])) {
        let pushed = match self {
            Self::Plain => {
                take(bytes);
                return;
            }
            Self::Lost => return,
            Self::Gzip(decoder) => feed(&mut **decoder, bytes).map(|()| drain(decoder.get_mut())),
            Self::Deflate(decoder) => feed(&mut **decoder, bytes).map(|()| drain(decoder.get_mut())),
            Self::Brotli(decoder) => feed(&mut **decoder, bytes).map(|()| drain(decoder.get_mut())),
            Self::Zstd(decoder) => feed(&mut **decoder, bytes).map(|()| drain(decoder.get_mut())),
        };
        match pushed {
            Ok(decoded) => take(&decoded),
            Err(error) => {
                tracing::debug!(%error, "an answer could not be metered any further");
                *self = Self::Lost;
            }
        }
    }
}

fn feed(decoder: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    decoder.write_all(bytes)?;
    decoder.flush()
}

fn drain(out: &mut Out) -> Vec<u8> {
    std::mem::take(&mut out.bytes)
}

#[cfg(test)]
mod tests;
