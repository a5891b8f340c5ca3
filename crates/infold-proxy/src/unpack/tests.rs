//! Compressed bodies of requests are read within their bound, or refused.

use std::io::Write;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

use super::*;

const BYTES_MAX: usize = 100_000;

fn words() -> Vec<u8> {
    b"all was well in the harbour. ".repeat(3_000)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 3).expect("memory")
}

async fn unpacked(name: &str, body: &[u8]) -> Result<Unpacked, ProxyRefusal> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_ENCODING, name.parse().expect("a value"));
    unpack(&headers, Bytes::copy_from_slice(body), Provider::Anthropic, BYTES_MAX).await
}

#[tokio::test]
async fn every_encoding_is_read_and_what_is_unchanged_goes_as_it_came() {
    let words = words();
    let forms =
        [("gzip", gzip(&words)), ("x-gzip", gzip(&words)), ("deflate", zlib(&words)), ("Deflate", deflate(&words))];
    for (name, body) in forms.into_iter().chain([("zstd", zstd(&words)), ("identity, gzip", gzip(&words))]) {
        let Unpacked { plain, packed } = unpacked(name, &body).await.expect("it can be read");
        let packed = packed.expect("it was compressed");
        assert_eq!(plain, words, "{name}");
        assert_eq!(packed.of(&plain).map(|bytes| &bytes[..]), Some(&body[..]), "{name}");
        assert_eq!(packed.of(&Bytes::from_static(b"other")), None, "{name}");
    }
    let plain = unpacked("identity", &words).await.expect("it is plain");
    assert!(plain.packed.is_none() && plain.plain == words);
}

#[tokio::test]
async fn what_is_longer_than_a_request_may_be_is_refused() {
    let bomb = vec![b' '; 50_000_000];
    for (name, body) in [("gzip", gzip(&bomb)), ("deflate", zlib(&bomb)), ("zstd", zstd(&bomb))] {
        let refusal = unpacked(name, &body).await.expect_err("it is too long");
        assert_eq!((refusal.status, refusal.code), (StatusCode::PAYLOAD_TOO_LARGE, "body_too_large"), "{name}");
        assert!(refusal.message.contains("proxy.body_bytes_max"), "{}", refusal.message);
    }
}

#[tokio::test]
async fn what_is_cut_off_or_followed_by_something_is_refused() {
    let words = words();
    for (name, body) in [("gzip", gzip(&words)), ("deflate", zlib(&words)), ("zstd", zstd(&words))] {
        let mut longer = body.clone();
        longer.extend_from_slice(b"more");
        for broken in [&body[..body.len() / 2], &longer, b"no such thing"] {
            let refusal = unpacked(name, broken).await.expect_err("it is broken");
            assert_eq!((refusal.status, refusal.code), (StatusCode::BAD_REQUEST, "encoding_broken"), "{name}");
        }
    }
}

#[tokio::test]
async fn an_encoding_that_is_not_known_is_refused_with_those_that_are() {
    for name in ["compress", "gzip, br", "aes128gcm"] {
        let refusal = unpacked(name, b"x").await.expect_err("nobody knows it");
        assert_eq!(refusal.status, StatusCode::UNSUPPORTED_MEDIA_TYPE, "{name}");
        assert!(refusal.message.contains("gzip, deflate, br and zstd"), "{}", refusal.message);
    }
}
