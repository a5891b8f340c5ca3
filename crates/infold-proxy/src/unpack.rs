//! Reads the body of a request that its client sent compressed. If nothing in it is changed, the provider gets it as it
//! came.
//!
//! Must hold: no more is decoded than a request may be long, and not on the threads that serve others; a body of which
//! something was not decoded is refused, because nobody could say what is in the rest.

use std::io::{self, Read};

use brotli_decompressor::Decompressor;
use bytes::Bytes;
use flate2::bufread::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use http::header::CONTENT_ENCODING;
use http::{HeaderMap, StatusCode};

use crate::Provider;
use crate::refusal::ProxyRefusal;

const BROTLI_BUFFER_BYTES: usize = 4096;
/// How far back a zstd body may refer, as a power of two. That is more than a request may be long.
const ZSTD_WINDOW_LOG_MAX: u32 = 26;

/// The body of a request, decoded.
#[derive(Debug, Clone)]
pub(crate) struct Unpacked {
    /// What it says.
    pub(crate) plain: Bytes,
    /// What the client sent, if that is something else.
    pub(crate) packed: Option<Packed>,
}

/// A compressed body and what it says.
#[derive(Debug, Clone)]
pub(crate) struct Packed {
    plain: Bytes,
    packed: Bytes,
    encoding: Encoding,
}

impl Packed {
    /// The bytes that the client sent, if `body` is all that they say. A brotli decoder does not tell whether something
    /// follows, so such a body is always sent decoded.
    pub(crate) fn of(&self, body: &Bytes) -> Option<&Bytes> {
        (self.encoding != Encoding::Brotli && *body == self.plain).then_some(&self.packed)
    }
}

/// How a body is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

/// Decodes a body as its headers say, up to `bytes_max` bytes.
pub(crate) async fn unpack(
    headers: &HeaderMap,
    body: Bytes,
    provider: Provider,
    bytes_max: usize,
) -> Result<Unpacked, ProxyRefusal> {
    let refuse = |status, code, message: String| Err(ProxyRefusal::new(provider, status, code, message));
    let encoding = match encoding(headers) {
        Ok(Some(encoding)) if !body.is_empty() => encoding,
        Ok(_) => return Ok(Unpacked { plain: body, packed: None }),
        Err(name) => {
            let message = format!(
                "infold cannot read a body with the encoding {name:?}, so it could not be searched for secrets: send \
                 it plain, or with one of gzip, deflate, br and zstd"
            );
            return refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, "encoding_unknown", message);
        }
    };
    let packed = body.clone();
    let decoding = tokio::task::spawn_blocking(move || decode(encoding, &packed, bytes_max));
    match decoding.await.unwrap_or_else(|_| Err(io::Error::other("the decoder broke down"))) {
        Ok(plain) if plain.len() > bytes_max => {
            let message = format!(
                "the request is longer than {bytes_max} bytes when it is decoded: send less, or let \
                 proxy.body_bytes_max in infold's settings be larger"
            );
            refuse(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", message)
        }
        Ok(plain) => {
            let plain = Bytes::from(plain);
            Ok(Unpacked { packed: Some(Packed { plain: plain.clone(), packed: body, encoding }), plain })
        }
        Err(error) => {
            let message = format!(
                "the body is not what its Content-Encoding says ({error}), so it could not be searched for secrets: \
                 send it plain, or encode it again"
            );
            refuse(StatusCode::BAD_REQUEST, "encoding_broken", message)
        }
    }
}

/// The encoding that headers name; the name itself if it is not known, or if there are several.
fn encoding(headers: &HeaderMap) -> Result<Option<Encoding>, String> {
    let values = headers.get_all(CONTENT_ENCODING).iter().map(|value| String::from_utf8_lossy(value.as_bytes()));
    let all = values.collect::<Vec<_>>().join(",").to_ascii_lowercase();
    let mut names = all.split(',').map(str::trim).filter(|name| !matches!(*name, "" | "identity"));
    match (names.next(), names.next()) {
        (None, _) => Ok(None),
        (Some("gzip" | "x-gzip"), None) => Ok(Some(Encoding::Gzip)),
        (Some("deflate"), None) => Ok(Some(Encoding::Deflate)),
        (Some("br"), None) => Ok(Some(Encoding::Brotli)),
        (Some("zstd"), None) => Ok(Some(Encoding::Zstd)),
        (Some(_), _) => Err(all),
    }
}

/// Decodes a body, up to one byte more than `bytes_max`.
fn decode(encoding: Encoding, packed: &[u8], bytes_max: usize) -> io::Result<Vec<u8>> {
    let bytes_max = bytes_max as u64 + 1;
    let mut plain = Vec::new();
    match encoding {
        Encoding::Gzip => {
            MultiGzDecoder::new(packed).take(bytes_max).read_to_end(&mut plain)?;
        }
        Encoding::Deflate => {
            let mut decoder = ZlibDecoder::new(packed).take(bytes_max);
            let rest = match decoder.read_to_end(&mut plain) {
                Ok(_) => decoder.into_inner().into_inner(),
                // Some programs leave out the frame that the name asks for.
                Err(_) => {
                    plain.clear();
                    let mut decoder = DeflateDecoder::new(packed).take(bytes_max);
                    decoder.read_to_end(&mut plain)?;
                    decoder.into_inner().into_inner()
                }
            };
            // A body that is too long was not read to its end, and is refused for that.
            if !rest.is_empty() && (plain.len() as u64) < bytes_max {
                return Err(io::Error::other("something follows the compressed data"));
            }
        }
        Encoding::Brotli => {
            Decompressor::new(packed, BROTLI_BUFFER_BYTES).take(bytes_max).read_to_end(&mut plain)?;
        }
        Encoding::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(packed)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
            decoder.take(bytes_max).read_to_end(&mut plain)?;
        }
    }
    Ok(plain)
}

#[cfg(test)]
mod tests;
