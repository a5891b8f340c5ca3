//! Compressed texts.

use super::*;

#[test]
fn a_text_that_is_longer_than_it_may_be_is_an_error_and_not_cut() {
    let packed = pack("harbour".as_bytes()).unwrap();
    assert_eq!(unpack_at_most(&packed, 7).unwrap(), b"harbour");
    let error = unpack_at_most(&packed, 6).unwrap_err();
    assert_eq!(error.to_string(), "a stored compressed text does not read back: it has more than 6 bytes");
}
