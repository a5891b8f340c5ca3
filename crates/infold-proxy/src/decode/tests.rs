//! Answers in every encoding, in pieces of every size, come out as they were.

use std::io::Write;

use http::HeaderValue;

use super::*;

const TEXT: &[u8] = b"event: ping\ndata: {\"type\":\"ping\"}\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\n";

fn headers(encoding: &'static str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_ENCODING, HeaderValue::from_static(encoding));
    headers
}

fn gzip() -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(TEXT).expect("memory");
    encoder.finish().expect("memory")
}

fn deflate() -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(TEXT).expect("memory");
    encoder.finish().expect("memory")
}

/// `TEXT`, encoded once with a brotli encoder, because this crate has none.
const BROTLI: &[u8] = &[
    27, 69, 0, 192, 140, 212, 98, 173, 177, 55, 164, 147, 243, 11, 94, 240, 230, 95, 75, 90, 144, 180, 86, 128, 244,
    32, 178, 180, 35, 144, 210, 112, 88, 86, 103, 5, 224, 116, 156, 109, 83, 148, 200, 7, 28, 0,
];

fn decoded(encoding: &'static str, bytes: &[u8], piece_bytes: usize) -> Vec<u8> {
    let mut decoder = Decoder::of(&headers(encoding));
    let mut all = Vec::new();
    for piece in bytes.chunks(piece_bytes) {
        decoder.push(piece, |decoded| all.extend_from_slice(decoded));
    }
    all
}

#[test]
fn each_form_is_read_however_it_is_cut() {
    let zstd = zstd::encode_all(TEXT, 3).expect("memory");
    for (encoding, bytes) in
        [("gzip", gzip()), ("deflate", deflate()), ("zstd", zstd), ("br", BROTLI.to_vec()), ("identity", TEXT.to_vec())]
    {
        for piece_bytes in [1, 7, 4096] {
            assert_eq!(decoded(encoding, &bytes, piece_bytes), TEXT, "{encoding} in pieces of {piece_bytes}");
        }
    }
}

#[test]
fn what_came_so_far_can_be_read_at_once() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(b"first").expect("memory");
    encoder.flush().expect("memory");
    let first = encoder.get_ref().clone();
    let mut decoder = Decoder::of(&headers("gzip"));
    let mut all = Vec::new();
    decoder.push(&first, |decoded| all.extend_from_slice(decoded));
    assert_eq!(all, b"first");
}

#[test]
fn what_is_not_known_or_broken_is_lost_and_no_harm() {
    assert!(Decoder::of(&headers("snappy")).is_lost());
    assert!(Decoder::of(&headers("gzip, br")).is_lost());
    let mut decoder = Decoder::of(&headers("gzip"));
    decoder.push(b"this is not gzip at all, is it", |_| {});
    assert!(decoder.is_lost());
}

#[test]
fn a_small_piece_that_decodes_to_too_much_is_given_up_early() {
    let bomb = zstd::encode_all(&vec![b' '; 250 << 20][..], 3).expect("memory");
    let mut decoder = Decoder::of(&headers("zstd"));
    let mut decoded = 0;
    for piece in bomb.chunks(400) {
        decoder.push(piece, |bytes| {
            assert!(bytes.len() <= PIECE_BYTES_MAX);
            decoded += bytes.len();
        });
    }
    assert!(decoder.is_lost() && decoded <= BYTES_MAX, "{decoded}");
}
