//! Counting: a text has the same size wherever it is cut, and never more tokens than bytes.

use infold_core::{Counter, Family, StreamSize, TextSize};

use crate::{pieces, split_off_cuts};

/// Cuts, then text.
pub(crate) fn check(input: &[u8]) {
    let (cuts, bytes) = split_off_cuts(input);
    let text = String::from_utf8_lossy(bytes);
    let whole = TextSize::of(&text);
    let cuts: Vec<usize> = cuts.iter().map(|at| text.floor_char_boundary(at % (text.len() + 1))).collect();
    let mut stream = StreamSize::default();
    for piece in pieces(text.as_bytes(), &cuts) {
        stream.push(std::str::from_utf8(piece).expect("cuts are between characters"));
    }
    assert_eq!(stream.size(), whole, "a stream has another size than its text");
    assert!(whole.written_tokens as usize <= text.len(), "a text has more tokens than bytes");
    assert_eq!(whole.written_tokens == 0, text.is_empty(), "only what is empty has no tokens");

    let call = TextSize::of_call(&text);
    for family in Family::ALL {
        let counter = Counter::new(family);
        assert_eq!(counter.tokens(&whole) == 0, text.is_empty(), "only what is empty has no tokens for {family}");
        assert!(counter.tokens(&call) > 0, "a call has a frame");
    }
    let _ = Counter::new(Family::Claude).count_other(&text);
}
