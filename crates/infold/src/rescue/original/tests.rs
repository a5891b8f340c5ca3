//! Compressed transcripts, and how large they may become.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;

fn packed(bytes: &[u8]) -> File {
    let mut encoder = GzEncoder::new(tempfile::tempfile().unwrap(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    let mut file = encoder.finish().unwrap();
    file.seek(SeekFrom::Start(0)).unwrap();
    file
}

#[test]
fn what_is_unpacked_has_a_bound() {
    let path = Path::new("bomb.jsonl.gz");
    let mut whole = packed(&[b'x'; 1_000]);
    assert_eq!(unpacked(&mut whole, path, 1_000).unwrap().metadata().unwrap().len(), 1_000);

    let mut larger = packed(&[b'x'; 100_000]);
    let refused = unpacked(&mut larger, path, 1_000).unwrap_err();
    assert!(refused.is::<Refused>());
    assert!(refused.to_string().starts_with("bomb.jsonl.gz holds more than 1000 bytes unpacked"), "{refused}");
}
