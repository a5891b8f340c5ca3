//! Finds the keywords of all rules in one pass, whatever their number.
//!
//! The first bytes of every keyword are in a small table of bits, which is asked for each byte of the text; only where it
//! says yes are keywords compared. An automaton over all keywords takes several times as long, because its states do
//! not fit into the processor's nearest memory.

use std::ops::Range;

/// Fewest bytes of a keyword.
pub(super) const KEYWORD_BYTES_MIN: usize = 3;
/// How many bytes of a longer keyword are looked up.
const HEAD_BYTES: usize = 4;
/// A table's size in bits, as a power of two: 8 KiB.
const TABLE_BITS_LOG: u32 = 16;
const TABLE_WORDS: usize = 1 << (TABLE_BITS_LOG - 6);

/// The keywords of a set of rules, and which rules each calls for.
#[derive(Debug)]
pub(super) struct Keywords {
    /// Those that are just as long as a keyword has to be.
    short: Heads,
    long: Heads,
    /// The last three bytes of all heads: most places of a text have none of them, and are passed over by one look.
    ends: HeadTable,
}

/// A bit for each head that there is. Another head may have the same bit.
#[derive(Debug)]
struct HeadTable(Box<[u64; TABLE_WORDS]>);

/// Keywords by their first bytes.
#[derive(Debug)]
struct Heads {
    table: HeadTable,
    /// For each word of the table how many bits are set before it.
    set_before: Vec<u32>,
    /// For each bit that is set, where its keywords begin in `keywords`; they end where the next bit's begin.
    starts: Vec<usize>,
    keywords: Vec<Keyword>,
}

#[derive(Debug)]
struct Keyword {
    head: u32,
    /// In lower case.
    word: Box<[u8]>,
    rules: Vec<usize>,
}

impl Keywords {
    /// The keywords, in lower case and none shorter than [`KEYWORD_BYTES_MIN`], each with its rules.
    pub(super) fn new(keywords: impl Iterator<Item = (String, Vec<usize>)>) -> Self {
        let all = keywords.map(|(word, rules)| {
            let word: Box<[u8]> = word.into_bytes().into();
            Keyword { head: head(&word[..word.len().min(HEAD_BYTES)]), word, rules }
        });
        let (short, long): (Vec<Keyword>, Vec<Keyword>) =
            all.partition(|keyword| keyword.word.len() == KEYWORD_BYTES_MIN);
        let ends = short.iter().map(|keyword| keyword.head).chain(long.iter().map(|keyword| keyword.head >> 8));
        let ends = HeadTable::new(ends);
        Self { short: Heads::new(short), long: Heads::new(long), ends }
    }

    /// Calls `found` with the place of every keyword in a text, and the rules that it calls for.
    pub(super) fn each<E>(
        &self,
        text: &[u8],
        mut found: impl FnMut(Range<usize>, &[usize]) -> Result<(), E>,
    ) -> Result<(), E> {
        if let Some(first) = text.first_chunk::<KEYWORD_BYTES_MIN>() {
            self.short.compare(text, 0, head(first), &mut found)?;
        }
        for (at, four) in text.windows(HEAD_BYTES).enumerate() {
            let four = head(four);
            let last_three = four >> 8;
            if !self.ends.may_have(last_three) {
                continue;
            }
            self.long.compare(text, at, four, &mut found)?;
            self.short.compare(text, at + HEAD_BYTES - KEYWORD_BYTES_MIN, last_three, &mut found)?;
        }
        Ok(())
    }
}

impl HeadTable {
    fn new(heads: impl Iterator<Item = u32>) -> Self {
        let mut table = Self(Box::new([0; TABLE_WORDS]));
        heads.for_each(|head| _ = table.set(head));
        table
    }

    /// Sets the bit of a head, and says whether it was not set before.
    fn set(&mut self, head: u32) -> bool {
        let is_new = !self.may_have(head);
        let bit = table_bit(head);
        self.0[bit / 64] |= 1 << (bit % 64);
        is_new
    }

    /// Whether a head may be among them.
    #[inline]
    fn may_have(&self, head: u32) -> bool {
        let bit = table_bit(head);
        self.0[bit / 64] >> (bit % 64) & 1 == 1
    }
}

impl Heads {
    fn new(mut keywords: Vec<Keyword>) -> Self {
        keywords.sort_by_key(|keyword| table_bit(keyword.head));
        let mut table = HeadTable::new(std::iter::empty());
        let mut starts = Vec::new();
        for (at, keyword) in keywords.iter().enumerate() {
            if table.set(keyword.head) {
                starts.push(at);
            }
        }
        starts.push(keywords.len());
        let set_before = table
            .0
            .iter()
            .scan(0, |set, word| {
                let before = *set;
                *set += word.count_ones();
                Some(before)
            })
            .collect();
        Self { table, set_before, starts, keywords }
    }

    /// Calls `found` with the keywords that the text has at `at`, where it begins with `head`.
    #[inline(always)]
    fn compare<E>(
        &self,
        text: &[u8],
        at: usize,
        head: u32,
        found: &mut impl FnMut(Range<usize>, &[usize]) -> Result<(), E>,
    ) -> Result<(), E> {
        // Most heads are none, and that is found out where the text is gone through: a call would take longer.
        if self.table.may_have(head) { self.compare_words(text, at, head, found) } else { Ok(()) }
    }

    #[inline(never)]
    fn compare_words<E>(
        &self,
        text: &[u8],
        at: usize,
        head: u32,
        found: &mut impl FnMut(Range<usize>, &[usize]) -> Result<(), E>,
    ) -> Result<(), E> {
        let bit = table_bit(head);
        let set_in_word = (self.table.0[bit / 64] & ((1 << (bit % 64)) - 1)).count_ones();
        let nth = (self.set_before[bit / 64] + set_in_word) as usize;
        let alike = &self.keywords[self.starts[nth]..self.starts[nth + 1]];
        for keyword in alike.iter().filter(|keyword| keyword.head == head) {
            let end = at + keyword.word.len();
            if text.get(at..end).is_some_and(|here| here.eq_ignore_ascii_case(&keyword.word)) {
                found(at..end, &keyword.rules)?;
            }
        }
        Ok(())
    }
}

/// The first bytes of a word or of a text, as one number in which capitals and small letters are the same. So are some other
/// bytes, which is no harm: words are compared in the end.
#[inline]
fn head(bytes: &[u8]) -> u32 {
    const SMALL: u32 = 0x2020_2020;
    match *bytes {
        [a, b, c, d] => u32::from_le_bytes([a, b, c, d]) | SMALL,
        [a, b, c] => u32::from_le_bytes([a, b, c, 0]) | SMALL >> 8,
        _ => 0,
    }
}

#[inline]
fn table_bit(head: u32) -> usize {
    (head.wrapping_mul(0x9e37_79b1) >> (32 - TABLE_BITS_LOG)) as usize
}

#[cfg(test)]
mod tests;
