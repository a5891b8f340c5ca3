//! Counts the tokens of the vocabulary in a piece of text.
//!
//! The vocabulary cuts a text by a pattern, which takes longer than all the rest. What of ASCII is a part of its own
//! whatever else is around it is therefore counted here: short words behind a space, numbers, and the blanks between them.
//! Words come again and again, so their tokens are remembered. Everything else is the vocabulary's.
//!
//! Must hold: the count is the vocabulary's own.

use std::cell::RefCell;
use std::iter;
use std::ops::Range;

use tiktoken::CoreBpe;

const VOCABULARY: &str = "o200k_base";
/// The vocabulary has a token for every number of so many digits, and cuts longer ones into such.
const DIGITS_MAX: usize = 3;
/// How many words are remembered by each thread that counts, as a power of two: 16 KiB.
const WORDS_LOG: u32 = 11;
/// Where a remembered word has its tokens: behind its letters, of which there are at most seven.
const TOKENS_SHIFT: u32 = 56;

/// Words and their tokens, each at the one place that its letters give it. A word that has the place of another is counted
/// anew, and takes it.
type KnownWords = [u64; 1 << WORDS_LOG];

thread_local! {
    static WORDS: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// How many tokens a piece has.
pub(super) fn vocabulary_tokens(piece: &str) -> usize {
    // Only a build without the vocabulary has none. No token is shorter than a byte, so this bound holds a budget for
    // any text, where zero would switch budgets off.
    let Some(vocabulary) = tiktoken::get_encoding(VOCABULARY) else { return piece.len() };
    WORDS.with_borrow_mut(|words| {
        words.resize(1 << WORDS_LOG, 0);
        match words.first_chunk_mut() {
            Some(words) => count(vocabulary, words, piece),
            None => vocabulary.count(piece),
        }
    })
}

fn count(vocabulary: &CoreBpe, words: &mut KnownWords, piece: &str) -> usize {
    let bytes = piece.as_bytes();
    let (mut tokens, mut done, mut at) = (0, 0, 0);
    while let Some(&byte) = bytes.get(at) {
        let before = if at > 0 { bytes[at - 1] } else { 0 };
        // A visible sign takes no blank and no digit behind it into its own part; what is counted apart does not either.
        let may_begin = byte <= b'9' && (at == done || before.is_ascii_graphic());
        let apart = match byte {
            _ if !may_begin => None,
            b' ' => match Letters::at(bytes, at + 1) {
                Some(word) => Some((at + 1 + word.len, word.tokens(vocabulary, words))),
                None => is_lone_space(bytes, at).then_some((at + 1, 1)),
            },
            b'\n' => is_lone_line_end(bytes, at).then_some((at + 1, 1)),
            // Not in the middle of digits that are not counted apart.
            b'0'..=b'9' if at == done || !before.is_ascii_digit() => number_at(bytes, at),
            _ => None,
        };
        at += 1;
        if let Some((end, its_tokens)) = apart {
            tokens += its_tokens + count_rest(vocabulary, piece, done..at - 1);
            (at, done) = (end, end);
        }
    }
    tokens + count_rest(vocabulary, piece, done..bytes.len())
}

fn count_rest(vocabulary: &CoreBpe, piece: &str, rest: Range<usize>) -> usize {
    match rest.len() {
        0 => 0,
        // Every byte of ASCII is a token, and no character is one byte otherwise.
        1 => 1,
        _ => vocabulary.count(&piece[rest]),
    }
}

/// Whether a space is between a visible sign, or what is counted apart, and a digit.
fn is_lone_space(bytes: &[u8], at: usize) -> bool {
    at > 0 && bytes.get(at + 1).is_some_and(u8::is_ascii_digit)
}

/// Whether a line's end is between a word or number and a visible sign.
fn is_lone_line_end(bytes: &[u8], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| bytes.get(before));
    before.is_some_and(u8::is_ascii_alphanumeric) && bytes.get(at + 1).is_some_and(u8::is_ascii_graphic)
}

/// Where digits end, and their tokens, if nothing else belongs to them: there are digits of other scripts.
#[inline]
fn number_at(bytes: &[u8], start: usize) -> Option<(usize, usize)> {
    let mut end = start + 1;
    while bytes.get(end).is_some_and(u8::is_ascii_digit) {
        end += 1;
    }
    let is_whole = bytes.get(end).is_none_or(u8::is_ascii);
    is_whole.then(|| (end, if end - start <= DIGITS_MAX { 1 } else { (end - start).div_ceil(DIGITS_MAX) }))
}

/// A short word, which is a part of its own with the space before it: its first letter may be a capital, and no other.
#[derive(Debug, Clone, Copy)]
struct Letters {
    /// A letter in each byte, from the lowest on.
    letters: u64,
    len: usize,
}

impl Letters {
    /// The word that begins here, if one does.
    #[inline]
    fn at(bytes: &[u8], start: usize) -> Option<Self> {
        let eight = match bytes.get(start..).and_then(<[u8]>::first_chunk) {
            Some(eight) => u64::from_le_bytes(*eight),
            None => last_bytes(bytes.get(start..)?),
        };
        let is_capital = u64::from((eight as u8).is_ascii_uppercase());
        let others = others_than_small(eight | is_capital << 5);
        if others == 0 {
            return None;
        }
        let bits = others.trailing_zeros() & !7;
        let next = (eight >> bits) as u8;
        // A capital, letters and marks of other scripts may belong to it, and so may an apostrophe with what is behind it.
        let may_go_on = next.is_ascii_uppercase() || !next.is_ascii() || next == b'\'';
        let is_part = bits > 0 && !may_go_on;
        is_part.then(|| Self { letters: eight & ((1 << bits) - 1), len: bits as usize / 8 })
    }

    /// The tokens of the word with the space before it.
    #[inline]
    fn tokens(self, vocabulary: &CoreBpe, words: &mut KnownWords) -> usize {
        const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
        let known = &mut words[(self.letters.wrapping_mul(SPREAD) >> (u64::BITS - WORDS_LOG)) as usize];
        let tokens = *known ^ self.letters;
        // Nothing is left of its letters if it is this word. A place that nobody has yet has no letters.
        if tokens << (u64::BITS - TOKENS_SHIFT) == 0 {
            (tokens >> TOKENS_SHIFT) as usize
        } else {
            self.learn(vocabulary, known)
        }
    }

    #[cold]
    fn learn(self, vocabulary: &CoreBpe, known: &mut u64) -> usize {
        let text: String = iter::once(' ')
            .chain(self.letters.to_le_bytes()[..self.len].iter().map(|byte| char::from(*byte)))
            .collect();
        let tokens = vocabulary.count(&text);
        // No token is shorter than a byte, so this is a small number.
        *known = self.letters | (tokens as u64) << TOKENS_SHIFT;
        tokens
    }
}

/// The last bytes of a text, and zeros behind them.
#[cold]
fn last_bytes(last: &[u8]) -> u64 {
    last.iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte))
}

/// The highest bit of each byte that is none of a to z.
#[inline]
fn others_than_small(bytes: u64) -> u64 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    const HIGHEST: u64 = 0x80 * EACH;
    let low = bytes & !HIGHEST;
    let is_from_a = low + EACH * (0x80 - b'a' as u64);
    let is_behind_z = low + EACH * (0x7f - b'z' as u64);
    (!is_from_a | is_behind_z | bytes) & HIGHEST
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn by_vocabulary(text: &str) -> usize {
        tiktoken::get_encoding(VOCABULARY).map(|vocabulary| vocabulary.count(text)).unwrap()
    }

    proptest! {
        #[test]
        fn what_is_counted_apart_changes_no_count(text in "[a-cA-C0-9 \n\r\t./;'sé语²\u{301}]{0,60}") {
            prop_assert_eq!(vocabulary_tokens(&text), by_vocabulary(&text));
        }

        #[test]
        fn words_and_numbers_of_any_length_change_no_count(
            text in "([ \n(]{0,2}([A-Z]{0,3}[a-z]{0,10}|[0-9]{1,12}|[²語é\u{301}½ſK]|'(s|ll|T)|[-.,:/\"_]{1,3})){0,30}"
        ) {
            prop_assert_eq!(vocabulary_tokens(&text), by_vocabulary(&text));
            // Once more, with all of its words remembered.
            prop_assert_eq!(vocabulary_tokens(&text), by_vocabulary(&text));
        }

        #[test]
        fn letters_are_found_as_one_by_one(bytes in proptest::collection::vec(any::<u8>(), 8)) {
            let others = others_than_small(u64::from_le_bytes(bytes.clone().try_into().unwrap()));
            let expected = bytes.iter().map(|byte| if byte.is_ascii_lowercase() { 0 } else { 0x80 });
            prop_assert_eq!(others.to_le_bytes().to_vec(), expected.collect::<Vec<u8>>());
        }
    }

    #[test]
    fn every_short_number_is_a_token() {
        for number in 0..1_000 {
            for text in [format!("{number}"), format!("{number:02}"), format!("{number:03}")] {
                assert_eq!(by_vocabulary(&text), 1, "{text}");
            }
        }
    }

    #[test]
    fn words_that_share_a_place_keep_their_counts() {
        let letters = |number: u32| -> String {
            number.to_string().bytes().map(|digit| char::from(digit - b'0' + b'a')).collect()
        };
        // More words than there are places, twice.
        let all: Vec<String> = (0..1 << (WORDS_LOG + 1)).map(|number| format!(" {}", letters(number))).collect();
        for word in all.iter().chain(&all) {
            assert_eq!(vocabulary_tokens(word), by_vocabulary(word), "{word}");
        }
    }
}
